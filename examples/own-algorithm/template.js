#!/usr/bin/env node
// Begin here: copy this file and skeptron_mutex.js, change the rules, and run
//
//     skeptron check ./template.js -n 3 --requests 2
"use strict";

const { Mutex, run } = require("./skeptron_mutex.js");

class Template extends Mutex {
  static title = "A queue at P1";
  static idea = "P1 lets one node in at a time, in the order in which they ask.";
  // Each kind of message, and what it carries: any, node, clock, requests, stamp, or many as in node-set.
  static messages = { REQUEST: {}, GRANT: {}, RELEASE: {} };
  // What a node knows; of the types above.
  static variables = { queue: { type: "node-list", meaning: "who asked, the one inside first" } };
  // What it costs, for N nodes; `skeptron compare` measures it.
  static claims = [{ of: "messages", from: "0", to: "3" }];

  init() {
    this.queue = [];
  }

  request() {
    if (this.me === 1) this.asked(1);
    else this.send(1, "REQUEST");
  }

  on_REQUEST(sender) {
    this.asked(sender);
  }

  on_GRANT() {
    this.enter();
  }

  release() {
    if (this.me === 1) this.left();
    else this.send(1, "RELEASE");
  }

  on_RELEASE() {
    this.left();
  }

  asked(node) {
    this.queue.push(node);
    if (this.queue.length === 1) this.grant();
  }

  left() {
    this.queue.shift();
    if (this.queue.length > 0) this.grant();
  }

  grant() {
    if (this.queue[0] === 1) this.enter();
    else this.send(this.queue[0], "GRANT");
  }
}

run(Template);
