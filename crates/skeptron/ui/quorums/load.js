// How often each node is asked: bars, one for each node, and the strategy behind them.
import { h } from "../lib/dom.js";
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
  const numbered = report.nodes <= 40;
  const bars = asked.map((load, i) => {
    const bar = h("span", { class: "bar" });
    bar.style.height = `${(100 * load) / most}%`;
    const column = h("button", { type: "button", class: "bar-column", title: `P${i + 1} is asked for ${figure(load)} of the entries`, onclick: () => chosen(i + 1), tabindex: numbered ? 0 : -1 },
      h("span", { class: "bar-room" }, bar), numbered ? h("span", { class: "small" }, i + 1) : null);
    return column;
  });
  return h("section", { class: "panel load", "data-test": "load" },
    h("h2", {}, "Load of each node"),
    h("p", { class: "small muted" }, `With the best strategy. The highest bar is the load, ${figure(most)}; ${report.load_method ?? ""}`),
    h("div", { class: numbered ? "bars" : "bars many", role: "group", "aria-label": `Loads of ${report.nodes} nodes` }, bars),
    strategy("Strategy: how often to ask which quorum", report.strategy),
    report.performance ? strategy("Strategy for these capacities", report.performance.strategy) : null);
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
      h("thead", {}, h("tr", {}, h("th", { scope: "col", class: "number" }, "share"), h("th", { scope: "col" }, "quorum"))),
      h("tbody", {}, strategy.slice(0, MOST_LISTED).map(({ quorum, probability }) => h("tr", {}, h("td", { class: "number" }, figure(probability)), h("td", {}, braced(quorum, 40))))))),
    rest > 0 ? h("p", { class: "small muted" }, `… and ${rest} more`) : null);
}
