// Out and in: the run as a file or as pictures, the command that makes it, a recorded run from a file.
import { h, clear, picture } from "../lib/dom.js";
import { getText, postText } from "../lib/api.js";
import { commandLine } from "../lib/command.js";
import { download, fileButton } from "../lib/files.js";
import { choice, field } from "../lib/form.js";
import { recordedAnswer, standalone } from "../lib/recorded.js";
import { sheet } from "../lib/sheet.js";
import { say, translated } from "../lib/language.js";
import { toPdf } from "../picture/pdf.js";
import { sheetOf } from "../picture/shapes.js";
import { toPng, toSvg } from "../picture/svg.js";
import { toTikz } from "../picture/tikz.js";
import { zip } from "../picture/zip.js";
import { put } from "./menu.js";
import { draw } from "./pictures.js";

/** @typedef {import("./pictures.js").Subject} Subject */
/** @typedef {import("./pictures.js").Part} Part */
/** @typedef {import("../picture/shapes.js").Picture} Picture */
/**
 * What is exported, and from where.
 * @typedef {object} Given
 * @property {() => import("./session.js").Session | null} session
 * @property {(text: string) => void} take a recorded run
 * @property {(error: unknown) => void} failed
 * @property {() => import("./pictures.js").Shown} shown
 * @property {() => number} position
 * @property {(position: number) => Promise<void>} go to a position, and show all of it
 * @property {() => import("../wire.js").RunPage} told what is said about the run
 */

const FORMATS = [
  { format: "jsonl", title: say("Replayable run (JSON Lines)"), ending: "jsonl", type: "application/jsonl" },
  { format: "svg", title: say("Whole run as a diagram with tooltips (SVG)"), ending: "svg", type: "image/svg+xml" },
  { format: "tex", title: say("Whole run as a diagram (TikZ)"), ending: "tex", type: "text/plain" },
  { format: "mmd", title: "Mermaid", ending: "mmd", type: "text/plain" },
  { format: "shiviz", title: "ShiViz", ending: "shiviz", type: "text/plain" },
  { format: "txt", title: say("Timeline (text)"), ending: "txt", type: "text/plain" },
  { format: "perfetto", title: "Perfetto", ending: "json", type: "application/json" },
];

/** The largest file that is taken: the server takes no more. */
const LARGEST_FILE = 16 * 1024 * 1024;
/** More pictures than this are more than anybody looks at. */
const MOST_PICTURES = 400;
/** Dots of a PNG for each pixel: sharp on a beamer, too. */
const DOTS = 2;

/**
 * The buttons that bring runs out and in.
 * @param {Given} given
 * @returns {{ element: HTMLElement, show: () => void, read: (file: File) => void, end: () => void }}
 */
export function exportsAndImports(given) {
  sheet("/ui/play/exports.css");
  const { session, take, failed } = given;
  const place = h("div", { "data-test": "play-command" });
  const line = h("div", { class: "play-command-line" }, h("span", { class: "small muted" }, say("The same run on the command line:")), place);
  const none = h("p", { class: "small muted" }, say("What was done by hand has no command; export JSON Lines and replay it: skeptron sim --replay FILE."));
  const tried = (/** @type {() => Promise<void>} */ deed) => () => deed().catch(failed);
  const files = FORMATS.map(({ format, title, ending, type }) => h("button", { type: "button", class: "quiet", "data-test": `export-${format}`, "data-path": `/export?format=${format}`, onclick: tried(async () => {
    const run = session();
    if (run?.model) download(`${run.model.header.algorithm}.${ending}`, await getText(run.path(`/export?format=${format}`)), type);
  }) }, title));
  const page = h("button", { type: "button", class: "quiet", "data-test": "export-html", "data-path": "/page", onclick: tried(async () => {
    const run = session();
    if (run?.model) download(`${run.model.header.algorithm}.html`, await postText(run.path("/page"), given.told()), "text/html");
  }) }, say("Page that plays it, without a server (HTML)"));
  const print = h("button", { type: "button", class: "quiet", "data-test": "export-print", onclick: () => window.print() }, say("Print the view"));
  const pictures = new Pictures(given);
  const box = h("div", { class: "play-popup", popover: "auto", id: "play-export", "data-test": "play-export" },
    h("h3", {}, say("Picture of what I see")), pictures.element, h("h3", {}, say("This run")), page, print, files, line, none);
  const open = h("button", { type: "button", popovertarget: "play-export", "data-test": "play-export-open" }, say("Export"));
  box.addEventListener("toggle", (event) => {
    if (/** @type {ToggleEvent} */ (event).newState !== "open") return;
    pictures.show();
    // A page without a server has only what it carries.
    const run = session();
    for (const button of [page, ...files]) button.hidden = standalone && recordedAnswer(run?.path(button.dataset.path ?? "") ?? "") === undefined;
    const { left, bottom } = open.getBoundingClientRect();
    put(box, left, bottom + 4);
  });
  const read = async (/** @type {File} */ file) => {
    if (file.size > LARGEST_FILE) return failed(new Error(say("{file} is larger than 16 MB; record a shorter run, with fewer --entries", { file: file.name })));
    take(await file.text());
  };
  const choose = fileButton(say("Import"), ".jsonl,.json,application/jsonl", read);
  choose.title = say("Play a recorded run: a .jsonl file of sim or check; or drop it anywhere here");
  choose.dataset.test = "play-import";
  return {
    element: h("div", { class: "toolbar" }, open, standalone ? null : choose, box),
    show: () => {
      const text = session()?.model?.header.command ?? null;
      const byHand = (session()?.acts.length ?? 0) > 0;
      clear(place);
      if (text) place.append(commandLine(text));
      line.hidden = !text || byHand;
      none.hidden = !byHand;
    },
    read,
    end: printing(given),
  };
}

/** Which picture, of what, in which format. */
class Pictures {
  /** @param {Given} given */
  constructor(given) {
    this.given = given;
    const pick = (/** @type {string} */ test, /** @type {[string, string][]} */ choices) => choice(choices.map(([value, title]) => ({ value, title })), choices[0][0], () => this.show(), { "data-test": test });
    this.subject = pick("picture-subject", [["diagram", say("Diagram")], ["topology", say("Topology")], ["grid", say("Staircase, queues or numbers")], ["states", say("State table")]]);
    this.part = pick("picture-part", [["sight", say("what is in sight")], ["run", say("whole run")], ["steps", say("some steps")]]);
    this.each = pick("picture-each", [["one", say("one")], ["step", say("one for each step")], ["note", say("one for each note")], ["step-sheet", say("all steps on one sheet")], ["note-sheet", say("all notes on one sheet")]]);
    this.format = pick("picture-format", [["svg", "SVG"], ["png", "PNG"], ["pdf", "PDF"], ["tex", "TikZ"]]);
    this.steps = h("input", { type: "text", placeholder: say("4..9 or 3,9,21"), "data-test": "picture-steps" });
    this.range = field(say("Steps"), this.steps, say("From one to another, as in 4..9, or some, as in 3,9,21"));
    this.dark = h("input", { type: "checkbox", "data-test": "picture-as-page" });
    this.save = h("button", { type: "button", class: "primary", "data-test": "picture-save", onclick: () => this.#save().catch(given.failed) }, say("Save picture"));
    this.element = h("div", { class: "play-pictures" },
      h("div", { class: "fields" }, field(say("Picture"), this.subject), field(say("Part"), this.part), field(say("How many"), this.each), field(say("Format"), this.format)), this.range,
      h("div", { class: "toolbar" }, h("label", { class: "tick", title: say("Else dark on white") }, this.dark, say("in the page’s colours")), this.save));
  }

  /** Shows what can be chosen. */
  show() {
    this.range.hidden = this.part.value !== "steps";
    const silent = this.given.told().notes.length === 0;
    for (const option of this.each.options) option.disabled = silent && option.value.startsWith("note");
    const grid = this.subject.querySelector('[value="grid"]');
    if (grid instanceof HTMLOptionElement) grid.disabled = !this.given.shown().grid;
  }

  async #save() {
    const { given, format } = this;
    const model = given.session()?.model;
    if (!model) return;
    this.save.disabled = true;
    const here = given.position();
    try {
      const all = await this.#pictures(model);
      if (all.length === 0) throw new Error(say("there is no note among these steps; choose others"));
      const made = this.each.value.endsWith("-sheet") ? [{ title: "", picture: sheetOf(all, this.#caption()) }] : all;
      const name = `${model.header.algorithm}-${this.subject.value}`;
      await save(name, format.value, made);
    } finally {
      this.save.disabled = false;
      await given.go(here);
    }
  }

  /** What is said once below a sheet, not below each of its pictures. */
  #caption() {
    return this.each.value.endsWith("-sheet") && this.subject.value === "topology" ? this.given.shown().caption : "";
  }

  /**
   * @param {import("./model.js").RunModel} model
   * @returns {Promise<{ title: string, picture: Picture }[]>}
   */
  async #pictures(model) {
    const { given, part, each } = this;
    const shared = this.#caption();
    const all = model.steps.length;
    const steps = part.value === "steps" ? stepsOf(this.steps.value, all) : Array.from({ length: all }, (_, k) => k + 1);
    const [from, to] = [steps[0] ?? 1, steps.at(-1) ?? 1];
    /** @type {Part} */
    const time = part.value === "sight" ? "sight" : { from, to };
    const last = model.positionAfter(to);
    const notes = given.told().notes.map(({ at }) => model.roundUp(at)).filter((at) => part.value !== "steps" || (at >= model.positionAfter(from - 1) && at <= last));
    const positions = each.value.startsWith("note") ? [...new Set(notes)]
      : each.value.startsWith("step") ? steps.map((step) => model.positionAfter(step))
        : [part.value === "sight" ? given.position() : last];
    if (positions.length > MOST_PICTURES) throw new Error(say("these are {count} pictures; choose at most {most} steps", { count: positions.length, most: MOST_PICTURES }));
    const made = [];
    for (const position of positions) {
      if (position !== given.position()) await given.go(position);
      made.push({ title: say("Step {step}", { step: model.stepsBefore(position) }), picture: draw(/** @type {Subject} */ (this.subject.value), time, shared ? { ...given.shown(), caption: "" } : given.shown(), !this.dark.checked) });
    }
    return made;
  }
}

/**
 * Steps as people write them: 4..9, or 3,9,21.
 * @param {string} text
 * @param {number} most
 * @returns {number[]} in order
 */
function stepsOf(text, most) {
  const steps = new Set();
  for (const part of text.split(",")) {
    const [from, to = from] = part.split("..").map((word) => (word.trim() === "" ? NaN : Number(word)));
    if (!(Number.isInteger(from) && Number.isInteger(to) && 0 <= from && from <= to && to <= most)) throw new Error(say("“{text}” are no steps of this run, which has {most}; write 4..9, or 3,9,21", { text, most }));
    for (let step = from; step <= to; step++) steps.add(step);
  }
  return [...steps].sort((a, b) => a - b);
}

/**
 * Saves pictures: one as itself, several as the pages of a PDF or together in a ZIP.
 * @param {string} name
 * @param {string} format
 * @param {{ title: string, picture: Picture }[]} made
 */
async function save(name, format, made) {
  if (format === "pdf") return download(`${name}.pdf`, toPdf(made.map(({ picture }) => picture)), "application/pdf");
  const encoder = new TextEncoder();
  const write = async (/** @type {Picture} */ picture) => (format === "png" ? toPng(picture, DOTS) : encoder.encode(format === "tex" ? toTikz(picture) : toSvg(picture)));
  const type = { svg: "image/svg+xml", png: "image/png", tex: "application/x-tex" }[format] ?? "text/plain";
  if (made.length === 1) return download(`${name}.${format}`, await write(made[0].picture), type);
  const files = [];
  for (const { title, picture } of made) files.push({ name: `${name}-${title.replace(/(\d+)/, (step) => step.padStart(3, "0")).replace(" ", "-").toLowerCase()}.${format}`, bytes: await write(picture) });
  download(`${name}.zip`, zip(files), "application/zip");
}

/**
 * What is printed instead of the view: all of it, on white, one below the other.
 * @param {Given} given
 * @returns {() => void} what ends it
 */
function printing(given) {
  const ending = new AbortController();
  const { signal } = ending;
  /** @type {HTMLElement | null} */
  let printed = null;
  addEventListener("beforeprint", () => {
    printed?.remove();
    if (!given.session()?.model) return;
    const shown = given.shown();
    const { title, summary, notes } = given.told();
    const note = notes.findLast(({ at }) => at <= given.position())?.text ?? summary;
    const parts = /** @type {Subject[]} */ (["diagram", "topology", "states"]).filter((subject) => subject !== "states" || shown.states);
    printed = h("section", { class: "play-printed" }, h("h1", {}, translated(title)), h("p", {}, translated(note)), parts.map((subject) => picture(toSvg(draw(subject, "sight", shown, true)))));
    document.body.append(printed);
  }, { signal });
  addEventListener("afterprint", () => { printed?.remove(); }, { signal });
  return () => { ending.abort(); printed?.remove(); };
}
