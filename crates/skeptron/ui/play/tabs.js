// Panels of which one is shown.
import { h } from "../lib/dom.js";
import { say } from "../lib/language.js";

/**
 * @param {{ name: string, title: string, panel: HTMLElement }[]} pages
 * @param {() => void} turned called when another panel is shown
 * @returns {{ element: HTMLElement, shown: () => string, open: (name: string) => void }}
 */
export function tabs(pages, turned) {
  let shown = pages[0].name;
  const buttons = pages.map(({ name, title }) => h("button", { type: "button", role: "tab", id: `tab-${name}`, "aria-controls": `panel-${name}`, "data-test": `tab-${name}`, onclick: () => open(name) }, title));
  // A panel scrolls, so the keyboard must reach it even if nothing in it can be pressed.
  for (const { panel } of pages) panel.tabIndex = 0;
  const panels = pages.map(({ name, panel }) => h("div", { role: "tabpanel", id: `panel-${name}`, "aria-labelledby": `tab-${name}`, class: "play-panel" }, panel));
  const show = () => pages.forEach(({ name }, k) => {
    buttons[k].setAttribute("aria-selected", String(name === shown));
    buttons[k].tabIndex = name === shown ? 0 : -1;
    panels[k].hidden = name !== shown;
  });
  const open = (/** @type {string} */ name) => {
    shown = name;
    show();
    turned();
  };
  const list = h("div", { role: "tablist", class: "play-tabs", "aria-label": say("Panels"), onkeydown: (/** @type {KeyboardEvent} */ event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    event.stopPropagation();
    const at = (pages.findIndex(({ name }) => name === shown) + by + pages.length) % pages.length;
    open(pages[at].name);
    buttons[at].focus();
  } }, buttons);
  show();
  return { element: h("div", { class: "play-tabbed panel" }, list, panels), shown: () => shown, open };
}
