// The legend of one or more plots: each series can be left out, or shown alone.
import { h, clear } from "./dom.js";
import { symbol } from "./plot.js";
import { say } from "./language.js";

/** @typedef {{ name: string, hint?: string, colour: string, shape: import("./plot.js").Shape }} Entry */

/**
 * A legend. `hidden` is changed in place; `changed` is told afterwards.
 * @param {{ hidden: Set<string>, changed: () => void, light: (name: string | null) => void }} options
 *   `light` is told which series the user points at
 * @returns {{ element: HTMLElement, fill: (entries: Entry[]) => void }}
 */
export function legend({ hidden, changed, light }) {
  const element = h("ul", { class: "legend", "aria-label": say("Legend: untick to leave out, press to show alone"), "data-test": "legend" });
  /** @type {Entry[]} */
  let entries = [];

  const isAlone = (/** @type {string} */ name) =>
    !hidden.has(name) && entries.length > 1 && entries.every((entry) => entry.name === name || hidden.has(entry.name));
  const isolate = (/** @type {string} */ name) => {
    const back = isAlone(name);
    hidden.clear();
    if (!back) for (const entry of entries) if (entry.name !== name) hidden.add(entry.name);
  };
  const act = (/** @type {() => void} */ deed, /** @type {string} */ focus) => {
    deed();
    draw();
    /** @type {HTMLElement | null} */ (element.querySelector(`[data-focus="${CSS.escape(focus)}"]`))?.focus();
    changed();
  };

  const draw = () => {
    clear(element);
    for (const entry of entries) {
      const { name, hint } = entry;
      const tick = h("input", { type: "checkbox", "aria-label": say("Show {name}", { name }), "data-focus": `tick ${name}`, onchange: () => act(() => {
        if (!hidden.delete(name)) hidden.add(name);
      }, `tick ${name}`) });
      tick.checked = !hidden.has(name);
      const alone = h("button", {
        type: "button", "aria-pressed": String(isAlone(name)), "data-focus": `alone ${name}`,
        title: `${hint ? `${hint}. ` : ""}${isAlone(name) ? say("Show all again") : say("Show only this one")}`,
        onclick: () => act(() => isolate(name), `alone ${name}`),
      }, symbol(entry), name);
      element.append(h("li", {
        class: hidden.has(name) ? "off" : "", "data-series": name,
        onpointerenter: () => light(hidden.has(name) ? null : name), onpointerleave: () => light(null),
      }, tick, alone));
    }
  };

  return {
    element,
    fill(next) {
      entries = next;
      draw();
    },
  };
}
