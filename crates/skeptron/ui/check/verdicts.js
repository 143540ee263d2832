// What a search found, in words that say what was proved and for which system.
import { h } from "../lib/dom.js";
import { commandLine } from "../lib/command.js";
import { numeral, say } from "../lib/language.js";
import { property, unjudged } from "./properties.js";
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
      say("Not judged: {properties}. The algorithm does not promise it, or only where its assumptions hold.", { properties: missing.map((name) => property(name).title).join(", ") })) : "",
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
    const rest = isUndecided ? ` ${say("The search ended there; tick “Decide every property” for the rest.")}` : "";
    return box("bad", say("✗ Not correct here."),
      shortest.trace_length === null ? say("With {system}, {broken}.{rest}", { system, broken: property(shortest.name).broken, rest })
        : say("With {system}, {broken} after {n} steps; no run that shows it is shorter.{rest}", { system, broken: property(shortest.name).broken, n: shortest.trace_length, rest }));
  }
  if (result.complete && !isUndecided) {
    const limit = info.kind === "election" ? say(", unless more than two new rounds begin within one bound") : "";
    return box("good", say("✓ Proved for this system."),
      say("With {system}, everything below holds in every interleaving: all {states} states were seen, and nothing else can happen{limit}.", { system, states: short(result.states), limit }));
  }
  const why = result.complete
    ? say("every state was seen, but there is too little memory to look for endless runs among them")
    : say("the memory ended the search; nothing is violated within {depth} steps", { depth: result.depth });
  return box("unsure", say("? Not decided."), say("With {system}: {why}. Ask for fewer nodes, requests or faults, or give the command below more memory.", { system, why }));
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
  if (judged.holds === true) return h("span", { class: "chip good" }, say("✓ holds"));
  if (judged.holds === false) return h("span", { class: "chip bad" }, judged.trace_length === null ? say("✗ violated") : say("✗ violated in {n} steps", { n: judged.trace_length }));
  return h("span", { class: "chip unsure" }, say("? not decided"));
}

/** @param {CheckResult} result */
function figures({ states, transitions, depth, seconds }) {
  const time = seconds < 0.001 ? say("less than 1 ms") : seconds < 1 ? `${numeral(seconds * 1000)} ms` : `${numeral(seconds, 1)} s`;
  return say("{states} states, {transitions} transitions, depth {depth}, {time}: {rate} states/s", { states: short(states), transitions: short(transitions), depth, time, rate: short(states / Math.max(seconds, 1e-6)) });
}
