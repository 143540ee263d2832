// Who asks whom: a row for each node's quorum, a dot for each member.
import { h } from "../lib/dom.js";
import { say } from "../lib/language.js";
import { braced } from "./numbers.js";

/** Beyond this, dots are too small and sets are listed instead. */
const MOST_DOTS = 26;
const MOST_LISTED = 200;

/**
 * @param {number[][]} assignment
 * @param {number | null} of whose quorum is shown
 * @param {(node: number) => void} chosen
 * @returns {HTMLElement}
 */
export function matrixPanel(assignment, of, chosen) {
  const body = assignment.length <= MOST_DOTS ? dots(assignment, of, chosen) : sets(assignment);
  return h("section", { class: "panel matrix", "data-test": "matrix" }, h("h2", {}, say("Who asks whom")),
    h("p", { class: "small muted" }, say("Row i is the quorum of node i; any two rows share a dot. Click a row’s node to see its quorum in the picture.")),
    h("div", { class: "scroll" }, body));
}

/**
 * @param {number[][]} assignment
 * @param {number | null} of
 * @param {(node: number) => void} chosen
 */
function dots(assignment, of, chosen) {
  const nodes = assignment.map((_, i) => i + 1);
  const shown = new Set(of === null ? [] : assignment[of - 1]);
  return h("table", { class: "dots" },
    h("thead", {}, h("tr", {}, h("td", {}), nodes.map((node) => h("th", { scope: "col", class: shown.has(node) ? "member" : null }, node)))),
    h("tbody", {}, assignment.map((quorum, i) => h("tr", { class: of === i + 1 ? "chosen" : null },
      h("th", { scope: "row" }, h("button", { type: "button", class: "quiet", "aria-pressed": String(of === i + 1), onclick: () => chosen(i + 1) }, `P${i + 1}`)),
      nodes.map((node) => h("td", { class: shown.has(node) ? "member" : null }, quorum.includes(node) ? "●" : ""))))));
}

/** @param {number[][]} assignment */
function sets(assignment) {
  const rest = assignment.length - MOST_LISTED;
  return h("div", { class: "tall scroll" }, h("table", { class: "data" }, h("tbody", {},
    assignment.slice(0, MOST_LISTED).map((quorum, i) => h("tr", {}, h("th", { scope: "row" }, `P${i + 1}`), h("td", {}, braced(quorum, 60)))))),
  rest > 0 ? h("p", { class: "small muted" }, say("… and {rest} more nodes", { rest })) : null);
}
