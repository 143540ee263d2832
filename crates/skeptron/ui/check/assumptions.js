// The table of assumptions: which one each algorithm really needs. Filled in while it is found out, and
// kept while the page is open.
import { h, clear } from "../lib/dom.js";
import { href } from "../lib/address.js";
import { commandLine } from "../lib/command.js";
import { job } from "../lib/job.js";
import { numeral, say, translated } from "../lib/language.js";
import { playing } from "./counterexample.js";
import { property } from "./properties.js";
import { toParams } from "./question.js";

/** @typedef {import("../wire.js").AssumptionTable} AssumptionTable */
/** @typedef {import("../wire.js").AssumptionCell} AssumptionCell */
/** @typedef {{ frame: AssumptionTable | null, cells: Map<string, AssumptionCell>, surprises: number | null }} Kept */

/** What was found out so far, for each of the two tables. */
const kept = { mutex: nothing(), election: nothing() };

/** What each condition means. @type {Record<string, string>} */
const CONDITIONS = {
  "FIFO": say("all assumptions kept: channels deliver as sent, nothing fails"),
  "unordered": say("messages may overtake each other"),
  "one loss": say("one message may be lost"),
  "one duplicate": say("one message may be delivered twice"),
  "idle stops": say("one node may stop for ever while it neither asks nor holds"),
  "waiting stops": say("one node may stop for ever while it waits"),
  "holding stops": say("one node may stop for ever while it is inside, or could enter without asking"),
  "no fault": say("all assumptions kept, nobody crashes"),
  "one crash": say("one node may crash; the detectors tell of it in time"),
  "early alarm": say("one alarm may ring before its time"),
  "false suspicion": say("one failure detector may suspect a live node for a while"),
};

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
    if (frame) place.append(table(frame, cells, surprises !== null));
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
    h("h2", { id: "assumptions-title" }, say("Which assumption does each algorithm need?")),
    h("p", { class: "muted" }, say("Every algorithm is checked once with all its assumptions and once for each that is dropped. Where it breaks, the cell says what goes wrong and in how many steps; click it to see that run in Play.")),
    h("div", { class: "toolbar" }, h("div", { class: "toolbar", role: "group", "aria-label": say("Which algorithms") }, tabs), begin),
    work.element, place, verdict);
  const fill = () => { if (kept[kind].surprises === null) run(); };
  return { element, fill, end: work.cancel };
}

/** @param {{ algorithm: string, who: string | null, condition: string }} cell */
function key({ algorithm, who, condition }) {
  return [algorithm, who ?? "", condition].join("|");
}

/**
 * @param {AssumptionTable} frame
 * @param {Map<string, AssumptionCell>} cells
 * @param {boolean} isComplete
 */
function table(frame, cells, isComplete) {
  const empty = () => (isComplete
    ? h("span", { class: "muted small", title: say("This row tells only what the crash of this node does") }, say("as above"))
    : h("span", { class: "muted" }, "·"));
  const head = frame.conditions.map((condition) => h("th", { scope: "col", title: CONDITIONS[condition] }, translated(condition)));
  const rows = frame.lines.map(({ algorithm, who }) => h("tr", {},
    h("th", { scope: "row" }, who ? `${algorithm}, ${translated(who)}` : algorithm),
    frame.conditions.map((condition) => {
      const name = key({ algorithm, who, condition });
      const cell = cells.get(name);
      return h("td", { "data-cell": name }, ...(cell ? contents(cell) : [empty()]));
    })));
  return h("table", { class: "data assumption-table", "data-test": "assumption-table" },
    h("caption", { class: "small muted" }, translated(frame.system)),
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, say("algorithm")), head)),
    h("tbody", {}, rows));
}

/**
 * @param {HTMLElement} place
 * @param {AssumptionCell} cell
 */
function write(place, cell) {
  const wanted = key(cell);
  const box = [...place.querySelectorAll("td")].find((box) => box.dataset.cell === wanted);
  box?.replaceChildren(...contents(cell));
}

/**
 * What a cell says; where something breaks, a link to the run that shows it.
 * @param {AssumptionCell} cell
 */
function contents(cell) {
  const question = href("check", new URLSearchParams([...toParams(cell.request), ["run", "1"]]));
  const surprise = cell.agrees ? "" : h("span", { class: "surprise", title: say("Not as the papers say") }, say(" ≠ papers"));
  if (cell.holds !== false) {
    const text = cell.holds ? say("✓ holds") : `? ${translated(cell.text)}`;
    const title = cell.holds ? say("Proved: {states} states. Opens the question above.", { states: numeral(cell.states) }) : say("Not decided. Opens the question above.");
    return [h("a", { class: cell.holds ? "cell good" : "cell unsure", href: question, title }, text), surprise];
  }
  const shown = cell.properties.find((judged) => judged.trace) ?? cell.properties.find((judged) => judged.holds === false);
  const title = shown ? shown.trace_length === null ? say("{broken}. Opens that run in Play.", { broken: sentence(property(shown.name).broken) }) : say("{broken} after {n} steps. Opens that run in Play.", { broken: sentence(property(shown.name).broken), n: shown.trace_length }) : "";
  const link = h("a", { class: "cell bad", href: question, title }, cell.text.split("\n").map((line) => h("span", {}, `✗ ${translated(line)}`)));
  if (shown?.trace) playing(shown.trace).then((address) => link.setAttribute("href", address));
  return [link, surprise];
}

/**
 * @param {AssumptionTable} frame
 * @param {number | null} surprises
 */
function ending(frame, surprises) {
  const agreement = surprises === null ? null : h("p", { class: surprises === 0 ? "notice good" : "notice bad", role: "status", "data-test": "assumptions-done" },
    surprises === 0 ? say("✓ Where the papers say something, every cell agrees with them.") : say("✗ {n} cells are not as the papers say.", { n: surprises }));
  const legend = h("dl", { class: "meanings small" },
    h("dt", {}, h("span", { class: "cell good" }, say("✓ holds"))),
    h("dd", {}, say("proved for this system: no interleaving violates anything that is promised")),
    h("dt", {}, h("span", { class: "cell bad" }, say("✗ two inside 7"))),
    h("dd", {}, say("two nodes are inside after 7 steps, and after no fewer; likewise deadlock, two leaders, wrong leader, no leader")),
    frame.conditions.flatMap((condition) => [h("dt", {}, translated(condition)), h("dd", {}, CONDITIONS[condition] ?? "")]));
  return [...(agreement ? [agreement] : []), h("details", { open: true }, h("summary", {}, say("What the words mean")), legend), commandLine(frame.command)];
}

/** @param {string} text */
function sentence(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
