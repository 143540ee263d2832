// What is said of a run, written by hand: a title, a summary, and notes at steps; saved as a scenario.
import { h, clear } from "../lib/dom.js";
import { getText } from "../lib/api.js";
import { download } from "../lib/files.js";
import { field } from "../lib/form.js";
import { say, translated } from "../lib/language.js";

/** @typedef {import("./model.js").RunModel} RunModel */
/** @typedef {import("./link.js").Story} Story */
/** @typedef {import("../wire.js").Note} Note */
/** A scenario as a file. @typedef {Story & { sim?: import("../wire.js").SimOptions, trace?: string, acts?: import("../wire.js").Act[] }} Example */

/** What a run is called until somebody calls it something else. */
const UNNAMED = say("A scenario of mine");
/** Records that say nothing of what is seen. */
const UNSEEN = new Set(["arm", "disarm", "violation"]);

/** The panel in which notes are written. */
export class Notes {
  /**
   * @param {{ session: () => import("./session.js").Session | null, position: () => number, jump: (position: number) => void,
   *   changed: (story: Story) => void, failed: (error: unknown) => void }} given
   */
  constructor(given) {
    this.given = given;
    /** @type {Story} */
    this.story = { title: "", summary: "", notes: [] };
    this.title = h("input", { type: "text", class: "grow", "data-test": "notes-title", placeholder: UNNAMED, onchange: () => this.#change({ title: this.title.value }) });
    this.summary = h("textarea", { rows: 2, "data-test": "notes-summary", onchange: () => this.#change({ summary: this.summary.value }) });
    this.list = h("ol", { class: "notes-list", "data-test": "notes-list" });
    this.here = h("button", { type: "button", class: "primary", "data-test": "notes-add", onclick: () => this.#add() });
    const save = h("button", { type: "button", "data-test": "notes-save", onclick: () => this.#save().catch(given.failed) }, say("Save scenario"));
    this.element = h("div", { class: "play-notes" },
      h("p", { class: "small" }, say("Go to a step and say what is to be seen there. The scenario is saved as a file: Import opens it, and skeptron lab --gallery DIR shows all that lie in a folder.")),
      field(say("Title"), this.title), field(say("Summary"), this.summary), h("div", { class: "toolbar" }, this.here, save), this.list);
  }

  /** Takes what is said of another run. @param {Story | undefined} story */
  tell(story) {
    const { title, summary, notes } = story ?? { title: "", summary: "", notes: [] };
    this.story = { title: translated(title), summary: translated(summary), notes: notes.map((note) => ({ ...note, text: translated(note.text) })).sort((a, b) => a.at - b.at) };
    this.#fill();
  }

  /** Shows where a note would be written. */
  show() {
    const { model } = this.given.session() ?? {};
    const position = this.given.position();
    const step = model?.stepsBefore(position) ?? 0;
    this.here.textContent = say("Write a note at step {step}", { step });
    this.here.disabled = this.story.notes.some((note) => note.at === position);
    // Which step a note stands at is known once the run is.
    this.list.querySelectorAll("li").forEach((item, k) => {
      const { at } = this.story.notes[k];
      const name = say("Step {step}", { step: model?.stepsBefore(at) ?? 0 });
      item.classList.toggle("now", at === position);
      /** @type {HTMLElement} */ (item.querySelector("button")).textContent = name;
      item.querySelector("textarea")?.setAttribute("aria-label", say("Note at {name}", { name }));
    });
  }

  #fill() {
    this.title.value = this.story.title;
    this.summary.value = this.story.summary;
    clear(this.list);
    this.story.notes.forEach((note, k) => this.list.append(this.#item(note, k)));
    this.show();
  }

  /**
   * @param {Note} note
   * @param {number} k
   */
  #item(note, k) {
    const text = h("textarea", { rows: 3, "data-test": `note-${k + 1}`,
      onchange: () => this.#change({ notes: this.story.notes.with(k, { ...note, text: text.value }) }) });
    text.value = note.text;
    return h("li", {},
      h("div", { class: "toolbar" },
        h("button", { type: "button", class: "quiet", onclick: () => this.given.jump(note.at) }),
        h("button", { type: "button", class: "quiet", "data-test": `note-delete-${k + 1}`, onclick: () => { this.#change({ notes: this.story.notes.toSpliced(k, 1) }); this.#fill(); } }, say("Delete"))),
      text);
  }

  #add() {
    const model = this.given.session()?.model;
    if (!model) return;
    const at = this.given.position();
    const note = { at, text: "", facts: factsOf(model, at) };
    const notes = [...this.story.notes, note].sort((a, b) => a.at - b.at);
    this.#change({ notes });
    this.#fill();
    this.list.querySelectorAll("textarea")[notes.indexOf(note)]?.focus();
  }

  /** @param {Partial<Story>} part */
  #change(part) {
    this.story = { ...this.story, ...part };
    this.given.changed(this.story);
  }

  async #save() {
    const session = this.given.session();
    if (!session?.model) return;
    const { header } = session.model;
    const { title, summary, notes } = this.story;
    const run = header.recorded ? { trace: await getText(session.path("/export?format=jsonl")) } : { sim: header.sim, acts: session.acts };
    const example = { title: title || UNNAMED, summary, ...run, notes };
    const name = (title || UNNAMED).toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");
    download(`${name}.json`, `${JSON.stringify(example, null, 2)}\n`, "application/json");
  }
}

/**
 * The scenario that a file is; null if it is none.
 * @param {string} text
 * @returns {Example | null}
 */
export function isScenario(text) {
  try {
    const example = JSON.parse(text);
    if (typeof example?.title !== "string" || !(example.sim || example.trace)) return null;
    return { ...example, summary: example.summary ?? "", notes: example.notes ?? [] };
  } catch {
    return null;
  }
}

/**
 * What happened in the step that ends at a position: a note that is written there speaks of it, and the server says
 * if in another run it is not so.
 * @param {RunModel} model
 * @param {number} position
 * @returns {Note["facts"]}
 */
export function factsOf(model, position) {
  const step = model.stepsBefore(position) - 1;
  if (step < 0) return [];
  const facts = [];
  for (let record = model.steps[step]; record < position; record++) {
    const { node, kind, message, leader, whom } = model.records[record];
    if (UNSEEN.has(kind)) continue;
    const known = message === undefined ? undefined : model.messages.byId.get(message);
    if (known === undefined) {
      const peer = leader ?? whom;
      facts.push({ record, node, kind, ...(peer === undefined ? {} : { peer }) });
      continue;
    }
    const { labels, label, from, to } = model.messages;
    facts.push({ record, node, kind, label: labels[label[known]], peer: (kind === "deliver" ? from : to)[known] + 1 });
  }
  return facts;
}
