// A step in words: what came in, and what the node did about it.
import { say, translated } from "../lib/language.js";
import { named } from "./model.js";
import { withRuns } from "./values.js";

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
  if (parts.length === 0) return say("Nothing has happened yet.");
  return withRuns(`${byHand ? `${say("By hand:")} ` : ""}${who} ${parts.join(", ")}.${found.join("")}`);
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
  const found = records.filter((record) => record.kind === "violation").map((record) => ` ⚠ P${record.node} ${translated(record.text)}.`);
  const who = OWNED.has(records[0].kind) ? say("P{node}’s", { node: records[0].node }) : `P${records[0].node}`;
  return { who, parts, found, byHand: records[0].by_hand === true };
}

/**
 * @param {RunModel} model
 * @param {RunRecord} record
 * @param {boolean} elsewhere whether it happened at another node than the step began at
 */
function inWords(model, record, elsewhere) {
  const message = record.kind === "deliver" ? model.messages.byId.get(record.message ?? -1) : undefined;
  const words = message === undefined ? translated(record.text) : say("receives {message} from P{from}", { message: model.messages.name(message), from: model.messages.from[message] + 1 });
  return elsewhere ? `P${record.node} ${words}` : words;
}

/** @param {RunRecord[]} records */
function sends(records) {
  const [{ label = say("a message"), payload }] = records;
  return say("sends {message} to {nodes}", { message: named(label, payload), nodes: records.map(({ to }) => `P${to}`).join(", ") });
}

/**
 * @param {RunRecord} a
 * @param {RunRecord} b
 */
function sameSend(a, b) {
  return b.kind === "send" && b.node === a.node && b.label === a.label && b.content === a.content;
}
