// What happened to the cluster: views, and what was done to its members.
import { h } from "../lib/dom.js";
import { say } from "../lib/language.js";

/** So many lines are kept. */
const MOST = 60;

/** A loss that is told so soon after another, in milliseconds, is the same. */
const AGAIN = 500;

/** @typedef {{ line: HTMLElement, said: HTMLElement, begun: number, members: number[], met: Set<number>, whole: boolean }} Begun */

/**
 * @returns {{ element: HTMLElement, tell: (event: import("../wire.js").ClusterEvent) => void }}
 */
export function news() {
  const nothing = h("li", { class: "muted" }, say("No view has begun since this page looks."));
  const list = h("ol", { class: "small news", "data-test": "cluster-news" }, nothing);
  const element = h("section", { class: "panel news-panel", "aria-label": say("View changes") }, h("h2", {}, say("View changes")), list);
  /** The views that have begun, by epoch. @type {Map<number, Begun>} */
  const views = new Map();
  /** When each node last lost everything, of which it may tell twice. @type {Map<number, number>} */
  const losses = new Map();

  /** @param {string} text @param {string} [kind] */
  function add(text, kind = "") {
    const said = h("span", {}, text);
    const line = h("li", { class: kind }, h("time", { class: "muted mono" }, new Date().toTimeString().slice(0, 8)), " ", said);
    nothing.remove();
    list.prepend(line);
    while (list.children.length > MOST) list.lastElementChild?.remove();
    return { line, said };
  }

  /** One line for a view, however many nodes tell of it. @param {import("../wire.js").ClusterEvent} event */
  function view({ epoch, at, members, node, what }) {
    if (epoch === null) return;
    let begun = views.get(epoch);
    if (!begun) {
      begun = { ...add(""), begun: at, members: [], met: new Set(), whole: false };
      views.set(epoch, begun);
      if (views.size > MOST) views.delete(Math.min(...views.keys()));
    }
    if (members.length > 0) begun.members = members;
    if (what === "met") begun.met.add(node);
    const all = begun.members.length > 0 && begun.members.every((member) => begun.met.has(member));
    const who = begun.members.map((member) => `P${member}`).join(", ");
    const met = all && what === "met" ? say("; all met after {ms} ms", { ms: Math.max(1, Math.round(at - begun.begun)) }) : "";
    if (!begun.whole) begun.said.textContent = `${say("epoch {epoch}", { epoch })}${who ? `: ${who}` : ""}${met}`;
    begun.whole ||= met !== "";
  }

  return {
    element,
    tell(event) {
      const node = `P${event.node}`;
      switch (event.what) {
        case "killed":
          add(say("{node} was killed", { node }), "bad");
          losses.set(event.node, event.at);
          break;
        case "restarted": add(say("{node} was started again", { node })); break;
        case "paused": add(say("{node} stands still", { node }), "bad"); break;
        case "resumed": add(say("{node} goes on", { node })); break;
        case "cut": add(say("{node} was cut off from the others", { node }), "bad"); break;
        case "healed": add(say("{node} hears the others again", { node })); break;
        case "halted":
          if (event.at - (losses.get(event.node) ?? -Infinity) > AGAIN) add(say("{node} lost what it held: {why}", { node, why: event.why ?? "" }), "bad");
          losses.set(event.node, event.at);
          break;
        default: view(event);
      }
    },
  };
}
