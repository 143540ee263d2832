// Quorum systems: the form, and everything that the server finds out about what it asks for.
import { h } from "../lib/dom.js";
import { href, note } from "../lib/address.js";
import { commandLine } from "../lib/command.js";
import { choice, field } from "../lib/form.js";
import { download } from "../lib/files.js";
import { job } from "../lib/job.js";
import { PICTURES } from "./constructions.js";
import { fromParams, toParams, toRequest } from "./question.js";
import { quorumForm } from "./form.js";
import { drawing } from "../lib/drawing.js";
import { say, translated } from "../lib/language.js";
import { facts } from "./facts.js";
import { loadPanel } from "./load.js";
import { matrixPanel } from "./matrix.js";
import { curvePanel } from "./curve.js";
import { bestPanel } from "./best.js";

/** @typedef {import("../wire.js").QuorumResult} QuorumResult */
/** @typedef {import("./question.js").Question} Question */

/** A system that was computed within this time is computed for other p, too. */
const QUICK_MS = 700;
const MOST_AT_ONCE = 100;
/** Matrices that fit into half a page. */
const MOST_BESIDE = 17;
/** Systems that the checker can explore. */
const MOST_CHECKED = 5;

/**
 * @param {HTMLElement} page
 * @param {URLSearchParams} params
 * @returns {() => void} what ends it
 */
export function showSystem(page, params) {
  const work = job({ name: say("Analysis") });
  const sketch = drawing({ chosen: (node) => choose(node) });
  const curve = curvePanel();
  const picture = h("section", { class: "panel picture" });
  const known = h("section", { class: "panel known" });
  const compared = h("div", { class: "column" });
  const [left, right] = [h("div", { class: "column" }, picture), h("div", { class: "column" }, known)];
  const below = h("div", { class: "column" });
  const form = quorumForm(fromParams(params), (question) => {
    note("quorums", toParams(question));
    later();
  });
  const found = h("div", { class: "column" }, compared, h("div", { class: "columns" }, left, right), below);
  page.append(h("div", { class: "asking" }, form.element, h("div", { class: "work" }, work.element)), found);

  const choose = (/** @type {number} */ node) => form.set({ of: String(node) });
  const tell = (/** @type {QuorumResult} */ result, /** @type {Question} */ question, /** @type {boolean} */ isQuick) => {
    const { report, svg, command } = result;
    sketch.show(svg);
    picture.hidden = svg === null;
    picture.replaceChildren(pictureTools(form, report.nodes), sketch.element, h("p", { class: "toolbar" }, ...links(result), ...(svg === null ? [] : [saving(svg, report.name)])));
    known.replaceChildren(h("h2", {}, say("{name}, {n} nodes", { name: report.name, n: report.nodes })), facts(report), commandLine(command));
    const of = question.of === "" ? null : Number(question.of);
    const isSystem = report.load !== null;
    const matrix = matrixPanel(report.assignment, of, choose);
    const isNarrow = report.nodes <= MOST_BESIDE;
    compared.replaceChildren(...(report.candidates ? [bestPanel(report.candidates, report)] : []));
    left.replaceChildren(picture, ...(isSystem ? [loadPanel(report, choose)] : []), ...(isNarrow ? [matrix] : []));
    right.replaceChildren(known, ...(isSystem ? [curve.element] : []));
    below.replaceChildren(...(isNarrow ? [] : [matrix]));
    if (!isSystem) return;
    // Of the one that is shown, where all were compared.
    const asked = report.candidates ? { kind: report.name, nodes: report.name.includes(":") ? undefined : report.nodes } : toRequest(question);
    curve.offer(asked, report.name, isQuick && report.nodes <= MOST_AT_ONCE);
  };
  const run = async () => {
    const question = form.question();
    const began = performance.now();
    curve.end();
    const outcome = await work.run("/lab/quorum", { body: toRequest(question), result: (result) => tell(result, question, performance.now() - began < QUICK_MS) });
    // What is shown then is the answer to another question.
    found.classList.toggle("stale", outcome === "failed");
  };
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let waiting;
  const later = () => {
    clearTimeout(waiting);
    waiting = setTimeout(run, 200);
  };
  run();
  return () => {
    clearTimeout(waiting);
    work.cancel();
    curve.end();
    sketch.end();
  };
}

/**
 * @param {ReturnType<typeof quorumForm>} form
 * @param {number} nodes
 */
function pictureTools(form, nodes) {
  const { of, picture } = form.question();
  const everyone = Array.from({ length: nodes }, (_, i) => ({ value: String(i + 1), title: `P${i + 1}` }));
  const whose = choice([{ value: "", title: say("one that shows it well") }, ...everyone], of, (of) => form.set({ of }), { "data-test": "of" });
  const kind = choice([{ value: "", title: say("what suits it") }, ...PICTURES.map((value) => ({ value, title: translated(value) }))], picture, (picture) => form.set({ picture }), { "data-test": "picture-kind" });
  return h("div", { class: "fields" }, field(say("Quorum of"), whose, say("Or click a node in the picture.")), field(say("Picture"), kind, say("Not every system can be drawn in every way.")));
}

/** @param {QuorumResult} result */
function links({ report }) {
  // What was pasted has no name under which a run could ask for it.
  if (report.kind === "file" || report.load === null) return [];
  const layout = { quorum: report.name, nodes: String(report.nodes) };
  const play = h("a", { class: "button", href: href("play", { algorithm: "maekawa", ...layout }), "data-test": "simulate" }, say("Simulate Maekawa on this"));
  const check = h("a", { class: "button", href: href("check", { algorithm: "maekawa", ...layout }) }, say("Check Maekawa on this"));
  return report.nodes <= MOST_CHECKED ? [play, check] : [play];
}

/**
 * @param {string} svg
 * @param {string} name
 */
function saving(svg, name) {
  const file = `${name.replaceAll(/[^\w-]+/g, "-")}.svg`;
  return h("button", { type: "button", onclick: () => download(file, svg, "image/svg+xml") }, say("Download .svg"));
}
