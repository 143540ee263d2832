// What is known of an information structure: whether it is valid, what it costs, and how long it takes.
import { h, english } from "../lib/dom.js";
import { href } from "../lib/address.js";
import { commandLine } from "../lib/command.js";
import { download } from "../lib/files.js";
import { say } from "../lib/language.js";
import { sets, MOST_DRAWN } from "./sets.js";
import { braced, figure } from "./numbers.js";

/** @typedef {import("../wire.js").StructureReport} StructureReport */
/** @typedef {import("../wire.js").StructureResult} StructureResult */
/** @typedef {import("../wire.js").StructureDelay} StructureDelay */

/**
 * @param {StructureResult} result
 * @param {Record<string, string> | null} layout by which options a run has it, if it has a name
 * @param {number} of whose sets are shown first
 * @param {(node: number) => void} chosen
 * @returns {HTMLElement[]}
 */
export function structureReport({ report, command }, layout, of, chosen) {
  const drawn = h("div", {});
  const rows = nodesTable(report, (node) => show(node));
  const show = (/** @type {number} */ node) => {
    chosen(node);
    draw(node);
  };
  const draw = (/** @type {number} */ node) => {
    rows.mark(node);
    drawn.replaceChildren(...(report.nodes <= MOST_DRAWN ? [sets(report, node, show)] : []), h("p", { class: "small" }, sentence(report, node)));
  };
  draw(Math.min(of, report.nodes));
  return [
    judgement(report),
    h("div", { class: "columns" },
      h("div", { class: "column" },
        h("section", { class: "panel" }, h("h2", {}, say("Who asks and tells whom")), drawn, h("p", { class: "toolbar" }, ...uses(report, layout)))),
      h("div", { class: "column" },
        h("section", { class: "panel" }, h("h2", {}, say("{name}, {n} nodes", { name: report.name, n: report.nodes })), ...totals(report), h("div", { class: "scroll tall" }, rows.element), commandLine(command)),
        ...delays(report))),
  ];
}

/** @param {StructureReport} report */
function judgement({ violation, optimal, needless }) {
  if (violation) {
    return h("div", { class: "notice bad", role: "status", "data-test": "structure-verdict" }, h("strong", {}, say("✗ Not valid:"), " ", english(violation.rule), ". "),
      english(violation.explanation), ". ", say("Remedy:"), " ", english(violation.remedy), ".");
  }
  const proved = !optimal ? "" : optimal.proved
    ? ` ${say("Proved: no structure that meets the demands takes fewer messages.")}`
    : ` ${say("The best that was found; nothing takes fewer than {bound} messages.", { bound: figure(optimal.lower_bound) })}`;
  const spare = needless.length === 0 ? "" : ` ${say("Needless: {list}, although both tell somebody in common.", { list: needless.slice(0, 6).map(([i, j]) => say("P{i} asks P{j}", { i, j })).join(", ") + (needless.length > 6 ? " …" : "") })}`;
  return h("div", { class: "notice good", role: "status", "data-test": "structure-verdict" }, h("strong", {}, say("✓ Valid.")), " ",
    `${say("Any two nodes tell somebody in common, or ask each other.")}${proved}${spare}`);
}

/** @param {StructureReport} report */
function totals({ messages, load, delay }) {
  if (!messages || !load || !delay) return [];
  const busiest = load.of.indexOf(load.busiest) + 1;
  return [h("dl", { class: "facts" },
    h("dt", {}, say("Messages per entry")), h("dd", {}, say("{low} at low load, at most {high}", { low: figure(messages.mean_low), high: figure(messages.mean_high) })),
    h("dt", {}, say("Busiest")), h("dd", {}, load.busiest === 0 ? say("nobody is asked by others") : say("P{busiest}, asked by others for {share} of all entries", { busiest, share: figure(load.busiest) })),
    h("dt", {}, say("Delay")), h("dd", {}, say("{mean} T in the mean, at most {most} T; published: {published} T", { mean: figure(delay.exact.mean), most: delay.exact.max, published: figure(delay.published.mean) }),
      h("span", { class: "small muted why" }, say("From one node’s exit to the next one’s entry; T is the latency of a message."))))];
}

/**
 * @param {StructureReport} report
 * @param {(node: number) => void} chosen
 */
function nodesTable(report, chosen) {
  const { messages, load, shares } = report;
  const rows = report.request.map((asked, i) => h("tr", { "data-node": i + 1 },
    h("th", { scope: "row" }, h("button", { type: "button", class: "quiet", onclick: () => chosen(i + 1) }, `P${i + 1}`)),
    h("td", {}, braced(asked)), h("td", {}, braced(report.inform[i] ?? [])),
    shares.length > 0 && h("td", { class: "number" }, figure(shares[i])),
    messages && h("td", { class: "number nowrap" }, `${messages.low[i]} … ${messages.high[i]}`),
    load && h("td", { class: "nowrap" }, figure(load.of[i]), bar(load.of[i]))));
  const head = [say("node"), say("asks (R)"), say("tells (I)"), shares.length > 0 && say("share"), messages && say("messages"), load && say("asked by others")];
  const element = h("table", { class: "data", "data-test": "structure-nodes" },
    h("thead", {}, h("tr", {}, head.map((title) => title && h("th", { scope: "col" }, title)))), h("tbody", {}, rows));
  const mark = (/** @type {number} */ node) => rows.forEach((row, i) => row.classList.toggle("chosen", i + 1 === node));
  return { element, mark };
}

/** @param {number} share */
function bar(share) {
  const mark = h("span", { class: "share" });
  mark.style.width = `${Math.round(60 * Math.min(1, share))}px`;
  return mark;
}

/**
 * @param {StructureReport} report
 * @param {number} node
 */
function sentence({ request, inform }, node) {
  const asking = request.flatMap((asked, i) => (asked.includes(node) && i + 1 !== node ? [i + 1] : []));
  return say("P{node} asks {asked} before it enters and tells {told} when it leaves; it is asked by {asking}.", { node, asked: braced(request[node - 1] ?? []), told: braced(inform[node - 1] ?? []), asking: asking.length === 0 ? say("nobody else") : braced(asking) });
}

/**
 * @param {StructureReport} report
 * @param {Record<string, string> | null} layout
 */
function uses(report, layout) {
  const save = h("button", { type: "button", title: say("A file that `skeptron sim sanders --structure FILE` reads"), onclick: () => {
    const text = `${JSON.stringify({ request: report.request, inform: report.inform })}\n`;
    download(`${report.name.replaceAll(/[^\w-]+/g, "-")}.json`, text, "application/json");
  } }, say("Download .json"));
  if (!report.valid || !layout) return [save];
  const address = href("play", { algorithm: "sanders", ...layout, nodes: String(report.nodes) });
  return [h("a", { class: "button", "data-test": "simulate", href: address }, say("Simulate Sanders on this")), save];
}

/** @param {StructureReport} report */
function delays({ delay }) {
  if (!delay || (!delay.exact.matrix && !delay.published.matrix)) return [];
  return [h("section", { class: "panel", "data-test": "delays" }, h("h2", {}, say("Synchronisation delays")),
    h("p", { class: "small muted" }, say("In latencies T, from the exit of the row’s node to the entry of the column’s. Published: 2 if both tell somebody in common, else 1. Exactly, it is 1 where that one is one of the two, since a word to oneself is free.")),
    h("div", { class: "delays" }, matrix(say("exact"), delay.exact), matrix(say("as published"), delay.published)))];
}

/**
 * @param {string} title
 * @param {StructureDelay} delay
 */
function matrix(title, { matrix: rows }) {
  if (!rows) return null;
  const kinds = ["", "one", "two"];
  return h("div", { class: "scroll" }, h("table", {}, h("caption", {}, title),
    h("thead", {}, h("tr", {}, h("td", {}), rows.map((_, j) => h("th", { scope: "col" }, `P${j + 1}`)))),
    h("tbody", {}, rows.map((row, i) => h("tr", {}, h("th", { scope: "row" }, `P${i + 1}`),
      row.map((value, j) => h("td", { class: kinds[value] ?? "" }, i === j ? "–" : value)))))));
}
