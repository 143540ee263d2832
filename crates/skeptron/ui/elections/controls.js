// The controls of one election.
import { h } from "../lib/dom.js";
import { field, choice, entry, algorithmChoices } from "../lib/form.js";
import { say, translated } from "../lib/language.js";
import { withPresets } from "../compare/question.js";
import { MOST_NODES, setUp, situationNow, situationsOf, within } from "./question.js";
import { topology } from "./topology.js";

/** @typedef {import("./question.js").Question} Question */
/** @typedef {import("../wire.js").AlgorithmInfo} Info */
/** @typedef {import("../wire.js").Topology} Topology */

const RINGS = [
  { value: "ascending", title: say("ascending") }, { value: "descending", title: say("descending") }, { value: "random:1", title: say("random (1)") },
  { value: "random:2", title: say("random (2)") },
];
const GRAPHS = ["complete", "ring", "line", "star", "grid", "hypercube"].map((value) => ({ value, title: translated(value) }));
const DETECTORS = [
  { value: "perfect:2", title: say("perfect") }, { value: "perfect:0.5", title: say("perfect, fast") }, { value: "perfect:8", title: say("perfect, slow") },
  { value: "imperfect:2,0.02", title: say("seldom wrong") }, { value: "imperfect:2,0.2", title: say("often wrong") },
];
const LATENCIES = [
  { value: "1", title: say("constant 1") }, { value: "uniform:0.5..1.5", title: say("uniform 0.5 … 1.5") }, { value: "exp:1", title: say("exponential") },
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
  const form = electionForm(infos, set);
  const legend = h("p", { class: "small muted election-legend" });
  const situations = situationTable((name) => {
    const made = setUp(question, infoOf(), name);
    if (made) changed(made);
  });
  element.append(form.element, deedChoice((what) => { deed = what; }), nodes.element, legend, situations.element);

  const infoOf = () => infos.find((info) => info.name === question.algorithm) ?? infos[0];
  const drawNodes = () => {
    const info = infoOf();
    const fits = known?.ring?.length === question.nodes || known?.links;
    nodes.show({
      nodes: question.nodes, layout: info.layout, graph: question.graph,
      ring: info.layout === "ring" ? (fits && known?.ring) || Array.from({ length: question.nodes }, (_, i) => i + 1) : null,
      links: info.layout === "graph" && question.graph !== "complete" ? linksWithin(known, question.nodes) : null,
    }, { crashed: question.crashed, initiators: question.initiators, leader });
    const crashes = question.crashed.length > 0 ? say("crashes at {time}", { time: question.crashAt || 0 }) : say("crashes");
    const everybody = question.initiators.length === 0 ? ` ${say("Nobody is marked: everybody may call.")}` : "";
    legend.textContent = `✕ ${crashes} · ⚑ ${say("calls {when}", { when: callSaid(question) })} · ★ ${say("leads at the end")}.${everybody}`;
  };

  return {
    element,
    /** @param {Question} next */
    show(next) {
      // Until the server has said how other nodes are linked, nothing is known of them.
      if (!question || !isLaidOutAlike(question, next)) known = undefined;
      question = next;
      leader = null;
      form.show(question, infoOf());
      situations.show(question, infoOf());
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

/**
 * @param {Question} a
 * @param {Question} b
 */
function isLaidOutAlike(a, b) {
  return a.algorithm === b.algorithm && a.ring === b.ring && a.graph === b.graph && a.nodes === b.nodes;
}

/** @param {Question} question */
function callSaid({ call, crashed, nodes }) {
  if (call !== "") return say("at {time}", { time: call });
  return crashed.includes(nodes) ? say("when it suspects the leader") : crashed.length > 0 ? say("if it suspects the leader") : say("at {time}", { time: 0 });
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
  return h("fieldset", { class: "ticks" }, h("legend", {}, say("A click on a node")),
    radio("crash", say("crashes it"), true), radio("call", say("lets it call"), false),
    h("span", { class: "small muted" }, say("or focus one and press"), " ", h("kbd", {}, "C"), " / ", h("kbd", {}, "I")));
}

/**
 * The fields; they stay while the question changes, so that whoever types in one keeps it.
 * @param {Info[]} infos
 * @param {(part: Partial<Question>) => void} set
 */
function electionForm(infos, set) {
  /** @param {"call" | "crashAt" | "back" | "seed"} name @param {string} label @param {string} placeholder @param {string} hint */
  const time = (name, label, placeholder, hint) => {
    const input = entry("", (value) => set({ [name]: value }), { size: 5, inputmode: "decimal", placeholder, "data-test": name });
    return { element: field(label, input, hint), show: (/** @type {Question} */ question) => { input.value = question[name]; } };
  };
  /** @param {"ring" | "detector" | "latency"} name @param {string} label @param {{ value: string, title: string }[]} presets @param {string} hint */
  const text = (name, label, presets, hint) => {
    const both = withPresets(label, presets, "", (value) => set({ [name]: value }), hint, name);
    return { element: both.element, show: (/** @type {Question} */ question) => both.set(question[name]) };
  };
  const count = h("input", { type: "number", min: 2, max: MOST_NODES, step: 1, "data-test": "nodes", onchange: () => set({ nodes: Number(count.value) }) });
  const algorithm = choice(algorithmChoices(infos), "", (value) => set({ algorithm: value }), { "data-test": "algorithm" });
  const graph = choice(GRAPHS, "", (value) => set({ graph: value }), { "data-test": "graph" });
  const ring = text("ring", say("Ring"), RINGS, say("Order of the ring: ascending, descending, random:SEED, or a list like P3,P1,P2"));
  const network = field(say("Network"), graph);
  const parts = [
    { element: field(say("Algorithm"), algorithm), show: (/** @type {Question} */ question) => { algorithm.value = question.algorithm; } },
    { element: field(say("Nodes N"), count), show: (/** @type {Question} */ question) => { count.value = String(question.nodes); } },
    ring,
    { element: network, show: (/** @type {Question} */ question) => { graph.value = question.graph; } },
    text("detector", say("Failure detector"), DETECTORS, say("perfect:DELAY, or imperfect:DELAY,RATE,LASTING")),
    text("latency", say("Latency"), LATENCIES, say("How long a message takes: a distribution, or three-dc")),
    time("call", say("Call at"), say("auto"), say("When the initiators call; empty: when they suspect the leader, or at 0 if nobody can be suspected")),
    time("crashAt", say("Crash at"), "0", say("When the crossed nodes stop")),
    time("back", say("Back at"), say("never"), say("When they restart; empty for never")),
    time("seed", say("Seed"), "1", say("Determines all chance")),
  ];
  return {
    element: h("div", { class: "fields" }, parts.map((part) => part.element)),
    /** @param {Question} question @param {Info} info */
    show(question, info) {
      for (const part of parts) part.show(question);
      ring.element.hidden = info.layout !== "ring";
      network.hidden = info.layout !== "graph";
    },
  };
}

/**
 * The situations of which figures are published, each with a button that makes it.
 * @param {(situation: string) => void} chosen
 */
function situationTable(chosen) {
  const element = h("div", { class: "scroll election-situations" });
  let shown = "";
  const fill = (/** @type {Info} */ info) => {
    shown = info.name;
    const row = (/** @type {import("./question.js").Situation} */ { name, when, messages, time }) => h("tr", {},
      h("td", {}, h("button", { type: "button", class: "small", "data-situation": name, onclick: () => chosen(name), "data-test": `situation-${name}` }, translated(name))),
      h("td", {}, translated(when)), h("td", {}, messages), h("td", {}, time));
    element.replaceChildren(h("table", { class: "data situations" },
      h("caption", {}, say("Published figures: press a situation to see it")),
      h("thead", {}, h("tr", {}, [say("Situation"), say("When"), say("Messages"), say("Time")].map((title) => h("th", { scope: "col" }, title)))),
      h("tbody", {}, situationsOf(info).map(row))));
  };
  return {
    element,
    /** @param {Question} question @param {Info} info */
    show(question, info) {
      if (shown !== info.name) fill(info);
      const now = situationNow(question, info)?.name;
      for (const button of element.querySelectorAll("button")) {
        button.disabled = setUp(question, info, button.dataset.situation ?? "") === null;
        button.setAttribute("aria-pressed", String(button.dataset.situation === now));
      }
    },
  };
}
