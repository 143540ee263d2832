// What a node wears in the picture of the topology: the stamp of its request, its queue, whom it has let in.
import { say } from "../lib/language.js";
import { countedIn, dataOf, nodeName, rowOf, rowsOf } from "./values.js";

/** @typedef {{ text: string, kind: "stamp" | "queue" | "grant" | "hold", title: string }} Badge */
/** @typedef {(value: unknown, waits: boolean) => string} Reading */

/** So many nodes of a queue have room. */
const MOST_QUEUED = 4;

/** @type {Reading} */
const queue = (value) => {
  const rows = rowsOf(value);
  const shown = rows.slice(0, MOST_QUEUED).map(nodeName).join(" ");
  return rows.length === 0 ? "" : `Q ${shown}${rows.length > MOST_QUEUED ? " …" : ""}`;
};
/** @type {(sign: string) => Reading} */
const node = (sign) => (value) => (rowOf(value) < 0 ? "" : `${sign}${nodeName(rowOf(value))}`);
/** @type {(sign: string) => Reading} */
const nodes = (sign) => (value) => (countedIn(value).length === 0 ? "" : `${sign} ${countedIn(value).slice(0, MOST_QUEUED).map(nodeName).join(" ")}`);
/** The stamp of a request that is over says nothing. @type {Reading} */
const stamp = (value, waits) => (waits && typeof value === "number" ? String(value) : "");

/**
 * How a variable is worn, by its field in the node's state.
 * @type {Readonly<Record<string, { kind: Badge["kind"], read: Reading }>>}
 */
const WORN = {
  stamp: { kind: "stamp", read: stamp },
  "candidate.stamp": { kind: "stamp", read: stamp },
  "arbiter.grant": { kind: "grant", read: node("→ ") },
  "arbiter.lock": { kind: "grant", read: node("→ ") },
  "arbiter.granted": { kind: "grant", read: nodes("→") },
  "arbiter.queue": { kind: "queue", read: queue },
  queue: { kind: "queue", read: queue },
  "token.queue": { kind: "queue", read: queue },
  "token.requesting": { kind: "queue", read: nodes("R") },
  deferred: { kind: "hold", read: nodes(say("defers")) },
  next: { kind: "hold", read: node(`${say("next")} `) },
  follow: { kind: "hold", read: node(`${say("next")} `) },
  tid: { kind: "stamp", read: node("tid ") },
  candidate: { kind: "stamp", read: (value) => (value === true ? say("candidate") : "") },
  id: { kind: "stamp", read: (value) => (typeof value === "number" ? String(value) : "") },
  leader: { kind: "grant", read: node("★ ") },
};
/** Only a coordinator's `holder` names who was let in; elsewhere it points towards the token. */
const HOLDER = { kind: /** @type {const} */ ("grant"), read: node("→ ") };

/**
 * What a node wears, in the order of its variables.
 * @param {import("../wire.js").NodeState | undefined} state
 * @param {boolean} waits whether it waits or is inside
 * @param {{ variables: import("../wire.js").VariableInfo[], coordinated: boolean, drawn: ReadonlySet<string> }} of `drawn` are fields that a grid shows
 * @returns {Badge[]}
 */
export function badgesOf(state, waits, { variables, coordinated, drawn }) {
  return variables.flatMap(({ field, symbol, meaning }) => {
    const worn = field === "holder" && coordinated ? HOLDER : WORN[field];
    if (!worn || drawn.has(field)) return [];
    const text = worn.read(dataOf(state, field), waits);
    return text ? [{ text, kind: worn.kind, title: `${symbol}: ${meaning}` }] : [];
  });
}

/**
 * How many badges a node of the algorithm can wear at a time.
 * @param {import("../wire.js").VariableInfo[]} variables
 * @param {ReadonlySet<string>} drawn
 * @param {boolean} coordinated
 */
export function mostBadges(variables, drawn, coordinated) {
  return variables.filter(({ field }) => (WORN[field] || (field === "holder" && coordinated)) && !drawn.has(field)).length;
}
