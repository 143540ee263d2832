// How often each node is asked: bars, one for each node, and the strategy behind them.
import { h, english } from "../lib/dom.js";
import { say } from "../lib/language.js";
import { braced, figure } from "./numbers.js";

/** @typedef {import("../wire.js").QuorumReport} QuorumReport */
/** @typedef {import("../wire.js").QuorumShare} QuorumShare */

/** More are not listed one by one. */
const MOST_LISTED = 200;

/**
 * @param {QuorumReport} report
 * @param {(node: number) => void} chosen
 * @returns {HTMLElement}
 */
export function loadPanel(report, chosen) {
  const asked = loads(report.strategy, report.nodes);
  const most = Math.max(...asked, 1e-9);
  // Some room above, for what is written there.
  const full = 1.2 * most;
  const numbered = report.nodes <= 40;
  const bars = asked.map((load, i) => {
    const bar = h("span", { class: "bar" });
    bar.style.height = `${(100 * load) / full}%`;
    const says = say("P{i} is asked for {load} of the entries", { i: i + 1, load: figure(load) });
    const column = h("button", { type: "button", class: "bar-column", title: says, "aria-label": say("Node {i} is asked for {load} of the entries", { i: i + 1, load: figure(load) }), onclick: () => chosen(i + 1), tabindex: numbered ? 0 : -1 },
      h("span", { class: "bar-room" }, bar), numbered ? h("span", { class: "small" }, i + 1) : null);
    return column;
  });
  return h("section", { class: "panel load", "data-test": "load" },
    h("h2", {}, say("Load of each node")),
    h("p", { class: "small muted" }, say("The share of all entries for which each node is asked, with the best strategy."), report.load_method && [" (", english(report.load_method), ")"]),
    h("div", { class: numbered ? "bars" : "bars many", role: "group", "aria-label": say("Loads of {n} nodes", { n: report.nodes }) }, bars, ...limits(report, most, full)),
    strategy(say("Strategy: how often to ask which quorum"), report.strategy),
    report.performance ? strategy(say("Strategy for these capacities"), report.performance.strategy) : null);
}

/**
 * The load, and what no system with quorums of this size is below.
 * @param {QuorumReport} report
 * @param {number} most
 * @param {number} full
 */
function limits({ load_bounds }, most, full) {
  const least = load_bounds ? Math.max(...load_bounds) : 0;
  const line = (/** @type {string} */ kind, /** @type {number} */ value, /** @type {string} */ text) => {
    const drawn = h("span", { class: `limit ${kind}` }, h("span", { class: "small" }, text));
    drawn.style.bottom = `calc(var(--foot) + (100% - var(--foot)) * ${value / full})`;
    return drawn;
  };
  if (least > 0 && Math.abs(least - most) < 1e-9) return [line("load", most, say("load {most}: as low as quorums of this size allow", { most: figure(most) }))];
  return [line("load", most, say("load {most}", { most: figure(most) })), ...(least > 0 ? [line("bound", least, say("quorums of this size allow {least}", { least: figure(least) }))] : [])];
}

/**
 * @param {QuorumShare[]} strategy
 * @param {number} nodes
 */
function loads(strategy, nodes) {
  /** @type {number[]} */
  const asked = Array(nodes).fill(0);
  for (const { quorum, probability } of strategy) {
    for (const node of quorum) asked[node - 1] += probability;
  }
  return asked;
}

/**
 * @param {string} title
 * @param {QuorumShare[]} strategy
 */
function strategy(title, strategy) {
  const rest = strategy.length - MOST_LISTED;
  return h("details", {}, h("summary", {}, `${title} (${strategy.length})`),
    h("div", { class: "scroll tall" }, h("table", { class: "data" },
      h("thead", {}, h("tr", {}, h("th", { scope: "col", class: "number" }, say("share")), h("th", { scope: "col" }, say("quorum")))),
      h("tbody", {}, strategy.slice(0, MOST_LISTED).map(({ quorum, probability }) => h("tr", {}, h("td", { class: "number" }, figure(probability)), h("td", {}, braced(quorum, 40))))))),
    rest > 0 ? h("p", { class: "small muted" }, say("… and {rest} more", { rest })) : null);
}
