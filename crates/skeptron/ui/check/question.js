// The question that the checker is asked: in an address, as options of the command, in words.

/** @typedef {import("../wire.js").CheckRequest} CheckRequest */
/** @typedef {import("../wire.js").AlgorithmInfo} AlgorithmInfo */

const TEXTS = /** @type {const} */ ([
  "coordinator", "quorum", "structure", "tree", "arbitration", "ring", "graph", "requests", "requesters",
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
  tree: ["tree", "graph"], arbitration: ["arbitration"], ring: ["ring"], graph: ["graph"],
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
    `${nodes(request)} ${info.kind === "mutex" ? asking(request) : calling(request)}`,
    ...layout,
    request.order === "any" ? "channels in which messages overtake each other" : "FIFO channels",
    faults(request),
  ].join(", ");
}

/** @param {CheckRequest} request */
function nodes(request) {
  const listed = request.requests?.includes(",") ? request.requests.split(",").length : undefined;
  const count = request.nodes ?? listed;
  return count === undefined ? "nodes" : counted(count, "node", "nodes");
}

/** @param {CheckRequest} request */
function asking({ requests = "1", requesters }) {
  if (requests.includes(",")) return `that ask ${requests.split(",").join(", ")} times`;
  const often = requests === "1" ? "once" : requests === "2" ? "twice" : `${requests} times`;
  if (!requesters) return `that ask ${often} each`;
  const who = /^\d+$/.test(requesters) ? requesters : requesters.split(",").join(", ");
  return `of which ${who} ask ${often} each`;
}

/** @param {CheckRequest} request */
function calling({ initiators, calls }) {
  const who = !initiators || initiators === "all" ? "each of which" : `of which ${named(initiators)}`;
  if (calls === 0) return `${who} calls an election when its leader is gone`;
  const limit = calls === undefined ? "" : `, at most ${calls} of their own accord`;
  return `${who} may call an election once${limit}`;
}

/** @param {CheckRequest} request */
function faults(request) {
  const when = { idle: " while idle", waiting: " while waiting", holding: " while holding" }[request.crash_when ?? ""] ?? "";
  const whose = request.victims ? ` of ${named(request.victims)}` : "";
  const kinds = [
    counted(request.loss, "lost message", "lost messages"),
    counted(request.duplicate, "duplicated message", "duplicated messages"),
    counted(request.crashes, "crash", "crashes") && `${counted(request.crashes, "crash", "crashes")}${whose}${when}`,
    counted(request.restarts, "return", "returns"),
    counted(request.premature, "alarm that rings too early", "alarms that ring too early"),
    counted(request.suspicions, "false suspicion", "false suspicions"),
  ].filter(Boolean);
  return kinds.length === 0 ? "no faults" : `up to ${kinds.join(" and ")}`;
}

/** @param {string} list */
function named(list) {
  return list.split(",").map((node) => (/^\d/.test(node.trim()) ? `P${node.trim()}` : node.trim())).join(" or ");
}

/**
 * @param {number | undefined} count
 * @param {string} one
 * @param {string} many
 */
function counted(count, one, many) {
  return count ? `${count} ${count === 1 ? one : many}` : "";
}
