// The algorithm itself, for who wants to read while it plays.
import { h, clear } from "../lib/dom.js";

/**
 * Tells about an algorithm.
 * @param {HTMLElement} place
 * @param {import("../wire.js").AlgorithmInfo | undefined} info
 */
export function tellAbout(place, info) {
  clear(place);
  if (!info) return;
  place.append(h("h2", {}, info.broken ? info.name : info.title), h("p", { class: "small muted" }, info.paper));
  if (info.broken) {
    place.append(h("div", { class: "notice unsure" }, h("strong", {}, "Broken on purpose. "), `${info.broken.flaw} It breaks ${info.broken.breaks}.`));
  }
  place.append(h("p", {}, info.idea));
  if (info.variables.length > 0) {
    place.append(h("h3", {}, "Variables of a node"), h("dl", { class: "play-claims" },
      info.variables.flatMap(({ symbol, field, meaning }) => [h("dt", { title: field }, symbol || field), h("dd", {}, meaning)])));
  }
  if (info.notes.length > 0) place.append(h("h3", {}, "Notes"), h("ul", { class: "play-rules" }, info.notes.map((note) => h("li", {}, note))));
}
