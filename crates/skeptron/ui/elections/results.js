// What a comparison of elections found: the plots, the table, a file.
import { h } from "../lib/dom.js";
import { commandLine } from "../lib/command.js";
import { download } from "../lib/files.js";
import { plot, symbol } from "../lib/plot.js";
import { legend } from "../lib/legend.js";
import { say, translated } from "../lib/language.js";
import { logOf, seriesOf } from "../compare/figures.js";
import { looks, nthLook } from "../compare/look.js";
import { oncePerMoment, plotPanel, sizesIn, verdictOf } from "../compare/results.js";
import { csv, resultTable } from "../compare/table.js";

/** @typedef {import("../wire.js").CompareRow} Row */
/** @typedef {import("../wire.js").CompareCurve} Curve */
/** @typedef {import("../wire.js").AlgorithmInfo} Info */
/** @typedef {import("../lib/plot.js").Series} Series */
/** @typedef {import("./comparison.js").Comparison} Comparison */

/** What is compared, and how it is drawn. */
export const ABOUT = say("Each election in each situation for which figures are published. Marks are measured, thin lines are the formulas; bands lie between bounds.");

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
 * Those of the algorithms that are compared.
 * @param {Comparison} comparison
 * @param {Info[]} infos
 * @returns {Info[]}
 */
export function included({ compared }, infos) {
  return infos.filter((info) => compared.length === 0 || compared.includes(info.name));
}

/**
 * The results; they are drawn as rows come.
 * @param {Comparison} comparison is changed in place
 * @param {Info[]} infos all correct elections
 * @param {() => void} changed is told afterwards
 */
export function electionResults(comparison, infos, changed) {
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

  const shown = () => included(comparison, infos).filter((info) => !comparison.hidden.has(info.name));
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

  return {
    /** What is to be put one below the other. */
    parts: [
      h("div", { class: "legend-bar" }, names.element),
      h("div", { class: "plot-grid", "data-test": "plots" },
        overviews.map(({ overview, drawn }) => plotPanel({ ...overview, load: "", kind: "" }, drawn)), details.map((one) => one.element)),
      h("section", { class: "panel" },
        h("div", { class: "toolbar" }, h("h2", {}, say("Claim beside measurement")), h("span", { class: "grow" }),
          h("button", { type: "button", "data-test": "csv", onclick: () => download("elections.csv", csv(rows), "text/csv") }, say("Download CSV"))),
        verdict, table.element, command),
    ],
    draw,
    /** A comparison begins. */
    begin() {
      [rows, curves] = [[], []];
      verdict.replaceChildren();
      command.replaceChildren();
      names.fill(included(comparison, infos).map((info) => ({ name: info.name, hint: info.title, ...(look.get(info.name) ?? nthLook(0)) })));
      draw();
    },
    /** @param {Row[]} more */
    add(more) {
      rows.push(...more);
      schedule.ask();
    },
    /** @param {import("../wire.js").CompareResult} result */
    finish(result) {
      ({ rows, curves } = result);
      verdict.replaceChildren(...verdictOf(rows));
      command.replaceChildren(commandLine(result.command));
      draw();
    },
    end: schedule.cancel,
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
