// A sweep that a file carries: each figure over one of its axes, with a line for each value of the others.
import { h, clear, complaint, english } from "../lib/dom.js";
import { note } from "../lib/address.js";
import { short } from "../lib/axes.js";
import { algorithms, choice, field } from "../lib/form.js";
import { legend } from "../lib/legend.js";
import { plot } from "../lib/plot.js";
import { recordedAnswer } from "../lib/recorded.js";
import { sheet } from "../lib/sheet.js";
import { say } from "../lib/language.js";
import { logOf } from "../compare/figures.js";
import { looks, nthLook } from "../compare/look.js";
import { axisControls, axisOf, plotPanel } from "../compare/results.js";
import { figureOf } from "./figures.js";

/** @typedef {import("../wire.js").SweepReport} Report */
/** @typedef {import("../compare/look.js").Look} Look */
/**
 * What is seen: `over` is the axis below the plots, `at` the value of each other option; without one it has a line each.
 * @typedef {{ over: string, at: Map<string, string>, x: "auto" | "log" | "linear", y: "auto" | "log" | "linear", hidden: Set<string> }} Sight
 */
/** @typedef {{ name: string, look: Look, points: { x: number, place: number }[] }} Line `place` is that of the point in the report */

/** What stands for a line of each value. */
const EACH = "*";

/**
 * Shows the view.
 * @param {HTMLElement} root
 * @param {import("../lib/address.js").Address} address
 * @returns {() => void}
 */
export function show(root, { params }) {
  sheet("/ui/compare/view.css");
  const report = /** @type {Report} */ (recordedAnswer("/lab/sweep"));
  document.title = say("Sweep: {file}", { file: report.file });
  const page = h("div", { class: "page compare" },
    h("header", {}, h("h1", {}, document.title),
      h("p", { class: "grow" }, say("{points} points with {seeds} seeds each. Marks are means over the seeds, bars their 95 % intervals.", { points: report.points.length, seeds: report.seeds }))),
    fixedOptions(report), failures(report));
  root.append(page);
  let ended = false;
  algorithms().then((infos) => {
    if (!ended) page.append(results(report, looks(infos), sightOf(report, params)));
  }).catch((error) => page.append(complaint(error)));
  return () => { ended = true; };
}

/** The options in which points differ. @param {Report} report */
function varied({ columns }) {
  return columns.filter(({ values }) => values.length > 1);
}

/** Those of them that are numbers: they can be below a plot. @param {Report} report */
function numeric(report) {
  return varied(report).filter(({ values }) => values.every((value) => value.trim() !== "" && Number.isFinite(Number(value))));
}

/** @param {Report} report */
function fixedOptions({ columns }) {
  const fixed = columns.filter(({ values }) => values.length === 1).map(({ name, values }) => `${name} ${values[0]}`);
  return fixed.length > 0 ? h("p", { class: "small muted", "data-test": "settings" }, say("Settings:"), " ", english(fixed.join(", "))) : null;
}

/** @param {Report} report */
function failures({ failed }) {
  const runs = failed.reduce((sum, count) => sum + count, 0);
  return runs > 0 ? h("p", { "data-test": "failed" }, h("span", { class: "chip bad" }, say("✗ {n} runs violated a property or stalled", { n: runs }))) : null;
}

/**
 * What the address says; else everything over the first axis, with a line for each algorithm.
 * @param {Report} report
 * @param {URLSearchParams} params
 * @returns {Sight}
 */
function sightOf(report, params) {
  const axes = numeric(report).map(({ name }) => name);
  const asked = params.get("over") ?? "nodes";
  const at = varied(report).map(({ name, values }) => /** @type {[string, string]} */ ([name, params.get(`at-${name}`) ?? (name === "algorithm" ? EACH : values[0])]));
  return {
    over: axes.includes(asked) ? asked : axes[0] ?? "nodes",
    at: new Map(at), x: params.get("x") === "linear" ? "linear" : "log", y: axisOf(params.get("y")),
    hidden: new Set(params.get("hide")?.split(",").filter(Boolean)),
  };
}

/** @param {Sight} sight @returns {Record<string, string>} */
function paramsOf({ over, at, x, y, hidden }) {
  const chosen = [...at].map(([name, value]) => [`at-${name}`, value]);
  return { over, x, y, hide: [...hidden].join(","), ...Object.fromEntries(chosen) };
}

/**
 * @param {Report} report
 * @param {Map<string, Look>} known how the algorithms look
 * @param {Sight} sight is changed in place
 * @returns {HTMLElement}
 */
function results(report, known, sight) {
  const plots = new Map(report.figures.map((figure) => [figure, plot()]));
  const names = legend({ hidden: sight.hidden, light: (name) => plots.forEach((one) => one.light(name)), changed: () => draw() });
  const controls = h("div", { class: "sight-controls" });
  const body = h("tbody");
  const head = h("tr");
  const draw = () => {
    const shown = linesOf(report, known, sight).filter(({ name }) => !sight.hidden.has(name));
    for (const figure of report.figures) plots.get(figure)?.show(pictureOf(report, figure, shown, sight));
    fillTable(report, shown, sight, head, body);
    note("sweep", paramsOf(sight));
  };
  const arrange = () => {
    controls.replaceChildren(...controlsOf(report, sight, arrange, draw));
    names.fill(linesOf(report, known, sight).map(({ name, look }) => ({ name, ...look })));
    draw();
  };
  const element = h("div", { class: "compare-results" },
    h("div", { class: "panel sight" }, controls),
    h("div", { class: "legend-bar" }, names.element),
    h("div", { class: "plot-grid", "data-test": "plots" },
      report.figures.map((name) => plotPanel({ ...figureOf(name), load: "", kind: "" }, plots.get(name)))),
    h("section", { class: "panel" }, h("h2", {}, say("Table")),
      h("div", { class: "scroll result-table", tabindex: 0, role: "region", "aria-label": say("Table") },
        h("table", { class: "data", "data-test": "table" }, h("thead", {}, head), body))));
  arrange();
  return element;
}

/**
 * @param {Report} report
 * @param {Sight} sight is changed in place
 * @param {() => void} arranged is told when other lines are seen
 * @param {() => void} drawn is told when the same are seen otherwise
 */
function controlsOf(report, sight, arranged, drawn) {
  const axes = numeric(report).map(({ name }) => ({ value: name, title: name, lang: "en" }));
  const over = choice(axes, sight.over, (name) => {
    sight.over = name;
    arranged();
  }, { "data-test": "over" });
  const others = varied(report).filter(({ name }) => name !== sight.over).map(({ name, values }) => {
    const choices = [{ value: EACH, title: say("a line each") }, ...values.map((value) => ({ value, title: value, lang: "en" }))];
    return field(name, choice(choices, sight.at.get(name) ?? EACH, (value) => {
      sight.at.set(name, value);
      sight.hidden.clear();
      arranged();
    }, { "data-test": `at-${name}` }));
  });
  return [axes.length > 0 ? field(say("Over"), over) : null, ...others, axisControls(sight, drawn)].filter((control) => control !== null);
}

/**
 * The lines that are seen, hidden ones included.
 * @param {Report} report
 * @param {Map<string, Look>} known
 * @param {Sight} sight
 * @returns {Line[]}
 */
function linesOf(report, known, { over, at }) {
  const value = (/** @type {(number | null)[]} */ point, /** @type {number} */ column) => {
    const place = point[column];
    return place === null ? null : report.columns[column].values[place];
  };
  const overAt = report.columns.findIndex(({ name }) => name === over);
  const others = report.columns.map((_, column) => column).filter((column) => column !== overAt && report.columns[column].values.length > 1);
  /** @type {Map<string, { x: number, place: number }[]>} */
  const found = new Map();
  report.points.forEach((point, place) => {
    // An algorithm that does not take an option is seen whatever that is.
    const isSeen = others.every((column) => {
      const [wanted, is] = [at.get(report.columns[column].name) ?? EACH, value(point, column)];
      return wanted === EACH || is === null || is === wanted;
    });
    if (!isSeen) return;
    const apart = others.filter((column) => (at.get(report.columns[column].name) ?? EACH) === EACH);
    const name = apart.flatMap((column) => value(point, column) ?? []).join(" · ") || value(point, 0) || "";
    found.set(name, [...found.get(name) ?? [], { x: Number(value(point, overAt)), place }]);
  });
  // An algorithm looks as everywhere; lines of other kinds would look like some of them.
  const plain = [...found.keys()].every((name) => known.has(name));
  return [...found].map(([name, points], n) => ({
    name, look: (plain ? known.get(name) : undefined) ?? nthLook(n), points: points.sort((a, b) => a.x - b.x),
  }));
}

/**
 * @param {Report} report
 * @param {string} figure
 * @param {Line[]} lines
 * @param {Sight} sight
 * @returns {import("../lib/plot.js").Picture}
 */
function pictureOf(report, figure, lines, { over, x, y }) {
  const { title, unit } = figureOf(figure);
  const series = lines.flatMap(({ name, look, points }) => {
    const marks = points.flatMap(({ x, place }) => {
      const estimate = estimateOf(report, place, figure);
      if (!estimate) return [];
      const { mean, half_width } = estimate;
      const text = `${name}, ${over} = ${short(x)}: ${estimateText(estimate)} ${unit}`;
      return [{ x, y: mean, low: Math.max(0, mean - half_width), high: mean + half_width, text }];
    });
    return marks.length > 0 ? [{ name, ...look, points: marks }] : [];
  });
  const xs = [...new Set(lines.flatMap(({ points }) => points.map((point) => point.x)))].sort((a, b) => a - b);
  return {
    title, xLabel: over === "nodes" ? say("nodes N") : over, yLabel: unit, series, xMarks: xs,
    xLog: x === "log", yLog: logOf(y, series),
  };
}

/** @param {Report} report @param {number} place @param {string} figure */
function estimateOf(report, place, figure) {
  return report.estimates[place][report.figures.indexOf(figure)];
}

/** @param {import("../wire.js").Estimate} estimate */
function estimateText({ mean, half_width }) {
  return short(mean) + (half_width > 0 ? ` ± ${short(half_width)}` : "");
}

/**
 * @param {Report} report
 * @param {Line[]} lines
 * @param {Sight} sight
 * @param {HTMLElement} head
 * @param {HTMLElement} body
 */
function fillTable(report, lines, { over }, head, body) {
  const title = (/** @type {string} */ text, number = true) => h("th", { scope: "col", class: number ? "number" : "" }, text);
  clear(head);
  head.append(title(say("Line"), false), title(over === "nodes" ? "N" : over), ...report.figures.map((figure) => title(figureOf(figure).title)));
  clear(body);
  body.append(...lines.flatMap(({ name, points }) => points.map(({ x, place }) => h("tr", { class: report.failed[place] > 0 ? "missed" : "" },
    h("td", {}, name), h("td", { class: "number" }, short(x)),
    report.figures.map((figure) => {
      const estimate = estimateOf(report, place, figure);
      return h("td", { class: "number" }, estimate ? estimateText(estimate) : "–");
    })))));
}
