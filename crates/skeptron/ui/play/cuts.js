// Where the network is cut: by hand, or as the options of the run plan it.
import { say } from "../lib/language.js";
import { cutsAt } from "./hand.js";

/** @typedef {{ from: number[], to: number[], both_ways: boolean }} Cut */

/**
 * The cuts that hold now.
 * @param {import("../wire.js").RunHeader} header
 * @param {import("../wire.js").Act[]} acts
 * @param {number} position
 * @param {number} now
 * @returns {Cut[]}
 */
export function cutsNow({ partitions }, acts, position, now) {
  return [...partitions.filter(({ begins, ends }) => begins <= now && (ends === null || now < ends)), ...cutsAt(acts, position)];
}

/**
 * Whether a message from one row to another would be lost.
 * @param {Cut[]} cuts
 * @param {number} from
 * @param {number} to
 * @returns {boolean}
 */
export function isCut(cuts, from, to) {
  return cuts.some((cut) => (cut.from.includes(from + 1) && cut.to.includes(to + 1)) || (cut.both_ways && cut.from.includes(to + 1) && cut.to.includes(from + 1)));
}

/**
 * The cuts in words: `P1, P2 | P3`.
 * @param {Cut[]} cuts
 * @returns {string}
 */
export function inWords(cuts) {
  const list = (/** @type {number[]} */ nodes) => nodes.map((node) => `P${node}`).join(", ");
  return cuts.map(({ from, to, both_ways }) => say("Cut: {from} {both_ways} {to}", { from: list(from), both_ways: both_ways ? "|" : ">", to: list(to) })).join("; ");
}
