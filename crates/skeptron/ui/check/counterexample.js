// A counterexample: a recorded run that is played, or taken along as a file.
import { h } from "../lib/dom.js";
import { href, pack } from "../lib/address.js";
import { download } from "../lib/files.js";
import { say } from "../lib/language.js";

/**
 * The address that plays a recorded run from its first step, or another position.
 * @param {string} trace
 * @param {number} [at]
 * @returns {Promise<string>}
 */
export async function playing(trace, at = 1) {
  return href("play", { trace: await pack(trace), at: String(at) });
}

/**
 * What can be done with a counterexample.
 * @param {string} trace JSON Lines
 * @param {string} name of the file
 * @param {number} [at] where it is opened
 * @returns {HTMLElement}
 */
export function counterexample(trace, name, at) {
  const open = h("a", { class: "button", "data-test": "open-in-play" }, say("Open in Play"));
  playing(trace, at).then((address) => open.setAttribute("href", address));
  const save = h("button", {
    type: "button", "data-test": "download-trace",
    onclick: () => download(`${name}.jsonl`, trace, "application/jsonl"),
  }, say("Download .jsonl"));
  return h("span", { class: "toolbar" }, open, save);
}
