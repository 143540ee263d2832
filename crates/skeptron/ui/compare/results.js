// What a comparison found: which figures are seen, the plots, the table, files.
import { h, clear, complaint } from "../lib/dom.js";
import { commandLine } from "../lib/command.js";
import { choice } from "../lib/form.js";
import { download } from "../lib/files.js";
import { plot } from "../lib/plot.js";
import { legend } from "../lib/legend.js";
import { enumerated, say, translated } from "../lib/language.js";
import { FIGURES, KINDS, LOADS, logOf, seriesOf } from "./figures.js";
import { csv, resultTable } from "./table.js";

/** @typedef {import("../wire.js").CompareRow} Row */
/** @typedef {import("../wire.js").CompareResult} Result */
/** @typedef {"auto" | "log" | "linear"} Axis */
/** @typedef {{ loads: Set<string>, kinds: Set<string>, x: Axis, y: Axis, hidden: Set<string> }} Sight which part of the results is seen, and how */

/** What is compared, and how it is drawn. */
export const ABOUT = say("Every algorithm runs with a lone requester, with one requester at a time, and saturated. Marks are measured, thin lines are the published formulas.");

const ALL_KINDS = KINDS.map((kind) => kind.name);
const FIRST_LOADS = ["saturated", "first", "uniform"];

/**
 * What the address says of it.
 * @param {URLSearchParams} params
 * @returns {Sight}
 */
export function sightOf(params) {
  const list = (/** @type {string} */ name, /** @type {string[]} */ otherwise) =>
    new Set(params.has(name) ? params.get(name)?.split(",").filter(Boolean) : otherwise);
  return {
    loads: list("loads", FIRST_LOADS),
    kinds: list("kinds", ALL_KINDS),
    x: params.get("x") === "linear" ? "linear" : "log",
    y: axisOf(params.get("y")),
    hidden: list("hide", []),
  };
}

/**
 * The kind of axis that a text names; `auto` if none.
 * @param {string | null} text
 * @returns {Axis}
 */
export function axisOf(text) {
  return text === "log" || text === "linear" ? text : "auto";
}

/**
 * What of it differs from a first visit.
 * @param {Sight} sight
 * @returns {Record<string, string>}
 */
export function paramsOfSight({ loads, kinds, x, y, hidden }) {
  const differs = (/** @type {Set<string>} */ now, /** @type {string[]} */ first) => now.size !== first.length || first.some((name) => !now.has(name));
  return {
    ...(differs(loads, FIRST_LOADS) ? { loads: [...loads].join(",") } : {}),
    ...(differs(kinds, ALL_KINDS) ? { kinds: [...kinds].join(",") } : {}),
    ...(x !== "log" ? { x } : {}), ...(y !== "auto" ? { y } : {}),
    ...(hidden.size > 0 ? { hide: [...hidden].join(",") } : {}),
  };
}

/**
 * The results; they are drawn as rows come.
 * @param {Sight} sight is changed in place
 * @param {() => void} changed is told afterwards
 */
export function results(sight, changed) {
  /** @type {Row[]} */
  let rows = [];
  /** @type {import("./figures.js").Curve[]} */
  let curves = [];
  /** @type {string[]} */
  let compared = [];
  /** @type {import("../wire.js").AlgorithmInfo[]} */
  let infos = [];
  /** @type {Map<string, import("./look.js").Look>} */
  let looks = new Map();

  const place = h("div", { "aria-live": "polite" });
  const plots = new Map(FIGURES.map((figure) => [figure.name, plot()]));
  const light = (/** @type {string | null} */ name) => plots.forEach((one) => one.light(name));
  const names = legend({ hidden: sight.hidden, light, changed: () => {
    draw();
    changed();
  } });
  const table = resultTable({ figureTitle: titleOf });
  const grid = h("div", { class: "plot-grid", "data-test": "plots" });
  const verdict = h("p", { class: "verdict", role: "status", "data-test": "verdict" });
  const command = h("div");
  const arrange = () => {
    grid.replaceChildren(...visibleFigures(sight).map((figure) => plotPanel(figure, plots.get(figure.name))));
    if (grid.childElementCount === 0) grid.append(h("p", { class: "notice" }, say("No figure is measured under these loads: tick more above.")));
    draw();
  };
  const draw = () => {
    const shown = compared.filter((name) => !sight.hidden.has(name));
    for (const figure of visibleFigures(sight)) {
      plots.get(figure.name)?.show(pictureOf(figure, rows, curves, shown, looks, sight));
    }
    const seen = new Set(visibleFigures(sight).map((figure) => figure.name));
    table.show(rows.filter((row) => seen.has(row.figure) && shown.includes(row.algorithm)));
  };
  const schedule = oncePerMoment(draw);
  const sightChanged = () => {
    arrange();
    changed();
  };

  const element = h("div", { class: "compare-results" },
    h("div", { class: "panel sight" }, place, sightControls(sight, sightChanged)),
    h("div", { class: "legend-bar" }, names.element),
    grid,
    h("section", { class: "panel" },
      h("div", { class: "toolbar" }, h("h2", {}, say("Claim beside measurement")), h("span", { class: "grow" }),
        h("button", { type: "button", "data-test": "csv", onclick: () => download("comparison.csv", csv(rows), "text/csv") }, say("Download CSV"))),
      verdict, table.element, command));

  return {
    element,
    /** @param {import("../wire.js").AlgorithmInfo[]} all @param {Map<string, import("./look.js").Look>} look */
    dress(all, look) {
      infos = all;
      looks = look;
    },
    /** Says what is wrong with the question; null: nothing. @param {unknown} error */
    complain(error) {
      clear(place);
      if (error) place.append(complaint(error));
    },
    /** A comparison of these begins. @param {string[]} algorithms */
    begin(algorithms) {
      [rows, curves, compared] = [[], [], algorithms];
      verdict.textContent = "";
      clear(command);
      const entry = (/** @type {string} */ name) => ({
        name, hint: infos.find((info) => info.name === name)?.title, ...(looks.get(name) ?? { colour: "series-1", shape: /** @type {const} */ ("circle") }),
      });
      names.fill(algorithms.map(entry));
      arrange();
    },
    /** @param {Row[]} more */
    add(more) {
      rows.push(...more);
      schedule.ask();
    },
    /** @param {Result} result */
    finish(result) {
      rows = result.rows;
      curves = result.curves;
      verdict.replaceChildren(...verdictOf(rows));
      command.replaceChildren(commandLine(result.command));
      draw();
    },
    end: schedule.cancel,
  };
}

/** @param {string} figure */
function titleOf(figure) {
  return FIGURES.find((one) => one.name === figure)?.title ?? figure;
}

/** @param {Sight} sight */
function visibleFigures({ loads, kinds }) {
  return FIGURES.filter((figure) => loads.has(figure.load) && kinds.has(figure.kind));
}

/**
 * A plot with its title, what there is to see, and a button that saves it.
 * @param {import("./figures.js").Figure} figure
 * @param {import("../lib/plot.js").Plot | undefined} drawn
 * @returns {HTMLElement}
 */
export function plotPanel({ name, title, text }, drawn) {
  const save = h("button", {
    type: "button", class: "quiet small", title: say("Download this plot as SVG"), "aria-label": say("Download “{title}” as SVG", { title }), "data-test": "svg",
    onclick: () => drawn?.save(`${name.replaceAll("_", "-")}.svg`),
  }, "SVG");
  return h("figure", { class: "panel plot-panel", "data-figure": name },
    h("div", { class: "toolbar" }, h("h2", {}, title), h("span", { class: "grow" }), save),
    drawn?.element, h("figcaption", { class: "small muted" }, text));
}

/**
 * @param {import("./figures.js").Figure} figure
 * @param {Row[]} rows
 * @param {import("./figures.js").Curve[]} curves
 * @param {string[]} shown
 * @param {Map<string, import("./look.js").Look>} looks
 * @param {Sight} sight
 * @returns {import("../lib/plot.js").Picture}
 */
function pictureOf(figure, rows, curves, shown, looks, sight) {
  const series = shown.flatMap((name) => {
    const look = looks.get(name);
    const own = rows.filter((row) => row.algorithm === name && row.figure === figure.name);
    const curve = curves.find((one) => one.algorithm === name && one.figure === figure.name);
    return look && own.length > 0 ? [seriesOf(name, look, own, curve, figure.unit)] : [];
  });
  return {
    title: figure.title, xLabel: say("nodes N"), yLabel: figure.axis ?? figure.unit, series,
    xLog: sight.x === "log", yLog: logOf(sight.y, series), xMarks: sizesIn(rows),
  };
}

/**
 * The sizes that were measured, ascending.
 * @param {Row[]} rows
 * @returns {number[]}
 */
export function sizesIn(rows) {
  return [...new Set(rows.map((row) => row.nodes))].sort((a, b) => a - b);
}

/**
 * How many claims hold, in words.
 * @param {Row[]} rows
 * @returns {(Node | string)[]}
 */
export function verdictOf(rows) {
  const judged = rows.filter((row) => row.holds !== null);
  const missed = judged.filter((row) => row.holds === false).length;
  const others = elsewhere(rows);
  if (judged.length === 0) return [h("span", {}, others.length > 0 ? say("No claim is made for these settings.") : say("Nothing was judged: one run of chance has no interval; take more seeds.")), ...others];
  if (missed === 0) return [h("span", { class: "chip good" }, say("✓ all {n} claims hold", { n: judged.length })), ...others];
  return [h("span", { class: "chip bad" }, say("✗ {missed} of {judged} claims missed", { missed, judged: judged.length })), ...others];
}

/**
 * The claims that are not compared, by what they need.
 * @param {Row[]} rows
 * @returns {HTMLElement[]}
 */
function elsewhere(rows) {
  /** @type {Map<string, Set<string>>} */
  const needs = new Map();
  for (const { not_compared: other, algorithm } of rows) {
    if (!other) continue;
    const need = enumerated(other.needs.map(translated));
    needs.set(need, (needs.get(need) ?? new Set()).add(algorithm));
  }
  return [...needs].map(([need, algorithms]) => h("span", { class: "small muted", "data-test": "elsewhere" }, ` ${say("Not compared: claims that need {need} ({algorithms}).", { need, algorithms: [...algorithms].join(", ") })}`));
}

/**
 * @param {Sight} sight
 * @param {() => void} changed
 */
function sightControls(sight, changed) {
  const ticks = (/** @type {string} */ label, /** @type {{ name: string, title: string }[]} */ all, /** @type {Set<string>} */ chosen) =>
    h("fieldset", { class: "ticks" }, h("legend", {}, label), all.map(({ name, title }) => {
      const tick = h("input", { type: "checkbox", "data-test": `see-${name}`, onchange: () => {
        if (!chosen.delete(name)) chosen.add(name);
        changed();
      } });
      tick.checked = chosen.has(name);
      return h("label", { class: "tick" }, tick, title);
    }));
  return h("div", { class: "sight-controls" },
    ticks(say("Load"), LOADS, sight.loads), ticks(say("Figures"), KINDS, sight.kinds),
    axisControls(sight, changed));
}

/**
 * The choice between linear and logarithmic axes.
 * @param {{ x: Axis, y: Axis }} sight is changed in place
 * @param {() => void} changed is told afterwards
 * @returns {HTMLElement}
 */
export function axisControls(sight, changed) {
  const scales = [{ value: "log", title: say("log") }, { value: "linear", title: say("linear") }];
  const set = (/** @type {"x" | "y"} */ name) => (/** @type {string} */ value) => {
    sight[name] = axisOf(value);
    changed();
  };
  return h("fieldset", { class: "ticks" }, h("legend", {}, say("Axes")),
    h("label", { class: "tick" }, "N", choice(scales, sight.x, set("x"), { "data-test": "x-axis" })),
    h("label", { class: "tick", title: say("auto: logarithmic where values range far") }, say("figure"),
      choice([{ value: "auto", title: say("auto") }, ...scales], sight.y, set("y"), { "data-test": "y-axis" })));
}

/**
 * Does something soon, however often it is asked for: rows may come faster than they can be drawn.
 * @param {() => void} deed
 * @returns {{ ask: () => void, cancel: () => void }}
 */
export function oncePerMoment(deed) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let waiting;
  return {
    ask() {
      waiting ??= setTimeout(() => {
        waiting = undefined;
        deed();
      }, 150);
    },
    cancel: () => clearTimeout(waiting),
  };
}
