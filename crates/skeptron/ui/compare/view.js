// Compare: the algorithms side by side, claim beside measurement.
import { bringIntoSight, clear, complaint, h } from "../lib/dom.js";
import { href, note } from "../lib/address.js";
import { algorithms } from "../lib/form.js";
import { job } from "../lib/job.js";
import { sheet } from "../lib/sheet.js";
import { say } from "../lib/language.js";
import { showBeside } from "./beside.js";
import { looks } from "./look.js";
import { questionOf, paramsOf, requestOf, questionForm } from "./question.js";
import { ABOUT, sightOf, paramsOfSight, results } from "./results.js";

/**
 * Shows the view. It runs at once what the address asks, or a small comparison on a first visit.
 * @param {HTMLElement} root
 * @param {import("../lib/address.js").Address} address
 * @returns {() => void}
 */
export function show(root, address) {
  sheet("/ui/compare/view.css");
  if (address.params.get("show") === "beside") {
    const page = h("div", { class: "page compare beside" }, heading(true));
    root.append(page);
    return showBeside(page, address.params);
  }
  const question = questionOf(address.params);
  const sight = sightOf(address.params);
  let asked = { ...question };
  const noteNow = () => note("compare", { ...paramsOf(asked), ...paramsOfSight(sight) });

  const run = h("button", { type: "submit", class: "primary", "data-test": "run" }, say("Run"));
  // It keeps its place while it is not seen, so that nothing moves under a pointer that is about to press.
  const stale = h("span", { class: "small muted stale", role: "status" }, say("Changed since the last run"));
  const work = job({ name: say("Comparison"), changed: (running) => { run.disabled = running; } });
  const shown = results(sight, noteNow);
  const form = h("form", { class: "panel compare-form", "data-test": "question", onsubmit: (/** @type {Event} */ event) => {
    event.preventDefault();
    compare();
    bringIntoSight(shown.element);
  } });
  const page = h("div", { class: "page compare" },
    heading(false),
    h("div", { class: "compare-columns" }, form, shown.element));
  root.append(page);

  const compare = () => {
    stale.classList.remove("seen");
    shown.complain(null);
    let request;
    try {
      request = requestOf(question);
    } catch (error) {
      shown.complain(error);
      return;
    }
    asked = { ...question };
    noteNow();
    shown.begin(request.algorithms ?? []);
    work.run("/lab/compare", { body: request, on: { rows: shown.add }, result: shown.finish });
  };

  let ended = false;
  algorithms().then((all) => {
    if (ended) return;
    const infos = all.filter((info) => info.kind === "mutex" && !info.broken);
    const look = looks(infos);
    shown.dress(infos, look);
    form.append(questionForm(question, infos, look, () => stale.classList.add("seen")),
      h("div", { class: "compare-run" }, h("div", { class: "toolbar" }, run, stale), work.element));
    compare();
  }).catch((error) => {
    clear(form);
    form.append(complaint(error));
  });

  return () => {
    ended = true;
    work.cancel();
    shown.end();
  };
}

/** @param {boolean} isBeside whether two runs are shown, or figures */
function heading(isBeside) {
  const text = isBeside
    ? say("Both runs have the same nodes, arrivals and seed, and one clock.")
    : ABOUT;
  const tab = (/** @type {string} */ title, /** @type {Record<string, string>} */ params, /** @type {boolean} */ isShown) =>
    h("a", { class: "button", href: href("compare", params), "aria-current": isShown ? "page" : null, "data-test": isShown ? null : "compare-other" }, title);
  return h("header", {}, h("h1", {}, say("Compare")), h("p", { class: "grow" }, text),
    h("nav", { class: "toolbar", "aria-label": say("Figures or runs") }, tab(say("Figures over N"), {}, !isBeside), tab(say("Two side by side"), { show: "beside" }, isBeside)));
}
