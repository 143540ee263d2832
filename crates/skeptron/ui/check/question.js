// The question that the checker is asked: in an address, as options of the command, in words.
import { enumerated, say } from "../lib/language.js";

/** @typedef {import("../wire.js").CheckRequest} CheckRequest */
/** @typedef {import("../wire.js").AlgorithmInfo} AlgorithmInfo */

const TEXTS = /** @type {const} */ ([
  "coordinator", "quorum", "structure", "tree", "arbitration", "capacity", "readers", "read_quorums", "begin", "ring", "graph", "clusters", "requests", "requesters",
  "initiators", "detector", "order", "crash_when", "victims",
]);
const NUMBERS = /** @type {const} */ ([
  "nodes", "calls", "loss", "duplicate", "crashes", "restarts", "premature", "suspicions",
]);

/** Which options only one kind of algorithm takes. */
const ONLY = /** @type {const} */ ({
  mutex: ["requests", "requesters", "crash_when"],
  election: ["initiators", "calls", "detector", "restarts", "premature", "suspicions"],
});
/** Which options lay an algorithm out. */
const LAYOUTS = /** @type {const} */ ({
  none: [], coordinator: ["coordinator"], quorums: ["quorum"], structure: ["structure", "quorum"],
  tree: ["tree", "graph"], arbitration: ["arbitration"], capacity: ["capacity"], readwrite: ["readers", "read_quorums"], beginning: ["begin"], ring: ["ring"], graph: ["graph"], clusters: ["clusters"], detector: [],
});

/** What a first visitor is shown: a famous algorithm, and the one assumption it cannot do without. @type {CheckRequest} */
export const FIRST = { algorithm: "lamport", nodes: 3, order: "any", keep_going: true };

/**
 * The question of an address; the first visitor's if it has none.
 * @param {URLSearchParams} params
 * @returns {CheckRequest}
 */
export function fromParams(params) {
  const algorithm = params.get("algorithm");
  if (!algorithm) return { ...FIRST };
  /** @type {CheckRequest} */
  const request = { algorithm };
  for (const name of TEXTS) {
    const value = params.get(name);
    if (value) request[name] = value;
  }
  for (const name of NUMBERS) {
    const value = params.get(name);
    if (value && /^\d+$/.test(value)) request[name] = Number(value);
  }
  if (params.has("keep_going")) request.keep_going = true;
  return request;
}

/**
 * The parameters of an address that asks it. What is as always is left out.
 * @param {CheckRequest} request
 * @returns {URLSearchParams}
 */
export function toParams(request) {
  const params = new URLSearchParams({ algorithm: request.algorithm });
  for (const name of [...NUMBERS, ...TEXTS]) {
    const value = request[name];
    if (value !== undefined && value !== null && value !== "") params.set(name, String(value));
  }
  if (request.keep_going) params.set("keep_going", "1");
  return params;
}

/**
 * The question that options of `skeptron check` ask, as the catalogue writes them.
 * @param {string} algorithm
 * @param {string} options
 * @returns {CheckRequest}
 */
export function fromOptions(algorithm, options) {
  const params = new URLSearchParams({ algorithm });
  const words = options.split(/\s+/).filter(Boolean);
  for (let i = 0; i < words.length; i += 1) {
    const name = words[i] === "-n" ? "nodes" : words[i].replace(/^--/, "").replaceAll("-", "_");
    if (name === "keep_going") params.set(name, "1");
    else params.set(name, words[i += 1] ?? "");
  }
  return fromParams(params);
}

/**
 * The question without what this algorithm does not take.
 * @param {CheckRequest} request
 * @param {AlgorithmInfo} info
 * @returns {CheckRequest}
 */
export function fitting(request, info) {
  const fit = { ...request, algorithm: info.name };
  const other = info.kind === "mutex" ? "election" : "mutex";
  for (const name of ONLY[other]) delete fit[name];
  const own = /** @type {readonly string[]} */ (LAYOUTS[/** @type {keyof typeof LAYOUTS} */ (info.layout)] ?? []);
  for (const name of Object.values(LAYOUTS).flat()) {
    if (!own.includes(name)) delete fit[name];
  }
  if (!fit.crashes) {
    delete fit.crash_when;
    delete fit.victims;
    delete fit.restarts;
  }
  return fit;
}

/**
 * The system that is asked about, in words, as in “3 nodes that ask once each, FIFO channels, no faults”.
 * @param {CheckRequest} request
 * @param {AlgorithmInfo} info
 * @returns {string}
 */
export function inWords(request, info) {
  const laidOut = LAYOUTS[/** @type {keyof typeof LAYOUTS} */ (info.layout)] ?? [];
  const layout = laidOut.filter((name) => request[name]).map((name) => `${name} ${request[name]}`);
  return [
    info.kind === "mutex" ? asking(request) : calling(request),
    ...layout,
    request.order === "any" ? say("channels in which messages overtake each other") : say("FIFO channels"),
    faults(request),
  ].join(", ");
}

/** @param {CheckRequest} request */
function nodes(request) {
  const listed = request.requests?.includes(",") ? request.requests.split(",").length : undefined;
  const count = request.nodes ?? listed;
  return count === undefined ? say("nodes") : say("{n} nodes", { n: count });
}

/** @param {CheckRequest} request */
function asking(request) {
  const { requests = "1", requesters } = request;
  if (requests.includes(",")) return say("{nodes} that ask {often} times", { nodes: nodes(request), often: requests.split(",").join(", ") });
  const often = requests === "1" ? say("once") : requests === "2" ? say("twice") : say("{requests} times", { requests });
  if (!requesters) return say("{nodes} that ask {often} each", { nodes: nodes(request), often });
  const who = /^\d+$/.test(requesters) ? requesters : requesters.split(",").join(", ");
  return say("{nodes} of which {who} ask {often} each", { nodes: nodes(request), who, often });
}

/** @param {CheckRequest} request */
function calling(request) {
  const { initiators, calls } = request;
  const all = nodes(request);
  const who = !initiators || initiators === "all" ? say("{all} each of which", { all }) : say("{all} of which {some}", { all, some: named(initiators) });
  if (calls === 0) return say("{who} calls an election when its leader is gone", { who });
  const limit = calls === undefined ? "" : say(", at most {calls} of their own accord", { calls });
  return say("{who} may call an election once{limit}", { who, limit });
}

/** @param {CheckRequest} request */
function faults(request) {
  const when = { idle: say("while idle"), waiting: say("while waiting"), holding: say("while holding") }[request.crash_when ?? ""];
  const whose = request.victims && say("of {whom}", { whom: named(request.victims) });
  const kinds = [
    request.loss ? say("{n} lost messages", { n: request.loss }) : "",
    request.duplicate ? say("{n} duplicated messages", { n: request.duplicate }) : "",
    request.crashes ? [say("{n} crashes", { n: request.crashes }), whose, when].filter(Boolean).join(" ") : "",
    request.restarts ? say("{n} returns", { n: request.restarts }) : "",
    request.premature ? say("{n} alarms that ring too early", { n: request.premature }) : "",
    request.suspicions ? say("{n} false suspicions", { n: request.suspicions }) : "",
  ].filter(Boolean);
  return kinds.length === 0 ? say("no faults") : say("up to {faults}", { faults: enumerated(kinds) });
}

/** @param {string} list */
function named(list) {
  return enumerated(list.split(",").map((node) => (/^\d/.test(node.trim()) ? `P${node.trim()}` : node.trim())), "disjunction");
}
