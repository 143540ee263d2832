// The elections side by side: best, average and worst case, claim beside measurement.
import { h, complaint } from "../lib/dom.js";
import { field, entry } from "../lib/form.js";
import { job } from "../lib/job.js";
import { symbol } from "../lib/plot.js";
import { say } from "../lib/language.js";
import { looks } from "../compare/look.js";
import { sizesOf, whole, withPresets } from "../compare/question.js";
import { axisControls, axisOf } from "../compare/results.js";
import { ABOUT, electionResults, included } from "./results.js";

/** @typedef {import("../wire.js").AlgorithmInfo} Info */
/** @typedef {import("../compare/results.js").Axis} Axis */
/** @typedef {{ compared: string[], sizes: string, seeds: string, x: Axis, y: Axis, hidden: Set<string> }} Comparison */

const SIZES = [
  { value: "4,8,16", title: "4, 8, 16" }, { value: "3,4,5,6,7,8", title: say("3 … 8, each") }, { value: "4,8,16,32", title: say("4 … 32, doubling") },
];

/**
 * What the address says of it.
 * @param {URLSearchParams} params
 * @returns {Comparison}
 */
export function comparisonOf(params) {
  const list = (/** @type {string} */ name) => (params.get(name) ?? "").split(";").filter(Boolean);
  return {
    compared: list("compared"), sizes: params.get("sizes") ?? "4,8,16", seeds: params.get("seeds") ?? "100",
    x: params.get("x") === "linear" ? "linear" : "log", y: axisOf(params.get("y")), hidden: new Set(list("hide")),
  };
}

/**
 * What of it differs from a first visit.
 * @param {Comparison} comparison
 * @returns {Record<string, string>}
 */
export function paramsOfComparison({ compared, sizes, seeds, x, y, hidden }) {
  return {
    ...(compared.length > 0 ? { compared: compared.join(";") } : {}),
    ...(sizes !== "4,8,16" ? { sizes } : {}), ...(seeds !== "100" ? { seeds } : {}),
    ...(x !== "log" ? { x } : {}), ...(y !== "auto" ? { y } : {}),
    ...(hidden.size > 0 ? { hide: [...hidden].join(";") } : {}),
  };
}

/**
 * The comparison, which runs at once.
 * @param {Comparison} comparison is changed in place
 * @param {Info[]} infos all correct elections
 * @param {() => void} changed is told afterwards
 */
export function electionComparison(comparison, infos, changed) {
  const run = h("button", { type: "submit", class: "primary", "data-test": "compare-run" }, say("Compare"));
  const work = job({ name: say("Comparison"), changed: (running) => { run.disabled = running; } });
  const problem = h("div");
  const shown = electionResults(comparison, infos, changed);
  const compare = () => {
    problem.replaceChildren();
    try {
      const body = { elections: true, algorithms: included(comparison, infos).map((info) => info.name), nodes: sizesOf(comparison.sizes), seeds: whole(comparison.seeds, say("Seeds")) };
      shown.begin();
      changed();
      work.run("/lab/compare", { body, on: { rows: shown.add }, result: shown.finish });
    } catch (error) {
      problem.replaceChildren(complaint(error));
    }
  };

  const form = h("form", { class: "panel comparison-form", onsubmit: (/** @type {Event} */ event) => {
    event.preventDefault();
    compare();
  } },
  h("div", { class: "fields" },
    algorithmTicks(comparison, infos, looks(infos)),
    withPresets(say("Nodes N"), SIZES, comparison.sizes, (sizes) => { comparison.sizes = sizes; }, say("Sizes to run, separated by commas"), "sizes").element,
    field(say("Seeds"), entry(comparison.seeds, (seeds) => { comparison.seeds = seeds; }, { size: 5, inputmode: "numeric", "data-test": "compare-seeds" }),
      say("Random rings where the figure is a mean")),
    axisControls(comparison, () => {
      shown.draw();
      changed();
    }),
    run),
  problem, work.element);

  return {
    element: h("section", { class: "election-comparison", "aria-label": say("Elections compared") },
      h("header", {}, h("h2", {}, say("All of them: best, average, worst")), h("p", { class: "muted" }, ABOUT)),
      form, shown.parts),
    compare,
    end() {
      work.cancel();
      shown.end();
    },
  };
}

/**
 * @param {Comparison} comparison
 * @param {Info[]} infos
 * @param {Map<string, import("../compare/look.js").Look>} look
 */
function algorithmTicks(comparison, infos, look) {
  return h("fieldset", { class: "ticks" }, h("legend", {}, say("Elections")), infos.map((info) => {
    const own = look.get(info.name);
    const tick = h("input", { type: "checkbox", value: info.name, "data-test": `compared-${info.name}`, onchange: () => {
      const before = comparison.compared.length > 0 ? comparison.compared : infos.map((one) => one.name);
      const now = tick.checked ? [...before, info.name] : before.filter((name) => name !== info.name);
      comparison.compared = now.length === infos.length ? [] : now;
      // None at all would be all: the last one stays.
      if (now.length === 0) {
        tick.checked = true;
        comparison.compared = [info.name];
      }
    } });
    tick.checked = comparison.compared.length === 0 || comparison.compared.includes(info.name);
    return h("label", { class: "tick", title: info.title }, tick, own ? symbol(own) : null, info.name);
  }));
}
