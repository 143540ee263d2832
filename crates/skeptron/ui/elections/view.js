// The view `elections`.
import { h } from "../lib/dom.js";

/**
 * @param {HTMLElement} root
 * @param {import("../lib/address.js").Address} _address
 * @returns {() => void}
 */
export function show(root, _address) {
  root.append(h("p", { class: "notice" }, "elections"));
  return () => {};
}
