// The table of assumptions: which one each algorithm really needs. Filled in while it is found out, and
// kept while the page is open.
import { h, clear } from "../lib/dom.js";
import { href } from "../lib/address.js";
import { job } from "../lib/job.js";
import { say } from "../lib/language.js";
import { ABOUT, contents, ending, key, table, TITLE } from "./assumption-table.js";
import { playing } from "./counterexample.js";
import { toParams } from "./question.js";

/** @typedef {import("../wire.js").AssumptionTable} AssumptionTable */
/** @typedef {import("../wire.js").AssumptionCell} AssumptionCell */
/** @typedef {{ frame: AssumptionTable | null, cells: Map<string, AssumptionCell>, surprises: number | null }} Kept */

/** What was found out so far, for each of the two tables. */
const kept = { mutex: nothing(), election: nothing() };

/** @returns {Kept} */
function nothing() {
  return { frame: null, cells: new Map(), surprises: null };
}

/**
 * The panel with the table.
 * @param {"mutex" | "election"} first which one is shown first
 * @param {(kind: "mutex" | "election") => void} begun is told when one is found out
 * @returns {{ element: HTMLElement, fill: () => void, end: () => void }} `fill` finds it out unless that is known
 */
export function assumptions(first, begun) {
  let kind = first;
  const place = h("div", { class: "scroll" });
  const verdict = h("div", {});
  const begin = h("button", { type: "button", class: "primary", "data-test": "run-assumptions", onclick: () => run() }, "");
  const work = job({ name: say("Table"), changed: (running) => { begin.disabled = running; } });
  const tabs = /** @type {const} */ ([["mutex", say("Mutual exclusion")], ["election", say("Elections")]]).map(([name, title]) =>
    h("button", { type: "button", "data-kind": name, "data-test": `assumptions-${name}`, onclick: () => choose(name) }, title));

  /** @param {"mutex" | "election"} chosen */
  const choose = (chosen) => {
    if (chosen === kind) return;
    work.cancel();
    kind = chosen;
    draw();
  };
  const draw = () => {
    const { frame, cells, surprises } = kept[kind];
    for (const tab of tabs) tab.setAttribute("aria-pressed", String(tab.dataset.kind === kind));
    begin.textContent = cells.size > 0 ? say("Find it out again") : say("Fill in the table");
    clear(place);
    if (frame) place.append(table(frame, cells, surprises !== null, opens));
    verdict.replaceChildren(...(frame ? ending(frame, surprises) : []));
  };
  const run = async () => {
    begun(kind);
    const mine = kept[kind] = nothing();
    const body = { elections: kind === "election" };
    await work.run("/lab/assumptions", { body, on: {
      table: (frame) => { mine.frame = frame; draw(); },
      cell: (cell) => { mine.cells.set(key(cell), cell); write(place, cell); },
    }, result: ({ surprises }) => { mine.surprises = surprises; } });
    draw();
  };
  draw();
  const element = h("section", { class: "panel assumptions", "aria-labelledby": "assumptions-title", "data-test": "assumptions" },
    h("h2", { id: "assumptions-title" }, TITLE),
    h("p", { class: "muted" }, ABOUT, " ", say("Click it to see that run in Play.")),
    h("div", { class: "toolbar" }, h("div", { class: "toolbar", role: "group", "aria-label": say("Which algorithms") }, tabs), begin),
    work.element, place, verdict);
  const fill = () => { if (kept[kind].surprises === null) run(); };
  return { element, fill, end: work.cancel };
}

/**
 * Lets a cell open its question, or the run that breaks it.
 * @type {import("./assumption-table.js").Opens}
 */
function opens(cell, link) {
  link.setAttribute("href", href("check", new URLSearchParams([...toParams(cell.request), ["run", "1"]])));
  const run = cell.properties.find((judged) => judged.trace)?.trace;
  if (run) playing(run).then((address) => link.setAttribute("href", address));
}

/**
 * @param {HTMLElement} place
 * @param {AssumptionCell} cell
 */
function write(place, cell) {
  const wanted = key(cell);
  const box = [...place.querySelectorAll("td")].find((box) => box.dataset.cell === wanted);
  box?.replaceChildren(...contents(cell, opens));
}
