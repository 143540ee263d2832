// The table of assumptions that a file carries, with a diagram of everything that breaks.
import { h, picture } from "../lib/dom.js";
import { commandLine } from "../lib/command.js";
import { recordedAnswer } from "../lib/recorded.js";
import { sheet } from "../lib/sheet.js";
import { say, translated } from "../lib/language.js";
import { ABOUT, ending, key, table, TITLE } from "./assumption-table.js";
import { property } from "./properties.js";

/** @typedef {import("../wire.js").AssumptionsReport} Report */

/**
 * Shows the view.
 * @param {HTMLElement} root
 * @returns {() => void}
 */
export function show(root) {
  sheet("/ui/check/view.css");
  const report = /** @type {Report} */ (recordedAnswer("/lab/assumptions"));
  document.title = TITLE;
  const drawn = report.cells.map((_, cell) => diagrams(report, cell));
  const cells = new Map(report.cells.map((cell) => [key(cell), cell]));
  const shown = table(report.table, cells, true, (cell, link) => {
    const [first] = drawn[report.cells.indexOf(cell)];
    if (!first) return;
    link.setAttribute("href", "#");
    link.addEventListener("click", (event) => {
      event.preventDefault();
      first.open = true;
      first.scrollIntoView();
    });
  });
  const named = report.table.lines.map(({ algorithm, who }) => {
    const found = drawn.filter((_, cell) => report.cells[cell].algorithm === algorithm && report.cells[cell].who === who).flat();
    return found.length > 0 ? h("section", { class: "panel" }, h("h2", {}, who ? `${algorithm}, ${translated(who)}` : algorithm), found) : "";
  });
  root.append(h("div", { class: "page check" },
    h("header", {}, h("h1", {}, TITLE), h("p", {}, ABOUT, " ", say("Click it to see that run."))),
    h("section", { class: "panel assumptions" }, h("div", { class: "scroll" }, shown), ending(report.table, report.surprises)), named));
  return () => {};
}

/**
 * The shortest runs that break what a cell promises.
 * @param {Report} report
 * @param {number} cell
 * @returns {HTMLDetailsElement[]}
 */
function diagrams(report, cell) {
  const { condition, command } = report.cells[cell];
  return report.diagrams.filter((diagram) => diagram.cell === cell).map(({ property: name, steps, svg }) => {
    const title = say("{condition}: {broken} after {n} steps", { condition: translated(condition), broken: property(name).broken, n: steps });
    return h("details", { "data-property": name }, h("summary", {}, title), commandLine(command),
      h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": title }, picture(svg)));
  });
}
