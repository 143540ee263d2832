// The view `quorums`: quorum systems, and the information structures that generalise them.
import { h } from "../lib/dom.js";
import { href } from "../lib/address.js";
import { sheet } from "../lib/sheet.js";
import { say } from "../lib/language.js";
import { showSystem } from "./system.js";
import { showStructure } from "./structure.js";

/**
 * @param {HTMLElement} root
 * @param {import("../lib/address.js").Address} address
 * @returns {() => void}
 */
export function show(root, address) {
  sheet("/ui/quorums/view.css");
  const isStructure = address.params.get("show") === "structures";
  const tab = (/** @type {string} */ title, /** @type {Record<string, string>} */ params, /** @type {boolean} */ isShown) =>
    h("a", { class: "button", href: href("quorums", params), "aria-current": isShown ? "page" : null }, title);
  const page = h("div", { class: "page quorums" },
    h("header", { class: "quorums-head" },
      h("div", {}, h("h1", {}, isStructure ? say("Information structures") : say("Quorums")),
        h("p", {}, isStructure
          ? say("Sanders’ generalisation: each node asks its request set R before it enters and tells its inform set I when it leaves. Two nodes exclude each other if they tell somebody in common, or ask each other.")
          : say("Each node asks only a part of the others, its quorum, before it enters. If any two quorums meet, two nodes never get in together; the construction decides what that costs and how many crashes it survives."))),
      h("nav", { class: "toolbar", "aria-label": say("Quorums or structures") },
        tab(say("Quorum systems"), {}, !isStructure), tab(say("Information structures"), { show: "structures" }, isStructure))));
  root.append(page);
  return isStructure ? showStructure(page, address.params) : showSystem(page, address.params);
}
