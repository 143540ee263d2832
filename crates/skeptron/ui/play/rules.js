// Which rules of its algorithm a step follows, and why, in the values of that step. Rules are data of the catalogue: a
// case says what comes in and what must hold of the step, with names in braces for its values.
import { enumerated, translated } from "../lib/language.js";


/** @typedef {{ number: number, text: string, inputs: string[], holds: [string, string, string][], reason: string }} Case */
/** @typedef {import("../wire.js").NodeState} NodeState */
/** @typedef {{ number: number, text: string, reason: string }} Fired */
/**
 * A step of one node.
 * @typedef {object} Step
 * @property {string} input the kind of a message, or `start`, `request`, `release`, `call`, `suspect`, `trust`, `draw`, `expire`
 * @property {ReadonlyMap<string, string>} values of all but the variables
 * @property {NodeState | undefined} before
 * @property {NodeState | undefined} after
 */

/** What a node takes besides messages. */
const INPUTS = new Set(["request", "release", "call", "suspect", "trust", "draw", "expire"]);
/** What may begin a step without any input: the start of an algorithm. */
const EFFECTS = new Set(["send", "enter", "arm", "elect"]);
const NAME = /\{([a-z][\w.]*)('?)(?:\[(\w+)\])?\}/g;
/** What in a reason stands for the comparison that decided. */
const DECIDED = "{<}";
const NOTHING = "–";

/**
 * The step that ends at a position; null if no rule has a say there: a crash, a loss, an input that the node refused.
 * @param {import("./model.js").RunModel} model
 * @param {number} position
 * @param {NodeState[] | null} before
 * @param {NodeState[] | null} after
 * @returns {Step | null}
 */
export function stepAt(model, position, before, after) {
  const step = model.stepsBefore(position) - 1;
  if (step < 0 || !before || !after) return null;
  const records = model.records.slice(model.steps[step], position);
  const [first] = records;
  const { messages } = model;
  const message = first.kind === "deliver" ? messages.byId.get(first.message ?? -1) : undefined;
  const input = message !== undefined ? messages.labels[messages.label[message]] : INPUTS.has(first.kind) ? first.kind : EFFECTS.has(first.kind) ? "start" : null;
  if (input === null || records.some(({ kind }) => kind === "refuse")) return null;
  // Whom a detector suspects is noted; only what follows from it is a rule's matter.
  if ((input === "suspect" || input === "trust") && !records.some(({ kind }) => EFFECTS.has(kind))) return null;
  const sent = records.filter(({ kind }) => kind === "send");
  const yes = (/** @type {string} */ kind) => (records.some((record) => record.kind === kind) ? "yes" : "no");
  const values = new Map([["me", `P${first.node}`], ["sent", sent.map(({ label }) => label).join(" ")], ["enters", yes("enter")], ["elects", yes("elect")], ["to", `P${sent[0]?.to}`]]);
  if (first.whom !== undefined) values.set("whom", `P${first.whom}`);
  if (message !== undefined) {
    values.set("from", `P${messages.from[message] + 1}`);
    for (const [name, value] of contents(messages.content[message])) values.set(name, value);
  }
  return { input, values, before: before[first.node - 1], after: after[first.node - 1] };
}

/**
 * What a message says: `message` is all of it, `message.t` one of its parts.
 * @param {string} content as in `(t=41)` or `(1/P2)`
 * @returns {[string, string][]}
 */
function contents(content) {
  const all = /^\((.*)\)$/s.exec(content)?.[1] ?? content;
  /** @type {[string, string][]} */
  const found = [["message", all]];
  for (const [, name, value] of all.matchAll(/(\w+)=(\([^)]*\)|\[[^\]]*\]|\{[^}]*\}|[^\s,]+)/g)) found.push([`message.${name}`, value]);
  return found;
}

/**
 * The cases of an algorithm's rules.
 * @param {import("../wire.js").AlgorithmInfo | undefined} info
 * @returns {Case[]}
 */
export function casesOf(info) {
  return (info?.fires ?? []).map((line) => {
    const [head, holds, reason] = line.split("|").map((part) => part.trim());
    const number = parseInt(head);
    return { number, text: info?.rules[number - 1] ?? "", inputs: head.replace(/^\d+ /, "").split(", "), holds: conditions(holds), reason: translated(reason) };
  });
}

/**
 * The rules that a step follows, each with its reason.
 * @param {Case[]} cases
 * @param {Step} step
 * @returns {Fired[]}
 */
export function fired(cases, step) {
  /** @type {Fired[]} */
  const found = [];
  for (const { number, text, inputs, holds, reason } of cases) {
    if (found.at(-1)?.number === number || !inputs.includes(step.input)) continue;
    const filledIn = holds.map(([left, sign, right]) => /** @type {[string, string, string]} */ ([filled(left, step), sign, filled(right, step)]));
    if (!filledIn.every(([left, sign, right]) => judge(left, sign, right))) continue;
    const decided = filledIn.filter(([, sign]) => sign === "<" || sign === "≤").map(([left, sign, right]) => compared(parts(left), sign, parts(right)));
    found.push({ number, text, reason: filled(reason.replace(DECIDED, decided[0] ?? ""), step, translated) });
  }
  return found;
}

/**
 * @param {string} holds conditions, all of which must hold: `{phase} = waiting; {stamp} {me} < {message.t} {from}`
 * @returns {[string, string, string][]}
 */
function conditions(holds) {
  return holds === "" ? [] : holds.split("; ").map((condition) => {
    const [left, sign, right] = condition.split(/ (=|≠|<|≤|∋|∌)(?: |$)/);
    return [left, sign, right ?? ""];
  });
}

/**
 * A text with the values of a step in place of their names; a name with `'` means the value after the step.
 * @param {string} text
 * @param {Step} step
 * @param {(value: string) => string} [shown] how a value is written
 */
function filled(text, step, shown = (/** @type {string} */ value) => value) {
  return text.replaceAll(NAME, (_, /** @type {string} */ name, /** @type {string} */ prime, /** @type {string | undefined} */ place) => {
    const state = prime ? step.after : step.before;
    const value = step.values.get(name) ?? state?.vars.find(({ field }) => field === name)?.value ?? NOTHING;
    return shown(place === undefined ? value : part(value, place, step));
  });
}

/**
 * A part of a value: the first of a list, the entry of a node, the round or the beginner of an epoch.
 * @param {string} value
 * @param {string} place
 * @param {Step} step
 */
function part(value, place, step) {
  if (place === "round" || place === "by") return value.split("/")[place === "by" ? 1 : 0] ?? NOTHING;
  const items = value.slice(1, -1).match(/\([^)]*\)|[^,\s]+/g) ?? [];
  const at = place === "first" ? 0 : Number(step.values.get(place)?.slice(1)) - 1;
  return items[at] ?? NOTHING;
}

/** The numbers and nodes of a value, in order. @param {string} value */
function parts(value) {
  return value.match(/P?\d+/g) ?? [];
}

/** @param {string} item */
function number(item) {
  return Number(item.replace("P", ""));
}

/**
 * @param {string} left
 * @param {string} sign
 * @param {string} right
 */
function judge(left, sign, right) {
  if (sign === "=") return sum(left) === sum(right);
  if (sign === "≠") return sum(left) !== sum(right);
  if (sign === "∋" || sign === "∌") return left.split(/[^\w–]+/).includes(right) === (sign === "∋");
  const [a, b] = [parts(left), parts(right)];
  const differs = a.findIndex((item, k) => number(item) !== number(b[k] ?? ""));
  if (a.length === 0 || a.length !== b.length) return false;
  return differs < 0 ? sign === "≤" : number(a[differs]) < number(b[differs]);
}

/** `LN + 1`, computed. @param {string} value */
function sum(value) {
  const terms = value.split(" + ");
  return terms.length > 1 ? String(terms.reduce((total, term) => total + Number(term), 0)) : value;
}

/**
 * A comparison as one says it: by the first numbers that differ.
 * @param {string[]} left
 * @param {string} sign
 * @param {string[]} right
 */
function compared(left, sign, right) {
  const differs = left.findIndex((item, k) => item !== right[k]);
  const same = left.slice(0, differs < 0 ? left.length : differs).map((item, k) => `${item} = ${right[k]}`);
  return enumerated(differs < 0 ? same : [...same, `${left[differs]} ${sign === "≤" ? "<" : sign} ${right[differs]}`]);
}
