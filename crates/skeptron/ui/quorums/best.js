// All constructions side by side: a table that can be sorted, a plot, and what suits which goal.
import { h, clear, english } from "../lib/dom.js";
import { href } from "../lib/address.js";
import { choice, field } from "../lib/form.js";
import { plot, symbol, SHAPES } from "../lib/plot.js";
import { say } from "../lib/language.js";
import { figure, probability } from "./numbers.js";

/** @typedef {import("../wire.js").QuorumCandidate} QuorumCandidate */
/** @typedef {import("../wire.js").QuorumResult["report"]} QuorumReport */

/** What each goal is called. @type {Record<string, string>} */
const GOALS = {
  "equal-work": say("Equal work for all"), "fewest-messages": say("Fewest messages"), "lowest-load": say("Lowest load"),
  "most-crashes": say("Most crashes survived"), "availability": say("Least failure probability"),
};

/** @typedef {{ title: string, hint: string, value: (candidate: QuorumCandidate) => number | string, shown: (candidate: QuorumCandidate) => string }} Column */

/** @type {Column[]} */
const COLUMNS = [
  { title: say("construction"), hint: say("Opens it."), value: (c) => c.name, shown: (c) => c.name },
  { title: say("asked"), hint: say("How many nodes each node asks in the mean."), value: (c) => c.asked, shown: (c) => figure(c.asked) },
  { title: say("load"), hint: say("The share of all entries for which the busiest node is asked."), value: (c) => c.load, shown: (c) => (c.load_fraction?.includes("/") ? `${c.load_fraction} = ${figure(c.load)}` : figure(c.load)) },
  { title: say("resilience"), hint: say("How many nodes may crash, whichever they are."), value: (c) => c.resilience, shown: (c) => `${c.resilience_is_exact ? "" : "≥ "}${c.resilience}` },
  { title: say("failure"), hint: say("The probability that no quorum is left."), value: (c) => c.failure_probability, shown: (c) => `${c.failure_is_exact ? "" : "≈ "}${probability(c.failure_probability)}` },
  { title: say("conditions 1–4"), hint: say("Whether all four hold: everybody pays and works the same."), value: (c) => Number(c.symmetric), shown: (c) => (c.symmetric ? say("✓ all") : c.contains_self ? say("✗ unequal") : say("✗ own node not in it")) },
];

/** What the plot may show against the load. */
const AXES = [
  { value: "resilience", title: say("resilience"), of: (/** @type {QuorumCandidate} */ c) => c.resilience, log: false },
  { value: "failure", title: say("failure probability"), of: (/** @type {QuorumCandidate} */ c) => c.failure_probability, log: true },
  { value: "asked", title: say("nodes asked"), of: (/** @type {QuorumCandidate} */ c) => c.asked, log: false },
];

/**
 * @param {QuorumCandidate[]} candidates
 * @param {QuorumReport} report
 * @returns {HTMLElement}
 */
export function bestPanel(candidates, report) {
  return h("section", { class: "panel best", "data-test": "best" },
    h("h2", {}, say("All constructions for {n} nodes", { n: report.nodes })),
    h("p", { class: "small muted" }, say("None is best in every respect: small quorums cost few messages, large ones survive more crashes.")),
    h("div", { class: "best-body" }, h("div", { class: "scroll" }, sortable(candidates, report.nodes)), scatter(candidates)),
    goals(report), missing(report));
}

/**
 * @param {QuorumCandidate[]} candidates
 * @param {number} nodes
 */
function sortable(candidates, nodes) {
  const body = h("tbody", {});
  let [by, falls] = [COLUMNS[1], false];
  const heads = COLUMNS.map((column) => h("th", { scope: "col" }, h("button", { type: "button", class: "quiet sort", title: say("{hint} Press to sort.", { hint: column.hint }), onclick: () => {
    falls = by === column ? !falls : false;
    by = column;
    draw();
  } }, column.title)));
  const draw = () => {
    heads.forEach((head, i) => {
      if (COLUMNS[i] === by) head.setAttribute("aria-sort", falls ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
    const order = [...candidates].sort((a, b) => compare(by.value(a), by.value(b)) * (falls ? -1 : 1));
    clear(body);
    body.append(...order.map((candidate) => h("tr", { "data-construction": candidate.name },
      h("th", { scope: "row" }, symbol(look(candidates.indexOf(candidate))), " ", h("a", { href: address(candidate.name, nodes) }, candidate.name)),
      COLUMNS.slice(1).map((column) => h("td", {}, column.shown(candidate))))));
  };
  draw();
  return h("table", { class: "data", "data-test": "best-table" }, h("thead", {}, h("tr", {}, heads)), body);
}

/**
 * @param {number | string} a
 * @param {number | string} b
 */
function compare(a, b) {
  return a < b ? -1 : a > b ? 1 : 0;
}

/**
 * The address of a construction as it is typed.
 * @param {string} name
 * @param {number} nodes
 */
function address(name, nodes) {
  return href("quorums", name.includes(":") ? { kind: name } : { kind: name, nodes: String(nodes) });
}

/** @param {QuorumCandidate[]} candidates */
function scatter(candidates) {
  const drawn = plot();
  const draw = (/** @type {typeof AXES[number]} */ axis) => drawn.show({
    title: say("Load against {title}", { title: axis.title }), xLabel: say("load"), yLabel: axis.title, xLog: false, yLog: axis.log,
    series: candidates.map((candidate, i) => ({
      name: candidate.name, ...look(i),
      points: [{ x: candidate.load, y: axis.of(candidate), text: say("{name}: load {load}, {axis} {value}", { name: candidate.name, load: figure(candidate.load), axis: axis.title, value: probability(axis.of(candidate)) }) }],
    })),
  });
  const chosen = choice(AXES, "resilience", (value) => draw(AXES.find((axis) => axis.value === value) ?? AXES[0]));
  draw(AXES[0]);
  return h("div", {}, h("div", { class: "fields" }, field(say("Load against"), chosen)), drawn.element);
}

/**
 * The mark of a construction.
 * @param {number} i
 */
function look(i) {
  return { colour: `series-${(i % 8) + 1}`, shape: SHAPES[i % SHAPES.length] };
}

/** @param {QuorumReport} report */
function goals({ recommendations = [], nodes }) {
  return h("dl", { class: "goals", "data-test": "goals" }, recommendations.flatMap(({ goal, name, why }) => [
    h("dt", {}, GOALS[goal] ?? goal), h("dd", {}, h("a", { href: address(name, nodes) }, name), ": ", english(why)),
  ]));
}

/** @param {QuorumReport} report */
function missing({ missing = [] }) {
  return missing.length === 0 ? null : h("details", { class: "small muted" }, h("summary", {}, say("Constructions that do not exist for this N")),
    h("ul", {}, missing.map((why) => h("li", {}, english(why)))));
}
