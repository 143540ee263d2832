// The table of a comparison: claim beside measurement, sortable, and as a file.
import { h, clear } from "../lib/dom.js";
import { claimText, elsewhereText, measuredText } from "./figures.js";
import { short } from "../lib/axes.js";
import { say, translated } from "../lib/language.js";

/** @typedef {import("../wire.js").CompareRow} Row */
/** @typedef {{ name: string, title: string, number?: boolean, value: (row: Row) => string | number, cell?: (row: Row) => Node | string }} Column */

/**
 * A table of rows.
 * @param {{ figureTitle: (figure: string) => string, cases?: boolean }} options `cases`: of elections
 * @returns {{ element: HTMLElement, show: (rows: Row[]) => void }}
 */
export function resultTable({ figureTitle, cases = false }) {
  const columns = columnsOf(figureTitle, cases);
  const head = h("tr");
  const body = h("tbody");
  const element = h("div", { class: "scroll result-table", tabindex: 0, role: "region", "aria-label": say("Figures: claim beside measurement") },
    h("table", { class: "data", "data-test": "table" }, h("thead", {}, head), body));
  /** @type {{ column: Column, down: boolean } | undefined} */
  let order;
  /** @type {Row[]} */
  let rows = [];

  const draw = () => {
    clear(body);
    body.append(...sorted(rows, order).map((row) => h("tr", { class: row.holds === false ? "missed" : "" },
      columns.map((column) => h("td", { class: column.number ? "number" : "" }, column.cell?.(row) ?? String(column.value(row)))))));
  };
  const drawHead = () => {
    clear(head);
    head.append(...columns.map((column) => {
      const direction = order?.column === column ? (order.down ? "descending" : "ascending") : "none";
      const button = h("button", { type: "button", class: "quiet sort", onclick: () => sortBy(column) },
        column.title, h("span", { "aria-hidden": "true" }, { none: "", ascending: " ▲", descending: " ▼" }[direction]));
      return h("th", { scope: "col", class: column.number ? "number" : "", "aria-sort": direction }, button);
    }));
  };
  const sortBy = (/** @type {Column} */ column) => {
    order = { column, down: order?.column === column && !order.down };
    drawHead();
    /** @type {HTMLElement} */ (head.children[columns.indexOf(column)].firstElementChild).focus();
    draw();
  };
  drawHead();

  return {
    element,
    show(next) {
      rows = next;
      draw();
    },
  };
}

/**
 * @param {(figure: string) => string} figureTitle
 * @param {boolean} cases
 * @returns {Column[]}
 */
function columnsOf(figureTitle, cases) {
  return [
    { name: "algorithm", title: say("Algorithm"), value: (row) => row.algorithm },
    ...(cases ? [{ name: "case", title: say("Situation"), value: (/** @type {Row} */ row) => translated(row.case ?? "") }] : []),
    { name: "nodes", title: "N", number: true, value: (row) => row.nodes },
    { name: "figure", title: say("Figure"), value: (row) => figureTitle(row.figure) },
    { name: "measured", title: say("Measured"), number: true, value: (row) => row.measured?.mean ?? -Infinity, cell: measuredText },
    { name: "claim", title: say("Claimed"), value: (row) => row.claim?.typical ?? row.claim?.high ?? row.claim?.low ?? -Infinity, cell: claimText },
    { name: "deviation", title: say("Deviation"), number: true, value: (row) => row.deviation ?? -Infinity,
      cell: (row) => (row.deviation === null ? "–" : short(row.deviation)) },
    { name: "holds", title: say("Claim"), value: (row) => (row.holds === null ? 1 : row.holds ? 2 : 0), cell: verdictChip },
  ];
}

/** @param {Row} row */
function verdictChip(row) {
  const { claim, not_compared: other } = row;
  if (!other) return chip(row);
  const elsewhere = h("span", { class: "muted small", "data-test": "not-compared" }, say("not compared:"), " ", elsewhereText(other));
  return claim ? h("span", {}, chip(row), " ", elsewhere) : elsewhere;
}

/** @param {Row} row */
function chip({ holds, claim }) {
  if (!claim) return h("span", { class: "muted" }, say("no claim"));
  if (holds === null) return h("span", { class: "muted" }, say("not judged"));
  return holds ? h("span", { class: "chip good" }, say("✓ holds")) : h("span", { class: "chip bad" }, say("✗ missed"));
}

/**
 * @param {Row[]} rows
 * @param {{ column: Column, down: boolean } | undefined} order
 */
function sorted(rows, order) {
  if (!order) return rows;
  const { column, down } = order;
  const compared = (/** @type {Row} */ a, /** @type {Row} */ b) => {
    const [x, y] = [column.value(a), column.value(b)];
    return typeof x === "string" || typeof y === "string" ? String(x).localeCompare(String(y)) : x - y;
  };
  return [...rows].sort((a, b) => (down ? compared(b, a) : compared(a, b)));
}

/**
 * The rows as comma-separated values, as `skeptron compare --csv` writes them.
 * @param {Row[]} rows
 * @returns {string}
 */
export function csv(rows) {
  const cases = rows.some((row) => row.case !== undefined);
  const head = `algorithm,${cases ? "case," : ""}nodes,figure,measured,half_width,claim,low,typical,high,deviation,holds,not_compared_needs`;
  const line = (/** @type {Row} */ { algorithm, case: situation, nodes, figure, measured, claim, deviation, holds, not_compared: other }) => [
    algorithm, ...(cases ? [quoted(situation ?? "")] : []), nodes, figure, measured?.mean, measured?.half_width,
    quoted(claim?.text ?? ""), claim?.low, claim?.typical, claim?.high, deviation, holds, quoted(other?.needs.join("; ") ?? ""),
  ].join(",");
  return `${[head, ...rows.map(line)].join("\n")}\n`;
}

/** @param {string} text */
function quoted(text) {
  return `"${text.replaceAll('"', '""')}"`;
}
