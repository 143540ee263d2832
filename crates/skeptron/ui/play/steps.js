// The steps in words: a list of which only what is in sight exists.
import { h } from "../lib/dom.js";
import { say } from "../lib/language.js";
import { told } from "./words.js";
import { inUnits } from "./units.js";

const ROW = 25;

/** The list of steps. */
export class Steps {
  /** @param {(position: number) => void} jump */
  constructor(jump) {
    this.jump = jump;
    this.filler = h("ol", { class: "play-steps-all" });
    this.element = h("div", { class: "play-steps", tabindex: 0, role: "region", "aria-label": say("Steps"), "data-test": "play-steps", onscroll: () => this.#fill() }, this.filler);
    /** @type {import("./model.js").RunModel | null} */
    this.model = null;
    this.current = -1;
    this.first = -1;
    this.last = -1;
    this.known = -1;
  }

  /**
   * @param {import("./model.js").RunModel} model
   * @param {number} position
   */
  show(model, position) {
    const current = model.stepsBefore(position) - 1;
    if (model === this.model && current === this.current && model.steps.length === this.known && this.first >= 0) return;
    this.model = model;
    this.current = current;
    this.known = model.steps.length;
    this.first = -1;
    this.filler.style.height = `${model.steps.length * ROW}px`;
    this.#reveal();
    this.#fill();
  }

  /** Forgets what is drawn: records were replaced. */
  renew() {
    this.known = -1;
  }

  #reveal() {
    const y = Math.max(0, this.current) * ROW;
    const { scrollTop, clientHeight } = this.element;
    if (clientHeight > 0 && (y < scrollTop + ROW || y > scrollTop + clientHeight - 3 * ROW)) this.element.scrollTop = y - clientHeight / 2;
  }

  #fill() {
    const { model } = this;
    if (!model || this.element.clientHeight === 0) return;
    const first = Math.max(0, Math.floor(this.element.scrollTop / ROW) - 3);
    const last = Math.min(model.steps.length, first + Math.ceil(this.element.clientHeight / ROW) + 6);
    if (first === this.first && last === this.last) return;
    this.first = first;
    this.last = last;
    const rows = [];
    for (let step = first; step < last; step++) rows.push(this.#row(model, step));
    this.filler.replaceChildren(...rows);
  }

  /**
   * @param {import("./model.js").RunModel} model
   * @param {number} step
   */
  #row(model, step) {
    const end = model.positionAfter(step + 1);
    const words = told(model, end);
    const state = step === this.current ? "now" : step < this.current ? "past" : "later";
    const item = h("li", { class: `play-step ${state}` },
      h("button", { type: "button", class: "quiet", tabindex: -1, "data-step": step + 1, title: words, "aria-current": step === this.current ? "step" : false, onclick: () => this.jump(end) },
        h("span", { class: "mono play-step-t" }, inUnits(model.records[model.steps[step]].t, model.header)), h("span", { class: "play-step-told" }, words)));
    item.style.top = `${step * ROW}px`;
    return item;
  }
}
