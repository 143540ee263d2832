// Under the diagram: what is happening in words, and what a scenario says about it.
import { h } from "../lib/dom.js";
import { href } from "../lib/address.js";
import { language, say, translated } from "../lib/language.js";
import { FiredRule } from "./rulebook.js";
import { told } from "./words.js";
import { inUnits } from "./units.js";

/** The caption of the diagram. */
export class Caption {
  /** @param {(position: number) => void} jump */
  constructor(jump) {
    this.jump = jump;
    this.title = h("strong", { "data-test": "play-title" });
    this.text = h("span", { "data-test": "play-note" });
    this.back = h("button", { type: "button", class: "icon", title: say("The note before"), "aria-label": say("The note before"), "data-test": "note-back", onclick: () => this.go(-1) }, h("span", { "aria-hidden": "true" }, "‹"));
    this.next = h("button", { type: "button", class: "icon", title: say("The next note"), "aria-label": say("The next note"), "data-test": "note-next", onclick: () => this.go(1) }, h("span", { "aria-hidden": "true" }, "›"));
    this.count = h("span", { class: "small muted nowrap" });
    this.onward = h("a", { class: "play-onward", hidden: true, "data-test": "play-onward" });
    this.doubt = h("p", { class: "notice unsure small", hidden: true, "data-test": "play-doubts" });
    this.walk = h("div", { class: "play-note-walk" }, this.back, this.count, this.next);
    this.note = h("div", { class: "notice play-note", hidden: true },
      h("div", { class: "play-note-text" }, this.title, " ", this.text, " ", this.onward), this.walk);
    this.words = h("span", { "data-test": "play-told" });
    this.time = h("span", { class: "mono play-time" });
    this.rest = h("span", { class: "small muted nowrap", "data-test": "play-rest" });
    this.line = h("div", { class: "play-told" }, this.time, this.words, this.rest);
    this.rule = new FiredRule();
    this.element = h("div", { class: "play-caption" }, this.doubt, this.note, h("div", { class: "play-step-words" }, this.line, this.rule.element));
    /** @type {import("../wire.js").Note[]} */
    this.notes = [];
    this.summary = "";
    /** @type {import("./link.js").Story | undefined} */
    this.item = undefined;
    /** @type {import("./model.js").RunModel | null} */
    this.model = null;
    this.position = 0;
    /** From where on the notes no longer fit: another history begins there. */
    this.until = Infinity;
  }

  /**
   * Takes the notes of a scenario, or none, and what comes after it in the lecture.
   * @param {import("./link.js").Story | undefined} item
   * @param {import("../wire.js").GalleryItem} [next]
   */
  tell(item, next) {
    this.onward.textContent = next ? say("Next in the lecture: {title} →", { title: translated(next.title) }) : "";
    if (next) this.onward.setAttribute("href", href("play", { scenario: next.name }));
    this.note.hidden = !item;
    this.item = item;
    this.title.textContent = item ? `${translated(item.title)}.` : "";
    this.summary = item?.summary ?? "";
    this.notes = (item?.notes ?? []).toSorted((a, b) => a.at - b.at);
    this.walk.hidden = this.notes.length === 0;
    this.until = Infinity;
  }

  /** What is said about the run, as far as it fits. @returns {import("../wire.js").RunPage} */
  told() {
    return { title: this.item?.title ?? "", lang: language, summary: this.summary, notes: this.notes.filter(({ at }) => at <= this.until) };
  }

  /**
   * @param {import("./model.js").RunModel} model
   * @param {number} position
   * @param {boolean} playing
   */
  show(model, position, playing) {
    this.model = model;
    this.position = position;
    const words = told(model, position);
    this.rest.textContent = playing ? "" : atRest(model, position);
    const doubts = this.until === Infinity ? (model.end?.doubts ?? []) : [];
    this.doubt.hidden = doubts.length === 0;
    this.doubt.textContent = doubts.length === 0 ? "" : say("What the notes say is not so in this run: {doubts}.", { doubts: doubts.map(translated).join("; ") });
    if (this.words.textContent !== words) this.words.textContent = words;
    this.words.title = words;
    this.time.textContent = `t = ${inUnits(model.timeAt(position), model.header)}`;
    const at = this.#current();
    const text = translated(at >= 0 ? this.notes[at].text : this.summary);
    const said = position > this.until ? say("This is another history now: what you did by hand has changed it.") : text;
    if (this.text.textContent !== said) this.text.textContent = said;
    this.count.textContent = this.notes.length > 0 ? `${at + 1} / ${this.notes.length}` : "";
    this.back.disabled = at <= 0 && position === 0;
    this.next.disabled = at + 1 >= this.notes.length;
    this.onward.hidden = this.onward.textContent === "" || !this.next.disabled;
  }

  /** Which note is shown now; -1 before the first. */
  #current() {
    let found = -1;
    this.notes.forEach((note, k) => { if (note.at <= this.position) found = k; });
    return found;
  }

  /**
   * Goes to another note; from between two notes, back to the one that is shown. Says whether there was one to go to.
   * @param {1 | -1} by
   * @returns {boolean}
   */
  go(by) {
    const at = this.#current();
    const past = by < 0 && at >= 0 && this.position > (this.model?.roundUp(this.notes[at].at) ?? 0);
    const to = past ? at : at + by;
    if (this.notes.length === 0 || to >= this.notes.length || (to < 0 && this.position === 0)) return false;
    this.jump(to < 0 ? 0 : this.notes[to].at);
    return true;
  }

  /**
   * Whether a note begins to be shown between two positions.
   * @param {number} from
   * @param {number} to
   */
  begins(from, to) {
    return to <= this.until && this.notes.some(({ at }) => from < at && at <= to);
  }

  /** What is said now: the step, why, and the note that has just begun. */
  get said() {
    const step = this.model ? this.model.stepsBefore(this.position) - 1 : -1;
    const isNew = this.position === 0 || (step >= 0 && this.begins(this.model?.steps[step] ?? 0, this.position));
    return [this.words.textContent, this.rule.said, this.rest.textContent, isNew ? this.text.textContent : ""].filter(Boolean).join(" ");
  }
}

/**
 * What to do when nothing goes on by itself.
 * @param {import("./model.js").RunModel} model
 * @param {number} position
 */
function atRest(model, position) {
  if (!model.end || !model.header.may_act) return "";
  if (position < model.length) return model.records[model.steps[model.stepsBefore(position) - 1]]?.by_hand ? say("Space plays on.") : "";
  if (model.end.reason !== "over") return "";
  return model.length === 0 ? say("Click a node to begin.") : say("The end: click a node to go on.");
}
