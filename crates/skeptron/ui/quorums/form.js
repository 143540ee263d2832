// The form of a question about a quorum system. Every change asks anew.
import { h, clear } from "../lib/dom.js";
import { field, choice, entry } from "../lib/form.js";
import { fileButton, dropZone } from "../lib/files.js";
import { say } from "../lib/language.js";
import { CONSTRUCTIONS, construction, suitable } from "./constructions.js";

/** @typedef {import("./question.js").Question} Question */
/** @typedef {import("./constructions.js").Parameter} Parameter */

const EXAMPLE = "1: 1 2\n2: 2 3\n3: 3 1\n";

/** @type {Record<Exclude<Parameter, "text">, { label: string, placeholder: string, hint: string, size: number }>} */
const PARAMETERS = {
  nodes: { label: say("Nodes"), placeholder: "", hint: say("How many."), size: 6 },
  rows: { label: say("or rows of widths"), placeholder: "1,2,3,4", hint: say("Widths of the rows from the top."), size: 12 },
  weights: { label: say("Votes of the nodes"), placeholder: "3,1,1,1,1", hint: say("One number for each node."), size: 18 },
  height: { label: say("or height"), placeholder: "2", hint: say("Of the tree."), size: 5 },
  order: { label: say("or order"), placeholder: "3", hint: say("Of the plane: a prime power; N = order² + order + 1."), size: 5 },
};

/**
 * @param {Question} first
 * @param {(question: Question) => void} changed
 * @returns {{ element: HTMLElement, set: (part: Partial<Question>) => void, question: () => Question }}
 */
export function quorumForm(first, changed) {
  let question = first;
  const parameters = h("span", { class: "fields parameters" });
  const says = h("p", { class: "muted small construction-says", "data-test": "construction-says" });
  const set = (/** @type {Partial<Question>} */ part) => {
    question = { ...question, ...part };
    changed(question);
  };
  const build = () => {
    clear(parameters);
    const { takes, says: sentence } = construction(question.kind);
    parameters.append(...takes.map((name) => (name === "text" ? pasted(question, set) : parameter(name, question, set))));
    says.textContent = sentence;
  };
  const kind = choice(CONSTRUCTIONS.map(({ name, title, group }) => ({ value: name, title, group })), question.kind, (kind) => {
    const nodes = String(suitable(kind, Number(question.nodes) || 13));
    const given = { weights: question.weights || (kind === "weighted" ? "3,1,1,1,1" : ""), text: question.text || (kind === "file" ? EXAMPLE : "") };
    set({ kind, nodes, rows: "", height: "", order: "", picture: "", of: "", ...given });
    build();
  }, { "data-test": "construction" });
  build();
  const element = h("form", { class: "panel quorum-form", "data-test": "quorum-form", onsubmit: (/** @type {Event} */ event) => event.preventDefault() },
    h("div", { class: "fields" }, field(say("Construction"), kind), parameters, analysis(question, set)), says);
  return { element, set, question: () => question };
}

/**
 * @param {Exclude<Parameter, "text">} name
 * @param {Question} question
 * @param {(part: Partial<Question>) => void} set
 */
function parameter(name, question, set) {
  const { label, placeholder, hint, size } = PARAMETERS[name];
  const shape = ["rows", "weights"].includes(name) ? { size } : { type: "number", min: 0, class: "count" };
  const control = entry(question[name], (value) => set({ [name]: value, of: "" }), { placeholder, "data-test": name, ...shape });
  return field(label, control, hint);
}

/**
 * @param {Question} question
 * @param {(part: Partial<Question>) => void} set
 */
function analysis(question, set) {
  const p = entry(question.p, (value) => set({ p: value }), { type: "number", min: 0, max: 1, step: 0.01, placeholder: "0.1", class: "count", "data-test": "p" });
  const list = (/** @type {"capacities" | "latencies"} */ name, /** @type {string} */ placeholder) =>
    entry(question[name], (value) => set({ [name]: value }), { placeholder, size: 12, "data-test": name });
  return [
    field(say("Each has failed with p"), p, say("For the probability that no quorum is left.")),
    field(say("Capacities"), list("capacities", say("equal")), say("How many requests each node can serve in a unit of time, as in 2,1,1.")),
    field(say("Latencies"), list("latencies", say("none##of latencies")), say("How long each node takes to answer, as in 1,2,5.")),
  ];
}

/**
 * @param {Question} question
 * @param {(part: Partial<Question>) => void} set
 */
function pasted(question, set) {
  const area = h("textarea", { rows: 5, cols: 34, spellcheck: "false", class: "mono", "data-test": "text", onchange: () => set({ text: area.value, of: "" }) });
  area.value = question.text;
  const take = async (/** @type {File} */ file) => {
    area.value = await file.text();
    set({ text: area.value, of: "" });
  };
  dropZone(area, take);
  return h("span", { class: "pasted" }, field(say("Quorums, or what a file says"), area, say("A file may be dropped here.")), fileButton(say("Choose a file …"), ".quorums,.txt,.json", take));
}
