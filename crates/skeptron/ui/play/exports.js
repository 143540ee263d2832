// Out and in: the run as a file, the command that makes it, a recorded run from a file.
import { h, clear } from "../lib/dom.js";
import { getText } from "../lib/api.js";
import { commandLine } from "../lib/command.js";
import { download, fileButton } from "../lib/files.js";

const FORMATS = [
  { format: "svg", title: "Picture (SVG)", ending: "svg", type: "image/svg+xml" },
  { format: "jsonl", title: "Replayable run (JSON Lines)", ending: "jsonl", type: "application/jsonl" },
  { format: "mmd", title: "Mermaid", ending: "mmd", type: "text/plain" },
  { format: "shiviz", title: "ShiViz", ending: "shiviz", type: "text/plain" },
  { format: "txt", title: "Timeline (text)", ending: "txt", type: "text/plain" },
  { format: "perfetto", title: "Perfetto", ending: "json", type: "application/json" },
];

/** The largest file that is taken: the server takes no more. */
const LARGEST_FILE = 16 * 1024 * 1024;

/**
 * The buttons that bring runs out and in.
 * @param {{ session: () => import("./session.js").Session | null, take: (text: string) => void, failed: (error: unknown) => void }} given
 * @returns {{ element: HTMLElement, show: () => void, read: (file: File) => void }}
 */
export function exportsAndImports({ session, take, failed }) {
  const place = h("div", { "data-test": "play-command" });
  const line = h("div", { class: "play-command-line" }, h("span", { class: "small muted" }, "The same run on the command line:"), place);
  const none = h("p", { class: "small muted" }, "What was done by hand has no command; export JSON Lines and replay it: skeptron sim --replay FILE.");
  const buttons = FORMATS.map(({ format, title, ending, type }) => h("button", { type: "button", class: "quiet", "data-test": `export-${format}`, onclick: async () => {
    const run = session();
    if (!run?.model) return;
    try {
      download(`${run.model.header.algorithm}.${ending}`, await getText(run.path(`/export?format=${format}`)), type);
    } catch (error) {
      failed(error);
    }
  } }, title));
  const box = h("div", { class: "play-popup", popover: "auto", id: "play-export", "data-test": "play-export" }, h("h3", {}, "Export this run"), buttons, line, none);
  const open = h("button", { type: "button", popovertarget: "play-export", "data-test": "play-export-open" }, "Export");
  box.addEventListener("toggle", (event) => { if (/** @type {ToggleEvent} */ (event).newState === "open") below(box, open); });
  const read = async (/** @type {File} */ file) => {
    if (file.size > LARGEST_FILE) return failed(new Error(`${file.name} is larger than 16 MB; record a shorter run, with fewer --entries`));
    take(await file.text());
  };
  const choose = fileButton("Import", ".jsonl,.json,application/jsonl", read);
  choose.title = "Play a recorded run: a .jsonl file of sim or check; or drop it anywhere here";
  choose.dataset.test = "play-import";
  return {
    element: h("div", { class: "toolbar" }, open, choose, box),
    show: () => {
      const text = session()?.model?.header.command ?? null;
      const byHand = (session()?.acts.length ?? 0) > 0;
      clear(place);
      if (text) place.append(commandLine(text));
      line.hidden = !text || byHand;
      none.hidden = !byHand;
    },
    read,
  };
}

/**
 * Puts a box below its button, within the window.
 * @param {HTMLElement} box
 * @param {HTMLElement} button
 */
export function below(box, button) {
  const place = button.getBoundingClientRect();
  box.style.top = `${place.bottom + 4}px`;
  box.style.left = `${Math.max(8, Math.min(place.left, innerWidth - box.offsetWidth - 8))}px`;
}
