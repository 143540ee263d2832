// Files: out by download, in by drag and drop or by choice.
import { h } from "./dom.js";

/**
 * Offers a text, or bytes, as a file.
 * @param {string} name
 * @param {string | Uint8Array<ArrayBuffer>} content
 * @param {string} type
 */
export function download(name, content, type) {
  const address = URL.createObjectURL(new Blob([content], { type }));
  // A program that is an algorithm has a path for its name.
  const link = h("a", { href: address, download: name.replace(/^.*\//, "") });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/**
 * Takes files that are dropped onto `place`; it shows while a file is over it.
 * @param {HTMLElement} place
 * @param {(file: File) => void} taken
 * @param {AbortSignal} [signal] ends it, for a place that lives on
 */
export function dropZone(place, taken, signal) {
  let depth = 0;
  const over = (/** @type {number} */ by) => {
    depth = Math.max(0, depth + by);
    place.classList.toggle("dropping", depth > 0);
  };
  const carriesFiles = (/** @type {DragEvent} */ event) => event.dataTransfer?.types.includes("Files") ?? false;
  place.addEventListener("dragenter", (event) => { if (carriesFiles(event)) over(1); }, { signal });
  place.addEventListener("dragleave", (event) => { if (carriesFiles(event)) over(-1); }, { signal });
  place.addEventListener("dragover", (event) => { if (carriesFiles(event)) event.preventDefault(); }, { signal });
  place.addEventListener("drop", (event) => {
    if (!carriesFiles(event)) return;
    event.preventDefault();
    depth = 0;
    over(0);
    const file = event.dataTransfer?.files[0];
    if (file) taken(file);
  }, { signal });
}

/**
 * A button that lets the user choose a file.
 * @param {string} label
 * @param {string} accept
 * @param {(file: File) => void} taken
 * @returns {HTMLElement}
 */
export function fileButton(label, accept, taken) {
  const input = h("input", { type: "file", accept, hidden: true, onchange: () => {
    const file = input.files?.[0];
    if (file) taken(file);
    input.value = "";
  } });
  return h("span", {}, input, h("button", { type: "button", onclick: () => input.click() }, label));
}
