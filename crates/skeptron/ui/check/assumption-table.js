// The table of assumptions: what its rows, columns and cells say, in the lab and in a file.
import { h } from "../lib/dom.js";
import { commandLine } from "../lib/command.js";
import { numeral, say, translated } from "../lib/language.js";
import { property } from "./properties.js";

/** @typedef {import("../wire.js").AssumptionTable} AssumptionTable */
/** @typedef {import("../wire.js").AssumptionCell} AssumptionCell */
/** Lets the link of a cell open what shows it. @typedef {(cell: AssumptionCell, link: HTMLAnchorElement) => void} Opens */

export const TITLE = say("Which assumption does each algorithm need?");
export const ABOUT = say("Every algorithm is checked once with all its assumptions and once for each that is dropped. Where it breaks, the cell says what goes wrong and in how many steps.");

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

/** @param {{ algorithm: string, who: string | null, condition: string }} cell */
export function key({ algorithm, who, condition }) {
  return [algorithm, who ?? "", condition].join("|");
}

/**
 * @param {AssumptionTable} frame
 * @param {Map<string, AssumptionCell>} cells
 * @param {boolean} isComplete
 * @param {Opens} opens
 */
export function table(frame, cells, isComplete, opens) {
  const empty = () => (isComplete
    ? h("span", { class: "muted small", title: say("This row tells only what the crash of this node does") }, say("as above"))
    : h("span", { class: "muted" }, "·"));
  const head = frame.conditions.map((condition) => h("th", { scope: "col", title: CONDITIONS[condition] }, translated(condition)));
  const rows = frame.lines.map(({ algorithm, who }) => h("tr", {},
    h("th", { scope: "row" }, who ? `${algorithm}, ${translated(who)}` : algorithm),
    frame.conditions.map((condition) => {
      const name = key({ algorithm, who, condition });
      const cell = cells.get(name);
      return h("td", { "data-cell": name }, ...(cell ? contents(cell, opens) : [empty()]));
    })));
  return h("table", { class: "data assumption-table", "data-test": "assumption-table" },
    h("caption", { class: "small muted" }, translated(frame.system)),
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, say("algorithm")), head)),
    h("tbody", {}, rows));
}

/**
 * What a cell says; it opens what shows it.
 * @param {AssumptionCell} cell
 * @param {Opens} opens
 */
export function contents(cell, opens) {
  const surprise = cell.agrees ? "" : h("span", { class: "surprise", title: say("Not as the papers say") }, say(" ≠ papers"));
  const look = cell.holds ? "good" : cell.holds === false ? "bad" : "unsure";
  const words = cell.holds ? say("✓ holds") : cell.holds === null ? `? ${translated(cell.text)}` : cell.text.split("\n").map((line) => h("span", {}, `✗ ${translated(line)}`));
  const link = h("a", { class: `cell ${look}`, title: meaning(cell) }, words);
  opens(cell, link);
  return [link, surprise];
}

/** @param {AssumptionCell} cell */
function meaning(cell) {
  if (cell.holds) return say("Proved: {states} states.", { states: numeral(cell.states) });
  if (cell.holds === null) return say("Not decided.");
  const shown = cell.properties.find((judged) => judged.trace) ?? cell.properties.find((judged) => judged.holds === false);
  if (!shown) return "";
  const broken = sentence(property(shown.name).broken);
  return shown.trace_length === null ? `${broken}.` : say("{broken} after {n} steps.", { broken, n: shown.trace_length });
}

/**
 * @param {AssumptionTable} frame
 * @param {number | null} surprises
 */
export function ending(frame, surprises) {
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
