// The elections side by side: best, average and worst case, claim beside measurement.
import { h, complaint } from "../lib/dom.js";
import { commandLine } from "../lib/command.js";
import { field, entry } from "../lib/form.js";
import { download } from "../lib/files.js";
import { job } from "../lib/job.js";
import { plot, symbol } from "../lib/plot.js";
import { legend } from "../lib/legend.js";
import { say, translated } from "../lib/language.js";
import { logOf, seriesOf } from "../compare/figures.js";
import { looks, nthLook } from "../compare/look.js";
import { sizesOf, whole, withPresets } from "../compare/question.js";
import { axisControls, axisOf, oncePerMoment, plotPanel, sizesIn, verdictOf } from "../compare/results.js";
import { csv, resultTable } from "../compare/table.js";

/** @typedef {import("../wire.js").CompareRow} Row */
/** @typedef {import("../wire.js").CompareCurve} Curve */
/** @typedef {import("../wire.js").AlgorithmInfo} Info */
/** @typedef {import("../lib/plot.js").Series} Series */
/** @typedef {import("../compare/results.js").Axis} Axis */
/** @typedef {{ compared: string[], sizes: string, seeds: string, x: Axis, y: Axis, hidden: Set<string> }} Comparison */

const SIZES = [
  { value: "4,8,16", title: "4, 8, 16" }, { value: "3,4,5,6,7,8", title: say("3 … 8, each") }, { value: "4,8,16,32", title: say("4 … 32, doubling") },
];

/**
 * Plots with one series for each algorithm: of its situations the one that is extreme at each N.
 * @type {{ name: string, title: string, figure: "messages" | "time", most: boolean, unit: string, axis?: string, text: string }[]}
 */
const OVERVIEWS = [
  { name: "election-costliest", title: say("Messages, costliest situation of each"), figure: "messages", most: true, unit: say("messages"),
    text: say("All kinds of messages, in whichever published situation takes most: up to N³ where all flood a complete network, N² where everybody asks everybody, N log N or N round a ring.") },
  { name: "election-cheapest", title: say("Messages, cheapest situation of each"), figure: "messages", most: false, unit: say("messages"),
    text: say("In whichever takes least: in proportion to N for most, since everybody has to hear of the leader.") },
  { name: "election-longest", title: say("Time, longest situation of each"), figure: "time", most: true, unit: "T", axis: say("time in T"),
    text: say("From the call until everybody knows the leader. Who asks everybody at once is done in a few T at any N; a ring takes its rounds.") },
];

/** @type {Record<string, string>} */
const FIGURE_TITLES = { messages: say("Messages"), all_messages: say("Messages of all kinds"), time: say("Time, in T") };

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
  /** @type {Row[]} */
  let rows = [];
  /** @type {Curve[]} */
  let curves = [];
  const look = looks(infos);
  const overviews = OVERVIEWS.map((overview) => ({ overview, drawn: plot() }));
  const details = infos.map((info) => casePlot(info));
  const names = legend({ hidden: comparison.hidden, light: (name) => overviews.forEach(({ drawn }) => drawn.light(name)), changed: () => {
    draw();
    changed();
  } });
  const table = resultTable({ figureTitle: (figure) => FIGURE_TITLES[figure] ?? figure, cases: true });
  const verdict = h("p", { class: "verdict", role: "status", "data-test": "verdict" });
  const command = h("div");
  const run = h("button", { type: "submit", class: "primary", "data-test": "compare-run" }, say("Compare"));
  const work = job({ name: say("Comparison"), changed: (running) => { run.disabled = running; } });
  const problem = h("div");

  const included = () => infos.filter((info) => comparison.compared.length === 0 || comparison.compared.includes(info.name));
  const shown = () => included().filter((info) => !comparison.hidden.has(info.name));
  const draw = () => {
    const axes = { xLabel: say("nodes N"), xLog: comparison.x === "log", xMarks: sizesIn(rows) };
    for (const { overview, drawn } of overviews) {
      const series = shown().flatMap((info) => extremes(info.name, overview, rows, look.get(info.name)));
      drawn.show({ title: overview.title, yLabel: overview.axis ?? overview.unit, yLog: logOf(comparison.y, series), series, ...axes });
    }
    for (const one of details) {
      one.element.hidden = !shown().includes(one.info);
      if (!one.element.hidden) one.show(rows, curves, comparison, axes);
    }
    table.show(rows.filter((row) => !comparison.hidden.has(row.algorithm)));
  };
  const schedule = oncePerMoment(draw);
  const compare = () => {
    problem.replaceChildren();
    try {
      const body = { elections: true, algorithms: included().map((info) => info.name), nodes: sizesOf(comparison.sizes), seeds: whole(comparison.seeds, say("Seeds")) };
      [rows, curves] = [[], []];
      verdict.replaceChildren();
      command.replaceChildren();
      names.fill(included().map((info) => ({ name: info.name, hint: info.title, ...(look.get(info.name) ?? nthLook(0)) })));
      draw();
      changed();
      work.run("/lab/compare", { body, on: { rows: (more) => {
        rows.push(...more);
        schedule.ask();
      } }, result: (result) => {
        ({ rows, curves } = result);
        verdict.replaceChildren(...verdictOf(rows));
        command.replaceChildren(commandLine(result.command));
        draw();
      } });
    } catch (error) {
      problem.replaceChildren(complaint(error));
    }
  };

  const form = h("form", { class: "panel comparison-form", onsubmit: (/** @type {Event} */ event) => {
    event.preventDefault();
    compare();
  } },
  h("div", { class: "fields" },
    algorithmTicks(comparison, infos, look),
    withPresets(say("Nodes N"), SIZES, comparison.sizes, (sizes) => { comparison.sizes = sizes; }, say("Sizes to run, separated by commas"), "sizes").element,
    field(say("Seeds"), entry(comparison.seeds, (seeds) => { comparison.seeds = seeds; }, { size: 5, inputmode: "numeric", "data-test": "compare-seeds" }),
      say("Random rings where the figure is a mean")),
    axisControls(comparison, () => {
      draw();
      changed();
    }),
    run),
  problem, work.element);

  return {
    element: h("section", { class: "election-comparison", "aria-label": say("Elections compared") },
      h("header", {}, h("h2", {}, say("All of them: best, average, worst")),
        h("p", { class: "muted" }, say("Each election in each situation for which figures are published. Marks are measured, thin lines are the formulas; bands lie between bounds."))),
      form, h("div", { class: "legend-bar" }, names.element),
      h("div", { class: "plot-grid", "data-test": "plots" },
        overviews.map(({ overview, drawn }) => plotPanel({ ...overview, load: "", kind: "" }, drawn)), details.map((one) => one.element)),
      h("section", { class: "panel" },
        h("div", { class: "toolbar" }, h("h2", {}, say("Claim beside measurement")), h("span", { class: "grow" }),
          h("button", { type: "button", "data-test": "csv", onclick: () => download("elections.csv", csv(rows), "text/csv") }, say("Download CSV"))),
        verdict, table.element, command)),
    compare,
    end() {
      work.cancel();
      schedule.cancel();
    },
  };
}

/**
 * Of the situations of an algorithm the row that is extreme at each N.
 * @param {string} algorithm
 * @param {typeof OVERVIEWS[number]} overview
 * @param {Row[]} rows
 * @param {import("../compare/look.js").Look | undefined} look
 * @returns {Series[]}
 */
function extremes(algorithm, { figure, most, unit }, rows, look) {
  const total = withAllKinds(rows.filter((row) => row.algorithm === algorithm), figure);
  const best = sizesIn(total).map((nodes) => total.filter((row) => row.nodes === nodes && row.measured)
    .reduce((/** @type {Row | undefined} */ found, row) => {
      const further = (row.measured?.mean ?? 0) - (found?.measured?.mean ?? 0);
      return !found || (most ? further > 0 : further < 0) ? row : found;
    }, undefined)).filter((row) => row !== undefined);
  return look && best.length > 0 ? [seriesOf(algorithm, look, best, undefined, unit)] : [];
}

/**
 * Rows of a figure; of messages all kinds, where a claim counts only some of them.
 * @param {Row[]} rows
 * @param {string} figure
 */
function withAllKinds(rows, figure) {
  const total = rows.filter((row) => row.figure === `all_${figure}`);
  const counted = (/** @type {Row} */ row) => total.some((other) => other.case === row.case && other.nodes === row.nodes);
  return [...rows.filter((row) => row.figure === figure && !counted(row)), ...total];
}

/**
 * The messages of one algorithm, a series for each situation.
 * @param {Info} info
 */
function casePlot(info) {
  const drawn = plot();
  const key = h("ul", { class: "legend case-legend" });
  const element = plotPanel({ name: `election-${info.name}`, title: say("{title}: messages", { title: info.title }), unit: say("messages"), load: "", kind: "", text: "" }, drawn);
  element.querySelector("figcaption")?.replaceWith(key);
  return {
    info,
    element,
    /**
     * @param {Row[]} rows
     * @param {Curve[]} curves
     * @param {Comparison} comparison
     * @param {{ xLabel: string, xLog: boolean, xMarks: number[] }} axes
     */
    show(rows, curves, comparison, axes) {
      const own = rows.filter((row) => row.algorithm === info.name && row.figure === "messages");
      const cases = [...new Set(own.map((row) => row.case ?? ""))];
      const series = cases.map((name, i) => seriesOf(translated(name), nthLook(i), own.filter((row) => row.case === name),
        curves.find((curve) => curve.algorithm === info.name && curve.case === name && curve.figure === "messages"), say("messages")));
      drawn.show({ title: say("{title}: messages", { title: info.title }), yLabel: say("messages"), yLog: logOf(comparison.y, series), series, ...axes });
      key.replaceChildren(...series.map((one) => h("li", {
        onpointerenter: () => drawn.light(one.name), onpointerleave: () => drawn.light(null),
      }, symbol(one), h("span", {}, one.name))));
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
