// Exercises: predict the next step, find the bug, reach a goal. What is right is what the engine does.
import { h, clear, complaint } from "../lib/dom.js";
import { getJson } from "../lib/api.js";
import { href } from "../lib/address.js";
import { algorithms } from "../lib/form.js";
import { sheet } from "../lib/sheet.js";
import { say, translated } from "../lib/language.js";
import { goalLink } from "../play/goal.js";
import { showBug } from "./bug.js";
import { showPrediction } from "./prediction.js";

/** @typedef {import("../wire.js").GalleryItem} GalleryItem */
/** @typedef {import("../wire.js").AlgorithmInfo} AlgorithmInfo */
/** @typedef {import("../play/goal.js").Goal} Goal */
/** What there is to do. @typedef {{ predict: string[], bugs: string[], goals: Goal[] }} Exercises */
/** @typedef {{ place: HTMLElement, items: GalleryItem[], infos: AlgorithmInfo[], signal: AbortSignal }} Stage */

/**
 * @param {HTMLElement} root
 * @param {import("../lib/address.js").Address} address
 * @returns {() => void}
 */
export function show(root, { params }) {
  sheet("/ui/exercises/view.css");
  sheet("/ui/scenarios/view.css");
  const ended = new AbortController();
  const place = h("div", { class: "exercises" }, h("p", { class: "muted" }, say("The exercises are on their way …")));
  root.append(h("div", { class: "page" }, h("h1", {}, say("Exercises")), place));
  fill(place, params, ended.signal).catch((error) => {
    if (!ended.signal.aborted) place.replaceChildren(complaint(error));
  });
  return () => ended.abort();
}

/**
 * @param {HTMLElement} place
 * @param {URLSearchParams} params
 * @param {AbortSignal} signal
 */
async function fill(place, params, signal) {
  const [exercises, items, infos] = await Promise.all([
    /** @type {Promise<Exercises>} */ (getJson("/ui/exercises.json", signal)),
    /** @type {Promise<GalleryItem[]>} */ (getJson("/lab/scenarios", signal)),
    algorithms(),
  ]);
  if (signal.aborted) return;
  clear(place);
  const stage = { place, items, infos, signal };
  const predict = params.get("predict");
  const bug = params.get("bug");
  if (predict) return showPrediction(stage, predict);
  if (bug) return showBug(stage, bug, exercises.bugs.indexOf(bug) + 1);
  place.append(...overview(exercises, stage));
}

/**
 * @param {Exercises} exercises
 * @param {Stage} stage
 */
function overview({ predict, bugs, goals }, { items, infos }) {
  const titleOf = (/** @type {string} */ name) => translated(items.find((item) => item.name === name)?.title ?? name);
  const nameOf = (/** @type {string} */ broken) => {
    const of = infos.find((info) => info.name === broken)?.broken?.of;
    return infos.find((info) => info.name === of)?.title ?? say("an algorithm");
  };
  const list = (/** @type {string} */ test, /** @type {{ href: string, title: string }[]} */ links) =>
    h("ul", { class: "exercise-list", "data-test": test }, links.map(({ href, title }) => h("li", {}, h("a", { href }, title))));
  return [
    h("section", {}, h("h2", {}, say("Predict")), h("p", { class: "muted" }, say("Something reaches a node: what does it do? The engine answers.")),
      list("predict-list", predict.map((name) => ({ href: href("exercises", { predict: name }), title: titleOf(name) })))),
    h("section", {}, h("h2", {}, say("Find the bug")), h("p", { class: "muted" }, say("One rule is wrong. At which step does a node first do what it must not?")),
      list("bug-list", bugs.map((name, k) => ({ href: href("exercises", { bug: name }), title: say("Bug {number}: {title}", { number: k + 1, title: nameOf(name) }) })))),
    h("section", {}, h("h2", {}, say("Reach a goal")), h("p", { class: "muted" }, say("By hand: let nodes ask, delay and lose messages, until it is so.")),
      list("goal-list", goals.map((goal) => ({ href: goalLink(goal), title: translated(goal.title) })))),
  ];
}
