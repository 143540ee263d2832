// A comparison that a file carries: the same plots and tables as in Compare and Elections, without a question, and a short
// run of each algorithm.
import { h, complaint, english, picture } from "../lib/dom.js";
import { note } from "../lib/address.js";
import { commandLine } from "../lib/command.js";
import { algorithms } from "../lib/form.js";
import { recordedAnswer } from "../lib/recorded.js";
import { sheet } from "../lib/sheet.js";
import { say } from "../lib/language.js";
import { comparisonOf, paramsOfComparison } from "../elections/comparison.js";
import { ABOUT as ABOUT_ELECTIONS, electionResults } from "../elections/results.js";
import { LOADS } from "./figures.js";
import { looks } from "./look.js";
import { ABOUT, axisControls, paramsOfSight, results, sightOf } from "./results.js";

/** @typedef {import("../wire.js").CompareReport} Report */
/** @typedef {import("../wire.js").AlgorithmInfo} Info */
/** @typedef {{ element: HTMLElement, end: () => void }} Shown */

/**
 * Shows the view.
 * @param {HTMLElement} root
 * @param {import("../lib/address.js").Address} address
 * @returns {() => void}
 */
export function show(root, { params }) {
  sheet("/ui/compare/view.css");
  sheet("/ui/elections/view.css");
  const report = /** @type {Report} */ (recordedAnswer("/lab/compare"));
  document.title = report.elections ? say("Elections: claimed and measured") : say("Distributed mutual exclusion: claimed and measured");
  const page = h("div", { class: "page compare" },
    h("header", {}, h("h1", {}, document.title), h("p", { class: "grow" }, report.elections ? ABOUT_ELECTIONS : ABOUT)),
    h("p", { class: "small muted", "data-test": "settings" }, say("Settings:"), " ", english(report.settings)));
  root.append(page);
  let end = () => {};
  let ended = false;
  algorithms().then((infos) => {
    if (ended) return;
    const shown = report.elections ? electionFigures(report, infos, params) : mutexFigures(report, infos, params);
    end = shown.end;
    page.append(shown.element, diagrams(report, infos));
  }).catch((error) => page.append(complaint(error)));
  return () => {
    ended = true;
    end();
  };
}

/** @param {Report} report @returns {string[]} */
function compared({ result }) {
  return [...new Set(result.rows.map((row) => row.algorithm))];
}

/**
 * @param {Report} report
 * @param {Info[]} infos
 * @param {URLSearchParams} params
 * @returns {Shown}
 */
function mutexFigures(report, infos, params) {
  // All that was measured, where the address does not say what to leave out.
  if (!params.has("loads")) params.set("loads", LOADS.map((load) => load.name).join(","));
  const sight = sightOf(params);
  const shown = results(sight, () => note("compare", { ...paramsOfSight(sight), loads: [...sight.loads].join(",") }));
  shown.dress(infos, looks(infos));
  shown.begin(compared(report));
  shown.finish(report.result);
  return shown;
}

/**
 * @param {Report} report
 * @param {Info[]} infos
 * @param {URLSearchParams} params
 * @returns {Shown}
 */
function electionFigures(report, infos, params) {
  const comparison = { ...comparisonOf(params), compared: compared(report) };
  const noteNow = () => note("compare", paramsOfComparison({ ...comparison, compared: [] }));
  const shown = electionResults(comparison, infos, noteNow);
  shown.begin();
  shown.finish(report.result);
  const axes = axisControls(comparison, () => {
    shown.draw();
    noteNow();
  });
  return { element: h("div", { class: "election-comparison" }, h("div", { class: "panel sight" }, axes), shown.parts), end: shown.end };
}

/**
 * @param {Report} report
 * @param {Info[]} infos
 * @returns {HTMLElement}
 */
function diagrams(report, infos) {
  return h("section", { class: "panel diagrams", "data-test": "diagrams" },
    h("h2", {}, say("In space and time")),
    h("p", { class: "muted" }, say("A short run of each algorithm."), " ", say("Point at an arrow or a bar to read what it is.")),
    report.diagrams.map(({ algorithm, svg, command }) => {
      const info = infos.find((one) => one.name === algorithm);
      const title = info?.title ?? algorithm;
      return h("figure", { "data-algorithm": algorithm },
        h("h3", {}, title), h("p", {}, info?.idea.split(/(?<=\.)\s/)[0]),
        h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": say("{title} in space and time", { title }) }, picture(svg)),
        h("figcaption", {}, commandLine(command)));
    }));
}
