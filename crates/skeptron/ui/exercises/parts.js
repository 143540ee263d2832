// What all exercises have: the way back, hints, the rules.
import { h } from "../lib/dom.js";
import { href } from "../lib/address.js";
import { say } from "../lib/language.js";

/** Where one came from. */
export function back() {
  return h("p", {}, h("a", { href: href("exercises") }, say("← All exercises")));
}

/**
 * Hints, one after another.
 * @param {(() => HTMLElement | string)[]} hints
 * @returns {HTMLElement}
 */
export function hintsOf(hints) {
  const list = h("ol", { class: "exercise-hints", "data-test": "exercise-hints" });
  const button = h("button", { type: "button", "data-test": "exercise-hint", onclick: () => {
    list.append(h("li", {}, hints[list.children.length]()));
    button.hidden = list.children.length >= hints.length;
  } }, say("A hint"));
  return h("div", { class: "exercise-hinted" }, button, list);
}

/**
 * The rules of an algorithm.
 * @param {import("../wire.js").AlgorithmInfo | undefined} info
 */
export function rulesOf(info) {
  return h("div", {}, say("The rules of {algorithm}:", { algorithm: info?.title ?? say("the algorithm") }), h("ol", {}, (info?.rules ?? []).map((rule) => h("li", {}, rule))));
}
