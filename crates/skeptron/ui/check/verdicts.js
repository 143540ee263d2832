// What a search found, in words that say what was proved and for which system.
import { h } from "../lib/dom.js";
import { commandLine } from "../lib/command.js";
import { property, unjudged, steps } from "./properties.js";
import { counterexample } from "./counterexample.js";
import { inWords } from "./question.js";
import { short } from "./live.js";

/** @typedef {import("../wire.js").CheckRequest} CheckRequest */
/** @typedef {import("../wire.js").CheckResult} CheckResult */
/** @typedef {import("../wire.js").CheckedProperty} CheckedProperty */
/** @typedef {import("../wire.js").AlgorithmInfo} AlgorithmInfo */

/**
 * A result.
 * @param {CheckRequest} request
 * @param {CheckResult} result
 * @param {AlgorithmInfo} info
 * @returns {HTMLElement[]}
 */
export function verdicts(request, result, info) {
  const missing = unjudged(info.kind, result.properties);
  return [
    conclusion(request, result, info),
    h("ul", { class: "verdicts", "data-test": "verdicts" }, result.properties.map((judged) => verdict(judged, request))),
    missing.length > 0 ? h("p", { class: "small muted" },
      `Not judged: ${missing.map((name) => property(name).title.toLowerCase()).join(", ")}. The algorithm does not promise it, or only where its assumptions hold.`) : "",
    h("p", { class: "small muted", "data-test": "search-figures" }, figures(result)),
    commandLine(result.command),
  ].filter((part) => part instanceof HTMLElement);
}

/**
 * @param {CheckRequest} request
 * @param {CheckResult} result
 * @param {AlgorithmInfo} info
 */
function conclusion(request, result, info) {
  const system = inWords(request, info);
  const broken = result.properties.filter((judged) => judged.holds === false);
  const isUndecided = result.properties.some((judged) => judged.holds === null);
  if (broken.length > 0) {
    const shortest = broken.reduce((a, b) => ((b.trace_length ?? Infinity) < (a.trace_length ?? Infinity) ? b : a));
    const rest = isUndecided ? " The search ended there; tick “Decide every property” for the rest." : "";
    return box("bad", "✗ Not correct here.",
      `With ${system}, ${property(shortest.name).broken}${steps("after", shortest.trace_length)}; no run that shows it is shorter.${rest}`);
  }
  if (result.complete && !isUndecided) {
    const limit = info.kind === "election" ? ", unless more than two new rounds begin within one bound" : "";
    return box("good", "✓ Proved for this system.",
      `With ${system}, everything below holds in every interleaving: all ${short(result.states)} states were seen, and nothing else can happen${limit}.`);
  }
  const why = result.complete
    ? "every state was seen, but there is too little memory to look for endless runs among them"
    : `the memory ended the search; nothing is violated within ${result.depth} steps`;
  return box("unsure", "? Not decided.", `With ${system}: ${why}. Ask for fewer nodes, requests or faults, or give the command below more memory.`);
}

/**
 * @param {string} kind
 * @param {string} title
 * @param {string} text
 */
function box(kind, title, text) {
  return h("div", { class: `notice ${kind}`, role: "status", "data-test": "conclusion" }, h("strong", {}, `${title} `), text);
}

/**
 * @param {CheckedProperty} judged
 * @param {CheckRequest} request
 */
function verdict(judged, request) {
  const { title, meaning } = property(judged.name);
  return h("li", { "data-property": judged.name },
    h("span", { class: "verdict-name" }, h("strong", {}, title), h("span", { class: "small muted" }, meaning)),
    chip(judged),
    judged.trace && counterexample(judged.trace, `${request.algorithm}-${judged.name}`));
}

/** @param {CheckedProperty} judged */
function chip(judged) {
  if (judged.holds === true) return h("span", { class: "chip good" }, "✓ holds");
  if (judged.holds === false) return h("span", { class: "chip bad" }, `✗ violated${steps("in", judged.trace_length)}`);
  return h("span", { class: "chip unsure" }, "? not decided");
}

/** @param {CheckResult} result */
function figures({ states, transitions, depth, seconds }) {
  const time = seconds < 0.001 ? "less than 1 ms" : seconds < 1 ? `${(seconds * 1000).toFixed(0)} ms` : `${seconds.toFixed(1)} s`;
  return `${short(states)} states, ${short(transitions)} transitions, depth ${depth}, ${time}: ${short(states / Math.max(seconds, 1e-6))} states/s`;
}
