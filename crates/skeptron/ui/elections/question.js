// What election is run: in the address, as options of the simulator, and the situations of the papers.
import { fromOptions, toParams } from "../check/question.js";

/**
 * @typedef {object} Question
 * @property {string} algorithm
 * @property {number} nodes
 * @property {number[]} crashed
 * @property {number[]} initiators nobody named: everybody may call
 * @property {string} call when the initiators call: a time, or empty for when they suspect the leader
 * @property {string} crashAt
 * @property {string} back when the crashed ones come back; empty for never
 * @property {string} ring
 * @property {string} graph
 * @property {string} detector
 * @property {string} latency
 * @property {string} seed
 */
/** @typedef {import("../wire.js").AlgorithmInfo} Info */
/** @typedef {import("../wire.js").SimOptions} SimOptions */

/** The leader is down and the lowest notices: the textbook's picture. @type {Question} */
const FIRST = {
  algorithm: "bully", nodes: 5, crashed: [5], initiators: [1], call: "", crashAt: "0", back: "",
  ring: "ascending", graph: "complete", detector: "perfect:2", latency: "1", seed: "1",
};

/** How many nodes can still be drawn and clicked. */
export const MOST_NODES = 16;

/** @type {("call" | "crashAt" | "back" | "ring" | "graph" | "detector" | "latency" | "seed" | "algorithm")[]} */
const TEXTS = ["algorithm", "call", "crashAt", "back", "ring", "graph", "detector", "latency", "seed"];

/**
 * What the address asks; the textbook's picture where it asks nothing.
 * @param {URLSearchParams} params
 * @returns {Question}
 */
export function questionOf(params) {
  if (!params.has("algorithm")) return { ...FIRST };
  const question = { ...FIRST, crashed: nodesOf(params.get("crashed")), initiators: nodesOf(params.get("initiators")) };
  for (const name of TEXTS) question[name] = params.get(name) ?? FIRST[name];
  question.nodes = Number(params.get("nodes") ?? FIRST.nodes);
  return within(question);
}

/** @param {string | null} text */
function nodesOf(text) {
  return (text ?? "").split(",").map(Number).filter((node) => Number.isInteger(node) && node > 0);
}

/**
 * The question with as many nodes as can be drawn, only those crashed and calling that there are, and a
 * seed that is a number.
 * @param {Question} question
 * @returns {Question}
 */
export function within(question) {
  const nodes = Math.min(MOST_NODES, Math.max(2, Math.round(question.nodes) || 2));
  const exists = (/** @type {number} */ node) => node <= nodes;
  const seed = /^\d{1,15}$/.test(question.seed) ? question.seed : FIRST.seed;
  return { ...question, nodes, seed, crashed: question.crashed.filter(exists), initiators: question.initiators.filter(exists) };
}

/**
 * The question as parts of an address: what differs from the defaults.
 * @param {Question} question
 * @returns {Record<string, string>}
 */
export function paramsOf(question) {
  /** @type {Record<string, string>} */
  const params = { algorithm: question.algorithm, nodes: String(question.nodes) };
  if (question.crashed.length > 0) params.crashed = question.crashed.join(",");
  if (question.initiators.length > 0) params.initiators = question.initiators.join(",");
  for (const name of TEXTS) if (question[name] !== FIRST[name]) params[name] = question[name];
  return params;
}

/**
 * The question as options of the simulator.
 * @param {Question} question
 * @param {Info} info the algorithm
 * @returns {SimOptions}
 */
export function simOf(question, info) {
  /** @type {SimOptions} */
  const sim = { algorithm: question.algorithm, nodes: question.nodes };
  const until = question.back ? `..${question.back}` : "";
  if (question.crashed.length > 0) sim.crash = question.crashed.map((node) => `${node}@${question.crashAt || "0"}${until}`);
  const callers = initiatorsOf(question);
  if (callers) sim.initiators = callers;
  if (info.layout === "ring" && question.ring !== FIRST.ring) sim.ring = question.ring;
  if (info.layout === "graph" && question.graph !== FIRST.graph) sim.graph = question.graph;
  if (question.detector !== FIRST.detector) sim.detector = question.detector;
  if (question.latency !== FIRST.latency) sim.latency = question.latency;
  if (question.seed !== FIRST.seed) sim.seed = Number(question.seed);
  return sim;
}

/** @param {Question} question */
function initiatorsOf({ nodes, initiators, call }) {
  const callers = initiators.length > 0 ? initiators : Array.from({ length: nodes }, (_, i) => i + 1);
  if (call !== "") return callers.map((node) => `${node}@${call}`).join(",");
  return initiators.length > 0 ? initiators.join(",") : undefined;
}

/**
 * The address of the same run in Play.
 * @param {SimOptions} sim
 * @returns {URLSearchParams}
 */
export function playParams(sim) {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(sim)) {
    for (const one of [value].flat()) params.append(name, String(one));
  }
  return params;
}

/**
 * The same system in Check, as small as a search has to be; of a broken variant, what refutes it.
 * @param {Question} question
 * @param {Info} info
 * @returns {URLSearchParams | Record<string, string>}
 */
export function checkParams({ algorithm, nodes, crashed, back, ring, graph }, info) {
  if (info.broken) return toParams(fromOptions(algorithm, info.broken.refuted_by));
  /** @type {Record<string, string>} */
  const params = { algorithm, nodes: String(Math.min(nodes, 3)) };
  if (crashed.length > 0) params.crashes = "1";
  if (crashed.length > 0 && back) params.restarts = "1";
  // A list of all nodes of the ring fits no smaller one.
  if (info.layout === "ring" && !ring.includes(",") && ring !== FIRST.ring) params.ring = ring;
  if (info.layout === "graph" && graph !== FIRST.graph) params.graph = graph;
  return params;
}

/** @typedef {{ name: string, when: string, messages: string, time: string }} Situation of which figures are published */

/**
 * The situations of which an algorithm's paper gives figures.
 * @param {Info} info
 * @returns {Situation[]}
 */
export function situationsOf(info) {
  /** @type {Map<string, Situation>} */
  const found = new Map();
  for (const { name, text } of info.claims) {
    const parts = /^(messages|time), (.+?): (.+)$/.exec(name);
    if (!parts) continue;
    const [, figure, title, when] = parts;
    const one = found.get(title) ?? { name: title, when, messages: "–", time: "–" };
    found.set(title, figure === "messages" ? { ...one, messages: text } : { ...one, time: text });
  }
  return [...found.values()];
}

/** Everybody calls at once. */
const ALL_CALL = { crashed: [], initiators: [], call: "0" };
/** One calls, and nobody is down. @param {number} node */
const oneCalls = (node) => ({ crashed: [], initiators: [node], call: "0" });
/** The highest is down, and these notice. @param {number} n @param {number[]} initiators */
const highestDown = (n, initiators) => ({ crashed: [n], initiators, call: "" });

/** What makes a situation, given N. @type {Record<string, Record<string, (n: number) => Partial<Question>>>} */
const SET_UPS = {
  bully: {
    best: (n) => highestDown(n, [n - 1]),
    worst: (n) => highestDown(n, [1]),
  },
  ring: {
    "one initiator": (n) => highestDown(n, [1]),
    "two initiators": (n) => highestDown(n, [1, 2]),
    "nobody down": () => oneCalls(1),
  },
  "chang-roberts": {
    best: () => ALL_CALL,
    worst: () => ({ ...ALL_CALL, ring: "descending" }),
    "best, ELECTION": () => ALL_CALL,
    "worst, ELECTION": () => ({ ...ALL_CALL, ring: "descending" }),
    average: () => ({ ...ALL_CALL, ring: "random:1" }),
    "one initiator, best": (n) => oneCalls(n),
    "one initiator, worst": () => oneCalls(1),
  },
  "hirschberg-sinclair": {
    ascending: () => ALL_CALL,
    average: () => ({ ...ALL_CALL, ring: "random:1" }),
    "one initiator": (n) => oneCalls(n),
  },
  peterson: {
    ascending: () => ALL_CALL,
    descending: () => ({ ...ALL_CALL, ring: "descending" }),
    average: () => ({ ...ALL_CALL, ring: "random:1" }),
    "average, without ELECTED": () => ({ ...ALL_CALL, ring: "random:1" }),
    "one initiator": () => oneCalls(1),
  },
  franklin: {
    ascending: () => ALL_CALL,
    average: () => ({ ...ALL_CALL, ring: "random:1" }),
    "average, without ELECTED": () => ({ ...ALL_CALL, ring: "random:1" }),
    "one initiator": (n) => oneCalls(n),
  },
  "itai-rodeh": {
    everybody: () => ALL_CALL,
    "one initiator": () => oneCalls(1),
  },
  invitation: {
    best: (n) => highestDown(n, [1]),
    "one initiator": () => oneCalls(1),
    worst: () => ALL_CALL,
  },
  "spanning-tree": {
    "one initiator": () => oneCalls(1),
    everybody: () => ALL_CALL,
  },
};

/**
 * The question in one of the situations; `null` where the page does not know how to make it.
 * @param {Question} question
 * @param {Info} info the algorithm
 * @param {string} situation
 * @returns {Question | null}
 */
export function setUp(question, info, situation) {
  const make = SET_UPS[info.broken?.of ?? info.name]?.[situation];
  if (!make) return null;
  const plain = { ring: FIRST.ring, graph: FIRST.graph, detector: FIRST.detector, latency: FIRST.latency, crashAt: "0", back: "" };
  return { ...question, ...plain, ...make(question.nodes) };
}

/**
 * The situation that a question is, if it is one of which figures are published.
 * @param {Question} question
 * @param {Info} info
 * @returns {Situation | undefined}
 */
export function situationNow(question, info) {
  const asked = JSON.stringify(paramsOf(question));
  return situationsOf(info).find(({ name }) => {
    const made = setUp(question, info, name);
    return made !== null && JSON.stringify(paramsOf(made)) === asked;
  });
}
