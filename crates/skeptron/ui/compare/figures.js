// The figures of a comparison: what they are, and what of them is drawn.
import { short, rangeFar } from "../lib/axes.js";
import { say, translated } from "../lib/language.js";

/** @typedef {import("../wire.js").CompareRow} Row */
/** @typedef {import("../wire.js").CompareCurve} Curve */
/**
 * `axis` is what the unit is of, where it does not say so itself.
 * @typedef {{ name: string, title: string, unit: string, axis?: string, load: string, kind: string, text: string }} Figure
 */

/** Who asks how often. */
export const LOADS = [
  { name: "first", title: say("Lone, first entry") },
  { name: "again", title: say("Lone, again") },
  { name: "uniform", title: say("One at a time") },
  { name: "saturated", title: say("Saturated") },
];

/** What is measured. */
export const KINDS = [
  { name: "messages", title: say("Messages") },
  { name: "delay", title: say("Delays") },
  { name: "throughput", title: say("Throughput") },
  { name: "fairness", title: say("Fairness") },
  { name: "balance", title: say("Load balance") },
];

/** @type {Figure[]} */
export const FIGURES = [
  { name: "messages_saturated", title: say("Messages, saturated"), unit: say("messages per entry"), load: "saturated", kind: "messages",
    text: say("Everybody asks again as soon as it has left. Here the families part: asking everybody costs in proportion to N, a quorum to its size, a token along a tree about the same at any N.") },
  { name: "messages_first", title: say("Messages, lone requester, first entry"), unit: say("messages per entry"), load: "first", kind: "messages",
    text: say("Nobody else wants in. The requester is the node with the highest id, neither coordinator nor first holder of a token.") },
  { name: "messages_uniform", title: say("Messages, one requester at a time"), unit: say("messages per entry"), load: "uniform", kind: "messages",
    text: say("A uniformly chosen node asks, enters and leaves; the next one asks 100 units later. A token that circulates for ever is counted meanwhile, too.") },
  { name: "messages_again", title: say("Messages, lone requester, again"), unit: say("messages per entry"), load: "again", kind: "messages",
    text: say("The lone requester asks again and again. Who keeps the token, or the permissions, pays nothing any more.") },
  { name: "client_delay_first", title: say("Client delay, first entry"), unit: "T", axis: say("delay in T"), load: "first", kind: "delay",
    text: say("From the request to the entry with nobody to wait for: a question and its answer take 2 T. On a tree the token comes hop by hop, on a ring from wherever it is.") },
  { name: "client_delay_again", title: say("Client delay, again"), unit: "T", axis: say("delay in T"), load: "again", kind: "delay",
    text: say("The same once the requester has been in before.") },
  { name: "sync_delay", title: say("Synchronisation delay, saturated"), unit: "T", axis: say("delay in T"), load: "saturated", kind: "delay",
    text: say("From an exit to the next entry while somebody waits: at best 1 T, one message from who leaves to who enters; whoever must ask a third node pays 2 T.") },
  { name: "throughput", title: say("Throughput, saturated"), unit: say("entries per unit"), load: "saturated", kind: "throughput",
    text: say("The law is 1 / (synchronisation delay + E), with E the time inside.") },
  { name: "jain", title: say("Fairness: Jain’s index, saturated"), unit: say("index"), load: "saturated", kind: "fairness",
    text: say("Of the entries of each node: 1 is even, 1/N is one node taking everything.") },
  { name: "longest_bypass", title: say("Fairness: longest bypass, saturated"), unit: say("entries of others"), load: "saturated", kind: "fairness",
    text: say("The most entries of others while one node waited.") },
  { name: "inversions", title: say("Fairness: overtakings by happened-before, saturated"), unit: say("of the entries"), load: "saturated", kind: "fairness",
    text: say("Entries that came before a request that had happened before: 0 where the order is kept.") },
  { name: "overtakings", title: say("Fairness: overtakings by request time, saturated"), unit: say("of the entries"), load: "saturated", kind: "fairness",
    text: say("Entries that came before a request that was made earlier, known or not: without a common clock nobody can keep that order.") },
  { name: "load_balance", title: say("Load balance, saturated"), unit: say("busiest over mean"), load: "saturated", kind: "balance",
    text: say("Messages that the busiest node sends and receives over the mean of all: 1 is even, a coordinator carries N/2 times the mean.") },
];

/**
 * One point in words: whose, where, measured with its interval, claimed.
 * @param {Row} row
 * @param {string} [unit]
 * @returns {string}
 */
export function inWords(row, unit = "") {
  const who = `${row.algorithm}${row.case ? `, ${translated(row.case)}` : ""}, N = ${row.nodes}: `;
  const measured = row.measured ? `${measuredText(row)} ${unit}`.trim() : say("nothing to measure");
  const elsewhere = row.not_compared ? `; ${say("not compared:")} ${elsewhereText(row.not_compared)}` : "";
  const claimed = row.claim ? `; ${say("claim {claimed}", { claimed: claimText(row) })}${verdict(row.holds)}` : "";
  return `${who}${measured}${claimed}${elsewhere}`;
}

/**
 * A claim that is made under other conditions, and which of them do not hold here.
 * @param {import("../wire.js").NotCompared} other
 * @returns {string}
 */
export function elsewhereText({ claim, needs }) {
  return say("{claim} needs {conditions}", { claim: translated(claim), conditions: needs.map(translated).join("; ") });
}

/**
 * What was measured, with its interval.
 * @param {Row} row
 * @returns {string}
 */
export function measuredText({ measured }) {
  if (!measured) return "–";
  return short(measured.mean) + (measured.half_width > 0 ? ` ± ${short(measured.half_width)}` : "");
}

/**
 * The formula and its value.
 * @param {Row} row
 * @returns {string}
 */
export function claimText({ claim }) {
  if (!claim) return "–";
  const value = claim.low === claim.high ? short(claim.low)
    : `${short(claim.low)} … ${claim.high === null ? "∞" : short(claim.high)}${claim.typical === null ? "" : say(", about {typical}", { typical: short(claim.typical) })}`;
  return value === claim.text ? value : `${translated(claim.text)} = ${value}`;
}

/** @param {boolean | null} holds */
function verdict(holds) {
  return holds === null ? "" : ` ${holds ? say("✓ holds") : say("✗ missed")}`;
}

/**
 * A series of a plot from the rows of one algorithm and figure.
 * @param {string} name
 * @param {import("./look.js").Look} look
 * @param {Row[]} rows
 * @param {Curve | undefined} curve what is claimed between the sizes, once it is known
 * @param {string} unit
 * @returns {import("../lib/plot.js").Series}
 */
export function seriesOf(name, look, rows, curve, unit) {
  const sorted = [...rows].sort((a, b) => a.nodes - b.nodes);
  const points = sorted.flatMap((row) => {
    const { measured } = row;
    if (!measured) return [];
    const { mean, half_width } = measured;
    return [{ x: row.nodes, y: mean, low: Math.max(0, mean - half_width), high: mean + half_width, text: inWords(row, unit) }];
  });
  const claims = curve?.points ?? sorted.flatMap((row) => (row.claim ? [{ nodes: row.nodes, ...row.claim }] : []));
  // A claim that only bounds has no line of its own: its band shows it.
  const line = claims.flatMap(({ nodes, low, typical, high }) =>
    typical !== null ? [{ x: nodes, y: typical }] : low === high ? [{ x: nodes, y: low }] : []);
  // Without an upper bound there is nothing to fill.
  const band = claims.flatMap(({ nodes, low, high }) => (high === null || low === high ? [] : [{ x: nodes, low, high }]));
  return { name, ...look, points, line: line.length > 0 && line.length === claims.length ? line : undefined, band };
}

/**
 * Whether the y axis of these series is to be logarithmic.
 * @param {"auto" | "log" | "linear"} wanted
 * @param {import("../lib/plot.js").Series[]} series
 * @returns {boolean}
 */
export function logOf(wanted, series) {
  if (wanted !== "auto") return wanted === "log";
  return rangeFar(series.flatMap((one) => one.points.map((point) => point.y)));
}
