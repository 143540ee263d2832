// The controls of one election.
import { h, clear } from "../lib/dom.js";
import { field, choice, entry, algorithmChoices } from "../lib/form.js";
import { withPresets } from "../compare/question.js";
import { MOST_NODES, setUp, situationsOf, within } from "./question.js";
import { topology } from "./topology.js";

/** @typedef {import("./question.js").Question} Question */
/** @typedef {import("../wire.js").AlgorithmInfo} Info */
/** @typedef {import("../wire.js").Topology} Topology */

const RINGS = [
  { value: "ascending", title: "ascending" }, { value: "descending", title: "descending" }, { value: "random:1", title: "random (1)" },
  { value: "random:2", title: "random (2)" },
];
const GRAPHS = ["complete", "ring", "line", "star", "grid", "hypercube"].map((value) => ({ value, title: value }));
const DETECTORS = [
  { value: "perfect:2", title: "perfect, after 2" }, { value: "perfect:0.5", title: "perfect, fast" }, { value: "perfect:8", title: "perfect, slow" },
  { value: "imperfect:2,0.02", title: "imperfect, seldom wrong" }, { value: "imperfect:2,0.2", title: "imperfect, often wrong" },
];
const LATENCIES = [
  { value: "1", title: "constant 1" }, { value: "uniform:0.5..1.5", title: "uniform 0.5 … 1.5" }, { value: "exp:1", title: "exponential" },
];

/**
 * The controls; `changed` is given the next question.
 * @param {Info[]} infos of all elections, the broken ones included
 * @param {(question: Question) => void} changed
 */
export function controls(infos, changed) {
  const element = h("div", { class: "election-controls" });
  /** @type {Question} */
  let question;
  /** @type {Topology | undefined} */
  let known;
  /** @type {number | null} */
  let leader = null;
  /** @type {import("./topology.js").Deed} */
  let deed = "crash";

  const set = (/** @type {Partial<Question>} */ part) => changed(within({ ...question, ...part }));
  const nodes = topology({ deed: () => deed, act: (node, what) => {
    const name = what === "crash" ? "crashed" : "initiators";
    const now = question[name];
    set({ [name]: now.includes(node) ? now.filter((other) => other !== node) : [...now, node].sort((a, b) => a - b) });
  } });
  const form = h("div", { class: "fields" });
  const legend = h("p", { class: "small muted" });
  const situations = h("div", { class: "scroll" });
  element.append(form, deedChoice((what) => { deed = what; }), nodes.element, legend, situations);

  const infoOf = () => infos.find((info) => info.name === question.algorithm) ?? infos[0];
  const drawNodes = () => {
    const info = infoOf();
    const fits = known?.ring?.length === question.nodes || known?.links;
    nodes.show({
      nodes: question.nodes, layout: info.layout, graph: question.graph,
      ring: info.layout === "ring" ? (fits && known?.ring) || Array.from({ length: question.nodes }, (_, i) => i + 1) : null,
      links: info.layout === "graph" ? linksWithin(known, question.nodes) : null,
    }, { crashed: question.crashed, initiators: question.initiators, leader });
    legend.textContent = `✕ crashes${question.crashed.length ? ` at ${question.crashAt || 0}` : ""} · ⚑ calls ${callSaid(question)} · ★ leads at the end. ${question.initiators.length === 0 ? "Nobody is marked: everybody may call." : ""}`;
  };

  return {
    element,
    /** @param {Question} next */
    show(next) {
      const same = question && question.algorithm === next.algorithm && question.ring === next.ring && question.graph === next.graph && question.nodes === next.nodes;
      question = next;
      leader = null;
      if (!same) known = undefined;
      // What the user is typing in stays as it is.
      const focus = form.contains(document.activeElement) ? document.activeElement?.getAttribute("data-test") : null;
      clear(form);
      form.append(...formOf(question, infos, infoOf(), set));
      if (focus) /** @type {HTMLElement | null} */ (form.querySelector(`[data-test="${focus}"]`))?.focus();
      situationTable(situations, question, infoOf(), changed);
      drawNodes();
    },
    /** What the server says of the nodes. @param {Topology} topology @param {number | null} who leads */
    know(topology, who) {
      known = topology;
      leader = who;
      drawNodes();
    },
  };
}

/** @param {Question} question */
function callSaid({ call, crashed, nodes }) {
  if (call !== "") return `at ${call}`;
  return crashed.includes(nodes) ? "when it suspects the leader" : crashed.length > 0 ? "if it suspects the leader" : "at 0";
}

/**
 * @param {Topology | undefined} known
 * @param {number} nodes
 * @returns {[number, number][]}
 */
function linksWithin(known, nodes) {
  return (known?.links ?? []).filter(([a, b]) => a <= nodes && b <= nodes).map(([a, b]) => [a, b]);
}

/** @param {(deed: import("./topology.js").Deed) => void} chosen */
function deedChoice(chosen) {
  const radio = (/** @type {import("./topology.js").Deed} */ value, /** @type {string} */ title, /** @type {boolean} */ checked) =>
    h("label", { class: "tick" }, h("input", { type: "radio", name: "deed", value, checked, onchange: () => chosen(value), "data-test": `deed-${value}` }), title);
  return h("fieldset", { class: "ticks" }, h("legend", {}, "A click on a node"),
    radio("crash", "crashes it", true), radio("call", "lets it call", false),
    h("span", { class: "small muted" }, "or focus one and press ", h("kbd", {}, "C"), " or ", h("kbd", {}, "I")));
}

/**
 * @param {Question} question
 * @param {Info[]} infos
 * @param {Info} info
 * @param {(part: Partial<Question>) => void} set
 * @returns {HTMLElement[]}
 */
function formOf(question, infos, info, set) {
  const count = h("input", { type: "number", min: 2, max: MOST_NODES, step: 1, "data-test": "nodes", onchange: () => set({ nodes: Number(count.value) }) });
  count.value = String(question.nodes);
  const times = { size: 5, inputmode: "decimal" };
  return [
    field("Algorithm", choice(algorithmChoices(infos), question.algorithm, (algorithm) => set({ algorithm }), { "data-test": "algorithm" })),
    field("Nodes N", count),
    ...(info.layout === "ring" ? [withPresets("Ring", RINGS, question.ring, (ring) => set({ ring }), "Order of the ring: ascending, descending, random:SEED, or a list like P3,P1,P2", "ring")] : []),
    ...(info.layout === "graph" ? [field("Network", choice(GRAPHS, question.graph, (graph) => set({ graph }), { "data-test": "graph" }))] : []),
    field("Initiators call at", entry(question.call, (call) => set({ call }), { ...times, placeholder: "suspicion", "data-test": "call", size: 9 }), "A time; empty: when they suspect the leader, or the first at 0 if nobody can be suspected"),
    field("Crash at", entry(question.crashAt, (crashAt) => set({ crashAt }), { ...times, placeholder: "0", "data-test": "crash-at" }), "When the crossed nodes stop"),
    field("Back at", entry(question.back, (back) => set({ back }), { ...times, placeholder: "never", "data-test": "back" }), "When they restart; empty for never"),
    withPresets("Failure detector", DETECTORS, question.detector, (detector) => set({ detector }), "perfect:DELAY, or imperfect:DELAY,RATE,LASTING", "detector"),
    withPresets("Latency of a message", LATENCIES, question.latency, (latency) => set({ latency }), "A distribution, or three-dc", "latency"),
    field("Seed", entry(question.seed, (seed) => set({ seed: /^\d+$/.test(seed) ? seed : "1" }), { ...times, "data-test": "seed" }), "Determines all chance"),
  ];
}

/**
 * The situations of which figures are published, each with a button that makes it.
 * @param {HTMLElement} place
 * @param {Question} question
 * @param {Info} info
 * @param {(question: Question) => void} changed
 */
function situationTable(place, question, info, changed) {
  clear(place);
  const rows = situationsOf(info).map(({ name, when, messages, time }) => {
    const made = setUp(question, name);
    const now = made !== null && JSON.stringify(made) === JSON.stringify(question);
    return h("tr", {},
      h("td", {}, made
        ? h("button", { type: "button", class: "small", "aria-pressed": String(now), onclick: () => changed(made), "data-test": `situation-${name}` }, name)
        : name),
      h("td", {}, when), h("td", {}, messages), h("td", {}, time));
  });
  if (rows.length === 0) return;
  place.append(h("table", { class: "data situations" },
    h("caption", {}, "Published figures: press a situation to see it"),
    h("thead", {}, h("tr", {}, ["Situation", "When", "Messages", "Time"].map((title) => h("th", { scope: "col" }, title)))),
    h("tbody", {}, rows)));
}
