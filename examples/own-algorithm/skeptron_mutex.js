// Makes a class a program that `skeptron sim`, `check`, `compare` and `lab` run. See README.md.
"use strict";

const { createInterface } = require("node:readline");

// What a class may say of itself besides `messages`.
const SAID = ["title", "paper", "idea", "family", "channel", "variables", "claims", "ordered", "rules", "fires", "notes"];

// A message that no correct node would have sent now. The node stays as it was.
class Refused extends Error {}

// One node. Its fields are its state: numbers, texts, arrays, sets, and what they hold.
class Mutex {
  static messages = {};
  static variables = {};

  #effects = [];
  #absorbs = false;

  // Sets the fields with which a node begins.
  init() {}

  // The system begins.
  start() {}

  // The application wants in. Call `this.enter()` now or on a later message.
  request() {
    throw new Error("write `request()`");
  }

  // The application leaves.
  release() {
    throw new Error("write `release()`");
  }

  // A message of the kind K calls `on_K(sender, fields)` with what it carries.

  // All nodes but this one.
  others() {
    return new Set(Array.from({ length: this.nodes }, (_, place) => place + 1).filter((node) => node !== this.me));
  }

  // Sends a message to another node.
  send(to, kind, fields = {}) {
    this.#effects.push({ do: "send", to, message: { kind, ...plain(fields) } });
  }

  // Sends a message to all other nodes.
  broadcast(kind, fields = {}) {
    this.#effects.push({ do: "broadcast", message: { kind, ...plain(fields) } });
  }

  // Enters the section, which the application has asked for.
  enter() {
    this.#effects.push({ do: "enter" });
  }

  // Does not take this message: no correct node would have sent it now.
  refuse(why) {
    throw new Refused(why);
  }

  // Says that it makes no difference whether this message is taken now or later: nothing that is sent before depends
  // on it. The checker proves that, and then has fewer states to look at.
  absorb() {
    this.#absorbs = true;
  }

  static made({ me, nodes }) {
    return Object.assign(new this(), { me, nodes });
  }

  static step(question) {
    const node = this.made(question);
    for (const [name, value] of Object.entries(question.state)) {
      node[name] = value !== null && isSet(this.variables[name] ?? "any") ? new Set(value) : value;
    }
    const { do: what, from, message } = question.input;
    try {
      if (what === "deliver") {
        const { kind, ...fields } = message;
        if (!node["on_" + kind]) throw new Error(`write \`on_${kind}(sender, fields)\``);
        node["on_" + kind](from, fields);
      } else {
        node[what]();
      }
    } catch (error) {
      if (error instanceof Refused) return { refuse: error.message };
      throw error;
    }
    return { state: node.state(), effects: node.#effects, absorbs: node.#absorbs };
  }

  state() {
    const { me, nodes, ...state } = this;
    return plain(state);
  }
}

// What JSON can say.
function plain(value) {
  if (value instanceof Set) return [...value].map(plain).sort((a, b) => (a < b ? -1 : Number(a > b)));
  if (Array.isArray(value)) return value.map(plain);
  if (value instanceof Map) throw new TypeError("a Map is no JSON; use an array of pairs");
  if (value === undefined) throw new TypeError("undefined is no JSON; use null");
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, plain(item)]));
}

function isSet(variable) {
  return (typeof variable === "string" ? variable : (variable.type ?? "any")).endsWith("-set");
}

function answer(algorithm, question) {
  if (question.ask === "describe") {
    const said = SAID.filter((name) => algorithm[name] !== undefined).map((name) => [name, algorithm[name]]);
    return { skeptron: 1, messages: algorithm.messages, ...Object.fromEntries(said) };
  }
  if (question.ask === "init") {
    const node = algorithm.made(question);
    node.init();
    return { state: node.state() };
  }
  return algorithm.step(question);
}

// Answers until there are no more questions. What is logged meanwhile goes to standard error.
function run(algorithm) {
  console.log = console.error;
  const lines = createInterface({ input: process.stdin });
  lines.on("line", (line) => process.stdout.write(JSON.stringify(answer(algorithm, JSON.parse(line))) + "\n"));
}

module.exports = { Mutex, run };
