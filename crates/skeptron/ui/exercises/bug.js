// Find the bug: the run of a broken variant, of which the engine knows where it first leaves the rules.
import { h } from "../lib/dom.js";
import { getJson } from "../lib/api.js";
import { href } from "../lib/address.js";
import { say, translated } from "../lib/language.js";
import { picture } from "../scenarios/glimpse.js";
import { told } from "../play/words.js";
import { wholeRun } from "./run.js";
import { back, hintsOf, rulesOf } from "./parts.js";

/**
 * @param {import("./view.js").Stage} stage
 * @param {string} name
 * @param {number} number
 */
export async function showBug({ place, items, infos, signal }, name, number) {
  const scenario = `counterexample/${name}`;
  const { model, session } = await wholeRun({ scenario }, signal);
  const mistake = /** @type {import("../wire.js").Mistake | null} */ (await getJson(session.path("/mistake"), signal));
  if (signal.aborted) return;
  if (!mistake) throw new Error(say("in this run every node keeps to the rules; choose another exercise"));
  const item = items.find((item) => item.name === scenario);
  const broken = infos.find((info) => info.name === name)?.broken;
  const sound = infos.find((info) => info.name === broken?.of);
  const said = h("div", { role: "status", "data-test": "exercise-verdict" });
  const steps = model.steps.map((record, step) => {
    const words = told(model, model.positionAfter(step + 1)).replace(/ ⚠.*/, "");
    const button = h("button", { type: "button", class: "exercise-choice", "data-test": "exercise-choice", onclick: () => judge(record, button) }, `${step + 1}. ${words}`);
    return button;
  });
  const judge = (/** @type {number} */ record, /** @type {HTMLElement} */ button) => {
    const is = record === mistake.record;
    button.classList.add(is ? "right" : "wrong");
    if (!is) {
      said.replaceChildren(h("p", {}, h("strong", {}, say("No.")), " ", say("So far this is what the rules say, or the mistake was made before.")));
      return;
    }
    const instead = mistake.expected ? say("By the rules P{node} would have done this: {expected}.", { node: mistake.node, expected: translated(mistake.expected) }) : say("By the rules P{node} would have done nothing more.", { node: mistake.node });
    said.replaceChildren(h("p", {}, h("strong", {}, say("Right.")), " ", instead),
      h("p", {}, translated(item?.summary ?? "")), h("p", {}, h("a", { href: href("play", { scenario, at: String(record) }) }, say("Play it"))));
  };
  place.append(back(), h("h2", {}, say("Bug {number}: {title}", { number, title: sound?.title })),
    h("p", {}, say("In the end {property} is violated. At which step does a node first do what the rules forbid, or not do what they demand? Choose it.", { property: broken?.breaks ?? say("a property") })),
    h("div", { class: "exercise-question panel" }, h("figure", { class: "exercise-picture" }, picture(model.header, model.records, true)),
      h("div", { class: "exercise-choices steps" }, steps), said,
      hintsOf([() => rulesOf(sound), () => say("It is a step of P{node}.", { node: mistake.node }), () => h("span", {}, say("The wrong rule:"), " ", broken?.flaw ?? "")])));
}
