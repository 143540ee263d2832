// What the colours and bars of the diagram mean.
import { h, clear } from "../lib/dom.js";
import { hasEpoch } from "../lib/fence.js";
import { kindColour } from "../lib/theme.js";
import { say } from "../lib/language.js";

/**
 * Fills the legend, if it has changed.
 * @param {HTMLElement} place
 * @param {import("./model.js").RunModel} model
 * @param {number} stride each how manieth arrow is drawn
 * @param {boolean} byHand whether anything was done by hand
 */
export function legend(place, model, stride, byHand) {
  const { labels } = model.messages;
  const fence = model.records[model.entries[0]]?.fence ?? 0;
  const key = `${model.header.algorithm} ${labels.join(" ")} ${stride} ${byHand} ${hasEpoch(fence)}`;
  if (place.dataset.key === key) return;
  place.dataset.key = key;
  clear(place);
  const election = model.header.kind === "election";
  const sample = (/** @type {string} */ kind, /** @type {string} */ words, /** @type {string} */ hint = "") => place.append(h("span", { class: "play-key", title: hint || null }, h("span", { class: `play-sample ${kind}` }), words));
  sample("waiting", election ? say("electing") : say("waiting"));
  if (election) sample("inside", say("leading"));
  else if (hasEpoch(fence)) sample("inside", say("inside, fence epoch·entry"), say("The fence of an entry: the epoch of its view, and its number in it"));
  else sample("inside", say("inside, #fence"), say("The fence of an entry. A simulated run has one view for ever, so that its fences are numbers without an epoch; in a cluster they are epoch·entry"));
  labels.forEach((label) => {
    const line = h("span", { class: "play-sample arrow" }, "⟶");
    line.style.color = `var(--${kindColour(label)})`;
    place.append(h("span", { class: "play-key" }, line, label));
  });
  if (byHand) place.append(h("span", { class: "play-key" }, h("span", { class: "play-sample arrow" }, "▼"), say("by hand")));
  if (stride > 1) place.append(h("span", { class: "muted" }, say("Dense: 1 of {stride} messages is drawn. Zoom in to see all.", { stride })));
}
