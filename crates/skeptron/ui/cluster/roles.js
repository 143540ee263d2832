// What the messages of a lock say of its nodes: who has the token, whom each of them asked.
import { ROLES } from "../lib/kinds.js";

/** @typedef {import("./history.js").History} History */

/**
 * Where the token is: at a node, or on its way to one; null if no message has told.
 * @param {History} history
 * @returns {{ node: number, coming: boolean } | null}
 */
export function tokenOf({ arrows }) {
  const last = arrows.findLast(({ label }) => ROLES[label] === "token");
  return last ? { node: last.to, coming: last.received === null } : null;
}

/**
 * Whom a node has asked since it began to wait: its quorum, where it asks one.
 * @param {History} history
 * @param {number} node
 * @returns {number[]}
 */
export function askedBy({ arrows, bars }, node) {
  const since = bars.findLast((bar) => bar.node === node && bar.kind === "waiting")?.from;
  if (since === undefined) return [];
  const asked = arrows.filter(({ from, label, sent }) => from === node && ROLES[label] === "request" && sent !== null && sent >= since);
  return [...new Set(asked.map(({ to }) => to))];
}
