// A step in words: what came in, and what the node did about it.
import { named } from "./model.js";

/** @typedef {import("./model.js").RunModel} RunModel */
/** @typedef {import("../wire.js").RunRecord} RunRecord */

/** What happens to something of a node, not to the node itself. */
const OWNED = new Set(["lose", "duplicate", "expire"]);

/**
 * What happened in the step that ends at a position.
 * @param {RunModel} model
 * @param {number} position
 * @returns {string}
 */
export function told(model, position) {
  const { who, parts, found, byHand } = partsOf(model, position);
  if (parts.length === 0) return "Nothing has happened yet.";
  return `${byHand ? "By hand: " : ""}${who} ${parts.join(", ")}.${found.join("")}`;
}

/**
 * The same in its parts: to whom it happened, what came in and then what it did, and what the judges found.
 * @param {RunModel} model
 * @param {number} position
 * @returns {{ who: string, parts: string[], found: string[], byHand: boolean }}
 */
export function partsOf(model, position) {
  const step = model.stepsBefore(position) - 1;
  if (step < 0) return { who: "", parts: [], found: [], byHand: false };
  const records = model.records.slice(model.steps[step], position);
  const parts = [];
  for (let k = 0; k < records.length; k++) {
    if (records[k].kind === "violation") continue;
    if (records[k].kind !== "send") {
      parts.push(inWords(model, records[k], records[k].node !== records[0].node));
      continue;
    }
    const first = k;
    while (k + 1 < records.length && sameSend(records[first], records[k + 1])) k++;
    parts.push(sends(records.slice(first, k + 1)));
  }
  const found = records.filter((record) => record.kind === "violation").map((record) => ` ⚠ P${record.node} ${record.text}.`);
  const who = OWNED.has(records[0].kind) ? `P${records[0].node}’s` : `P${records[0].node}`;
  return { who, parts, found, byHand: records[0].by_hand === true };
}

/**
 * @param {RunModel} model
 * @param {RunRecord} record
 * @param {boolean} elsewhere whether it happened at another node than the step began at
 */
function inWords(model, record, elsewhere) {
  const message = record.kind === "deliver" ? model.messages.byId.get(record.message ?? -1) : undefined;
  const words = message === undefined ? record.text : `receives ${model.messages.name(message)} from P${model.messages.from[message] + 1}`;
  return elsewhere ? `P${record.node} ${words}` : words;
}

/** @param {RunRecord[]} records */
function sends(records) {
  const [{ label = "a message", payload }] = records;
  return `sends ${named(label, payload)} to ${records.map(({ to }) => `P${to}`).join(", ")}`;
}

/**
 * @param {RunRecord} a
 * @param {RunRecord} b
 */
function sameSend(a, b) {
  return b.kind === "send" && b.node === a.node && b.label === a.label && b.content === a.content;
}
