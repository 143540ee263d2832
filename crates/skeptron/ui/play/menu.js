// A menu at a place of the page: what can be done with what lies there.
import { h } from "../lib/dom.js";

/**
 * @typedef {object} Item
 * @property {string} label
 * @property {string} test name for tests
 * @property {(() => void) | null} run null if it is not possible now
 * @property {string} [why] why it is not possible
 * @property {HTMLInputElement} [amount] a number that belongs to it
 * @property {string} [unit] of that number
 */

/**
 * Opens a menu; Escape, a choice or a click elsewhere close it.
 * @param {HTMLElement} root where it belongs
 * @param {{ x: number, y: number }} place in the window
 * @param {string} title
 * @param {string[]} lines what is to be said before the choices
 * @param {Item[]} items
 * @param {() => void} closed
 */
export function openMenu(root, place, title, lines, items, closed) {
  const menu = h("div", { class: "play-menu", popover: "auto", role: "menu", "aria-label": title, "data-test": "play-menu" },
    h("div", { class: "play-menu-title" }, title), lines.map((line) => h("div", { class: "small muted" }, line)));
  for (const item of items) menu.append(choiceOf(item, () => menu.hidePopover()));
  menu.addEventListener("toggle", (event) => {
    if (/** @type {ToggleEvent} */ (event).newState !== "closed") return;
    menu.remove();
    closed();
  });
  menu.addEventListener("keydown", (event) => walk(menu, event));
  root.append(menu);
  menu.showPopover();
  put(menu, place.x + 8, place.y + 8);
  /** @type {HTMLElement | null} */ (menu.querySelector("button:not(:disabled)"))?.focus();
}

/**
 * Puts a box that is open at a place of the window, or as near to it as all of the box is in sight.
 * @param {HTMLElement} box
 * @param {number} x
 * @param {number} y
 */
export function put(box, x, y) {
  const { width, height } = box.getBoundingClientRect();
  box.style.left = `${Math.max(6, Math.min(x, innerWidth - width - 8))}px`;
  box.style.top = `${Math.max(6, Math.min(y, innerHeight - height - 8))}px`;
}

/**
 * @param {Item} item
 * @param {() => void} close
 */
function choiceOf(item, close) {
  const button = h("button", { type: "button", class: "quiet", role: "menuitem", "data-test": item.test, disabled: item.run === null, title: item.run === null ? item.why : undefined,
    onclick: () => { close(); item.run?.(); } }, item.label);
  if (!item.amount) return button;
  return h("div", { class: "play-menu-row" }, button, item.amount, h("span", { class: "small muted" }, item.unit ?? ""));
}

/**
 * @param {HTMLElement} menu
 * @param {KeyboardEvent} event
 */
function walk(menu, event) {
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  event.stopPropagation();
  if (!by || event.target instanceof HTMLInputElement) return;
  event.preventDefault();
  const buttons = /** @type {HTMLElement[]} */ ([...menu.querySelectorAll("button:not(:disabled)")]);
  const at = buttons.indexOf(/** @type {HTMLElement} */ (document.activeElement));
  buttons[(at + by + buttons.length) % buttons.length]?.focus();
}
