// The algorithm itself, for who wants to read while it plays.
import { h, clear } from "../lib/dom.js";
import { say } from "../lib/language.js";

/**
 * Tells about an algorithm.
 * @param {HTMLElement} place
 * @param {import("../wire.js").AlgorithmInfo | undefined} info
 */
export function tellAbout(place, info) {
  clear(place);
  if (!info) return;
  place.append(h("h2", {}, info.broken ? info.name : info.title), h("p", { class: "small muted", lang: "en" }, info.paper));
  if (info.broken) {
    place.append(h("div", { class: "notice unsure" }, h("strong", {}, say("Broken on purpose.")), " ", say("{flaw} It breaks {breaks}.", { flaw: info.broken.flaw, breaks: info.broken.breaks })));
  }
  place.append(h("p", {}, info.idea));
  if (info.variables.length > 0) {
    place.append(h("h3", {}, say("Variables of a node")), h("dl", { class: "play-claims" },
      info.variables.flatMap(({ symbol, field, meaning }) => [h("dt", { title: field }, symbol || field), h("dd", {}, meaning)])));
  }
  if (info.notes.length > 0) place.append(h("h3", {}, say("Notes")), h("ul", { class: "play-rules" }, info.notes.map((note) => h("li", {}, note))));
}
