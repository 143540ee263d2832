// Predict: a node gets something; what does it do? What the engine's node did is the answer, and what nodes did
// elsewhere in the run are the other choices.
import { h } from "../lib/dom.js";
import { say } from "../lib/language.js";
import { picture } from "../scenarios/glimpse.js";
import { partsOf, told } from "../play/words.js";

/** @typedef {import("../play/model.js").RunModel} RunModel */
/**
 * @typedef {object} Question
 * @property {number} before the position at which it is asked
 * @property {number} after the position at which the answer is seen
 * @property {number} node
 * @property {string} asks
 * @property {string} answer
 * @property {string[]} choices
 */

const MOST_QUESTIONS = 8;
const MOST_CHOICES = 4;
const NOTHING = say("sends nothing");
/** What a node can be asked about. */
const ASKED = new Set(["deliver", "request", "release", "expire"]);

/**
 * The questions of a run: first where its notes stand, then anywhere.
 * @param {RunModel} model
 * @param {import("../wire.js").Note[]} notes
 * @returns {Question[]}
 */
export function questions(model, notes) {
  const steps = model.steps.map((_, step) => reaction(model, step)).filter((step) => step !== null);
  const noted = new Set(notes.map((note) => note.at));
  const first = steps.filter((step) => noted.has(step.after));
  const chosen = [...first, ...steps.filter((step) => !noted.has(step.after))].slice(0, MOST_QUESTIONS).sort((a, b) => a.before - b.before);
  return chosen.map((step) => ({ ...step, choices: choicesOf(step, steps) })).filter((question) => question.choices.length > 1);
}

/**
 * What came in at a step, and what the node did about it.
 * @param {RunModel} model
 * @param {number} step
 */
function reaction(model, step) {
  const before = model.steps[step];
  const after = model.positionAfter(step + 1);
  const { kind, node } = model.records[before];
  if (!ASKED.has(kind)) return null;
  const { who, parts } = partsOf(model, after);
  const [came, ...did] = parts;
  return { before, after, node, kind, asks: `${who} ${came}.`, answer: did.join(", ") || NOTHING };
}

/**
 * The answer among others that were right elsewhere, always in the same order.
 * @param {{ kind: string, node: number, answer: string }} step
 * @param {{ kind: string, node: number, answer: string }[]} steps
 */
function choicesOf(step, steps) {
  const likeness = (/** @type {{ kind: string, node: number }} */ other) => (other.kind === step.kind ? 0 : 2) + (other.node === step.node ? 0 : 1);
  const others = steps.toSorted((a, b) => likeness(a) - likeness(b)).map((other) => other.answer);
  const all = [...new Set([step.answer, NOTHING, ...others])].slice(0, MOST_CHOICES);
  return all.sort();
}

/**
 * The run as it is when the question is asked.
 * @param {RunModel} model
 * @param {Question} question
 */
export function soFar(model, question) {
  return h("figure", { class: "exercise-picture" }, picture(model.header, model.records.slice(0, question.before), true),
    h("figcaption", { class: "small muted" }, question.before === 0 ? say("Nothing has happened yet.") : `${say("Before:")} ${told(model, question.before)}`));
}
