// What a comparison is asked: in the address, in the form, in the request.
import { h } from "../lib/dom.js";
import { field, choice, entry } from "../lib/form.js";
import { symbol } from "../lib/plot.js";
import { say } from "../lib/language.js";
import { byFamily } from "./look.js";

/**
 * All texts as in the command's options; empty is the default.
 * @typedef {{ algorithms: string[], nodes: string, quorum: string, tree: string, latency: string, section: string, entries: string, seeds: string }} Question
 */
/** @typedef {import("../wire.js").AlgorithmInfo} Info */

/** A first look: one of each family, small enough to be done at once. @type {Question} */
const FIRST = {
  algorithms: ["central", "ricart-agrawala", "maekawa", "suzuki-kasami", "raymond"],
  nodes: "2,4,8,16,32", quorum: "", tree: "", latency: "1", section: "1", entries: "", seeds: "3",
};

const SIZES = [
  { value: "2,4,8,16,32", title: say("2 … 32, doubling") },
  { value: "2,4,8,16,32,64,128", title: say("2 … 128, doubling") },
  { value: "2,3,4,5,6,7,8,9,10", title: say("2 … 10, each") },
  { value: "4,16,64", title: "4, 16, 64" },
  { value: "10,100", title: "10, 100" },
];
const LATENCIES = [
  { value: "1", title: say("constant 1") },
  { value: "uniform:0.5..1.5", title: say("uniform 0.5 … 1.5") },
  { value: "exp:1", title: say("exponential, mean 1") },
  { value: "normal:1,0.2", title: say("normal, mean 1, deviation 0.2") },
  { value: "pareto:0.4,1.5", title: say("Pareto, heavy tail") },
  { value: "three-dc", title: say("three data centres") },
];
const QUORUMS = [
  { value: "", title: say("cyclic") },
  { value: "grid", title: say("grid") },
  { value: "triangle", title: say("triangle") },
  { value: "majority", title: say("majority") },
  { value: "wall", title: say("wall") },
  { value: "tree", title: say("tree") },
  { value: "hierarchical", title: say("hierarchical") },
  { value: "projective", title: say("projective plane (7, 13, 21 …)") },
  { value: "all", title: say("all") },
];
const TREES = [
  { value: "", title: say("balanced, 2 children") },
  { value: "balanced:3", title: say("balanced, 3 children") },
  { value: "star", title: say("star") },
  { value: "line", title: say("line") },
];
const SECTIONS = [
  { value: "1", title: say("constant 1") },
  { value: "0", title: say("none (0)") },
  { value: "10", title: say("long (10)") },
  { value: "exp:1", title: say("exponential, mean 1") },
];

/**
 * What the address asks; the first look where it asks nothing.
 * @param {URLSearchParams} params
 * @returns {Question}
 */
export function questionOf(params) {
  const text = (/** @type {Exclude<keyof Question, "algorithms">} */ name) => params.get(name) ?? FIRST[name];
  const algorithms = params.get("algorithms");
  return {
    algorithms: algorithms === null ? FIRST.algorithms : algorithms.split(",").filter(Boolean),
    nodes: text("nodes"), quorum: text("quorum"), tree: text("tree"), latency: text("latency"), section: text("section"), entries: text("entries"), seeds: text("seeds"),
  };
}

/**
 * The question as parts of an address.
 * @param {Question} question
 * @returns {Record<string, string>}
 */
export function paramsOf({ algorithms, ...texts }) {
  return { algorithms: algorithms.join(","), ...texts };
}

/**
 * The question as the server takes it. What cannot be a number is refused here, by name; the rest is
 * the server's to judge.
 * @param {Question} question
 * @returns {import("../wire.js").CompareRequest}
 */
export function requestOf({ algorithms, nodes, quorum, tree, latency, section, entries, seeds }) {
  if (algorithms.length === 0) throw new Error(say("No algorithm is chosen; tick at least one."));
  /** @type {import("../wire.js").CompareRequest} */
  const request = { algorithms, nodes: sizesOf(nodes) };
  if (quorum) request.quorum = quorum;
  if (tree) request.tree = tree;
  if (latency) request.latency = latency;
  if (section) request.section = section;
  if (entries) request.entries = whole(entries, say("Entries"));
  if (seeds) request.seeds = whole(seeds, say("Seeds"));
  return request;
}

/**
 * Sizes separated by commas or spaces, in ascending order, none twice.
 * @param {string} text
 * @returns {number[]}
 */
export function sizesOf(text) {
  const sizes = text.split(/[\s,;]+/).filter(Boolean).map((word) => whole(word, say("Nodes N")));
  if (sizes.length === 0) throw new Error(say("Nodes N: no size is given; write some, as in 4,16,64."));
  return [...new Set(sizes)].sort((a, b) => a - b);
}

/**
 * A whole number above 0, or a complaint that names the field.
 * @param {string} text
 * @param {string} name
 * @returns {number}
 */
export function whole(text, name) {
  const number = Number(text);
  if (!Number.isSafeInteger(number) || number < 1) throw new Error(say("{name}: “{text}” is no whole number above 0.", { name, text }));
  return number;
}

/**
 * The form; it changes `question` in place and calls `changed` afterwards.
 * @param {Question} question
 * @param {Info[]} infos
 * @param {Map<string, import("./look.js").Look>} looks
 * @param {() => void} changed
 * @returns {HTMLElement}
 */
export function questionForm(question, infos, looks, changed) {
  const set = (/** @type {Exclude<keyof Question, "algorithms">} */ name) => (/** @type {string} */ value) => {
    question[name] = value;
    changed();
  };
  return h("div", { class: "question" },
    algorithmTicks(question, infos, looks, changed),
    h("div", { class: "fields" },
      withPresets(say("Nodes N"), SIZES, question.nodes, set("nodes"), say("Sizes to run, separated by commas"), "nodes").element,
      field(say("Quorums"), choice(QUORUMS, question.quorum, set("quorum"), { "data-test": "quorum" }), say("Of maekawa, sanders and cao-singhal; not every construction exists for every N")),
      field(say("Tree"), choice(TREES, question.tree, set("tree"), { "data-test": "tree" }), say("Of raymond and neilsen-mizuno")),
      withPresets(say("Latency of a message"), LATENCIES, question.latency, set("latency"),
        say("1, uniform:0.5..1.5, exp:1, normal:1,0.2, pareto:1,1.5 or three-dc. The claims are for the constant 1."), "latency").element,
      withPresets(say("Time inside"), SECTIONS, question.section, set("section"), say("A distribution, as for the latency"), "section").element,
      field(say("Seeds"), entry(question.seeds, set("seeds"), { inputmode: "numeric", placeholder: "10", "data-test": "seeds", size: 5 }),
        say("Independent runs where there is chance; their spread makes the intervals")),
      field(say("Entries"), entry(question.entries, set("entries"), { inputmode: "numeric", placeholder: say("20 per node"), "data-test": "entries", size: 9 }),
        say("Entries to measure where figures converge"))));
}

/**
 * A choice of presets, with a line of text for who wants something else; `set` shows another value.
 * @param {string} label
 * @param {{ value: string, title: string }[]} presets
 * @param {string} value
 * @param {(value: string) => void} changed
 * @param {string} hint
 * @param {string} test
 * @returns {{ element: HTMLElement, set: (value: string) => void }}
 */
export function withPresets(label, presets, value, changed, hint, test) {
  const isPreset = (/** @type {string} */ text) => presets.some((preset) => preset.value === text);
  const text = entry(value, changed, { "data-test": test, "aria-label": say("{label}: own", { label }) });
  const select = choice([...presets, { value: "", title: say("own …") }], "", (now) => {
    text.hidden = now !== "";
    if (now === "") {
      text.focus();
      text.select();
      return;
    }
    text.value = now;
    changed(now);
  }, { "aria-label": label, "data-test": `${test}-preset` });
  const set = (/** @type {string} */ now) => {
    text.value = now;
    // Who is typing keeps the line, even if a preset says the same.
    if (document.activeElement === text) return;
    text.hidden = isPreset(now);
    select.value = isPreset(now) ? now : "";
  };
  set(value);
  return { element: h("div", { class: "field with-presets", title: hint }, h("span", {}, label), h("div", {}, select, text)), set };
}

/**
 * @param {Question} question
 * @param {Info[]} infos
 * @param {Map<string, import("./look.js").Look>} looks
 * @param {() => void} changed
 */
function algorithmTicks(question, infos, looks, changed) {
  /** @type {HTMLInputElement[]} */
  const ticks = [];
  const read = () => {
    question.algorithms = ticks.filter((tick) => tick.checked).map((tick) => tick.value);
    changed();
  };
  const setAll = (/** @type {boolean} */ checked) => {
    for (const tick of ticks) tick.checked = checked;
    read();
  };
  const line = (/** @type {Info} */ info) => {
    const tick = h("input", { type: "checkbox", value: info.name, onchange: read, "data-test": `algorithm-${info.name}` });
    tick.checked = question.algorithms.includes(info.name);
    ticks.push(tick);
    const look = looks.get(info.name);
    return h("label", { class: "tick", title: `${info.name}: ${info.paper}` }, tick, look ? symbol(look) : null, info.title);
  };
  const families = byFamily(infos).map(({ title, members }) =>
    h("div", { class: "family", role: "group", "aria-label": title }, h("span", { class: "small muted" }, title), members.map(line)));
  return h("fieldset", { class: "algorithms" }, h("legend", {}, say("Algorithms")),
    h("div", { class: "toolbar" },
      h("button", { type: "button", class: "small", onclick: () => setAll(true), "data-test": "all" }, say("All")),
      h("button", { type: "button", class: "small", onclick: () => setAll(false), "data-test": "none" }, say("None"))),
    h("div", { class: "families" }, families));
}
