// A page of one view that needs no server.
import { current, exactLink, onChange } from "../lib/address.js";
import { clear } from "../lib/dom.js";
import { languageChoice, translated } from "../lib/language.js";
import { themeButton } from "../lib/theme.js";

/**
 * Shows a view, and shows it again when the address changes.
 * @param {string} name
 * @param {(root: HTMLElement, address: import("../lib/address.js").Address) => (() => void)} show
 * @param {Record<string, string>} [defaults] what an address means that does not say it
 */
export function begin(name, show, defaults = {}) {
  const root = /** @type {HTMLElement} */ (document.getElementById("view"));
  let end = () => {};
  const open = () => {
    end();
    clear(root);
    root.className = `view-${name}`;
    const { params } = current();
    for (const [key, value] of Object.entries(defaults)) if (!params.has(key)) params.set(key, value);
    end = show(root, { view: name, params });
  };
  themeButton(/** @type {HTMLButtonElement} */ (document.getElementById("theme")));
  languageChoice(/** @type {HTMLSelectElement} */ (document.getElementById("language")), () => "href" in exactLink());
  document.title = translated(document.title);
  onChange(open);
  open();
}
