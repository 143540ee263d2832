#!/usr/bin/env node
// Ricart and Agrawala's algorithm. It has the states and runs of `skeptron explain ricart-agrawala`.
"use strict";

const { Mutex, run } = require("./skeptron_mutex.js");

class RicartAgrawala extends Mutex {
  static title = "Ricart–Agrawala in JavaScript";
  static paper =
    "G. Ricart, A. K. Agrawala: An optimal algorithm for mutual exclusion in computer networks. CACM 24(1), 1981";
  static idea =
    "A node that wants in asks all others and enters when all have answered. Whoever is inside, or has an older " +
    "request of its own, answers only when it leaves.";
  static channel = "any";
  static messages = { REQUEST: { t: "clock" }, REPLY: { t: "clock" } };
  static variables = {
    phase: { symbol: "state", meaning: "idle, waiting or inside" },
    clock: { type: "clock", symbol: "C", meaning: "the highest clock value seen" },
    stamp: { type: "clock", symbol: "t", meaning: "the stamp of the present request, or of the last one" },
    awaiting: { type: "node-set", meaning: "who has not answered yet" },
    deferred: { type: "node-set", meaning: "who gets its answer at the exit" },
  };
  static claims = [
    { of: "messages", exactly: "2(N-1)" },
    { of: "client_delay", exactly: "2", when: ["lone", "constant-latency"] },
    { of: "sync_delay", exactly: "1", when: ["saturated", "constant-latency"] },
    { of: "sync_delay", from: "1", to: "2", when: ["constant-latency"] },
    { of: "bypass", from: "0", to: "2(N-1)" },
  ];
  static ordered = true;

  init() {
    Object.assign(this, { phase: "idle", clock: 0, stamp: 0, awaiting: new Set(), deferred: new Set() });
  }

  request() {
    this.phase = "waiting";
    this.clock += 1;
    this.stamp = this.clock;
    this.awaiting = this.others();
    if (this.awaiting.size > 0) this.broadcast("REQUEST", { t: this.stamp });
    this.enterIfAllReplied();
  }

  on_REQUEST(sender, { t }) {
    if (this.deferred.has(sender)) this.refuse("a second REQUEST before the first was answered");
    this.clock = Math.max(this.clock, t);
    const mineIsOlder = this.stamp < t || (this.stamp === t && this.me < sender);
    if (this.phase === "inside" || (this.phase === "waiting" && mineIsOlder)) this.deferred.add(sender);
    else this.send(sender, "REPLY", { t: this.clock });
  }

  on_REPLY(sender, { t }) {
    if (!this.awaiting.has(sender)) this.refuse("a REPLY that was not asked for");
    if (t <= this.clock) this.absorb();
    this.clock = Math.max(this.clock, t);
    this.awaiting.delete(sender);
    this.enterIfAllReplied();
  }

  enterIfAllReplied() {
    if (this.phase === "waiting" && this.awaiting.size === 0) {
      this.phase = "inside";
      this.enter();
    }
  }

  release() {
    this.phase = "idle";
    for (const node of [...this.deferred].sort((a, b) => a - b)) this.send(node, "REPLY", { t: this.clock });
    this.deferred = new Set();
  }
}

run(RicartAgrawala);
