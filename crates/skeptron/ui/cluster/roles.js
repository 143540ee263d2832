// What the messages of a lock say of its nodes: who has the token, whom each of them asked.
import { ROLES } from "../lib/kinds.js";

/** @typedef {import("../play/model.js").RunModel} RunModel */

/**
 * Where the token is: at a row, or on its way to one; null if no message has told.
 * @param {RunModel} model
 * @returns {{ row: number, coming: boolean } | null}
 */
export function tokenOf({ messages }) {
  const last = messages.label.findLastIndex((label) => ROLES[messages.labels[label]] === "token");
  return last < 0 ? null : { row: messages.to[last], coming: messages.end[last] < 0 };
}

/**
 * Whom a node has asked since it began to wait: its quorum, where it asks one.
 * @param {RunModel} model
 * @param {number} row
 * @returns {number[]} rows
 */
export function askedBy({ messages, bars }, row) {
  const since = bars[row]?.findLast(({ kind }) => kind === "waiting")?.from;
  if (since === undefined) return [];
  const asked = messages.to.filter((_, message) => messages.from[message] === row && messages.sent[message] > since && ROLES[messages.labels[messages.label[message]]] === "request");
  return [...new Set(asked)];
}
