// A goal that is reached by hand: what is to be done, hints, and whether it is done. The run itself says so.
import { h, clear } from "../lib/dom.js";
import { href } from "../lib/address.js";
import { getJson } from "../lib/api.js";
import { say, translated } from "../lib/language.js";
import { toParams } from "./options.js";

/**
 * What must be so in the run; all that is given.
 * @typedef {object} Condition
 * @property {string} [violated] a property
 * @property {string[]} [without] none of these was done by hand
 * @property {number[]} [asked] the nodes in the order of their first requests
 * @property {number[]} [entered] the nodes in the order of their first entries
 * @property {number} [at_once] this node entered in the very step in which it asked
 */
/** @typedef {{ name: string, title: string, task: string, sim: import("../wire.js").SimOptions, goal: Condition, hints: string[] }} Goal */

/**
 * The address in which a goal is to be reached.
 * @param {Goal} goal
 */
export function goalLink(goal) {
  const params = toParams(goal.sim);
  params.set("goal", goal.name);
  params.set("at", "0");
  return href("play", params);
}

/** The banner that says what to reach. */
export class GoalBanner {
  constructor() {
    /** @type {Goal | null} */
    this.goal = null;
    this.task = h("span", { "data-test": "goal-task" });
    this.verdict = h("strong", { role: "status", "data-test": "goal-verdict" });
    this.hints = h("ol", { class: "small", "data-test": "goal-hints" });
    this.more = h("button", { type: "button", "data-test": "goal-hint", onclick: () => this.#hint() }, say("A hint"));
    this.element = h("div", { class: "notice play-goal", hidden: true, "data-test": "play-goal" },
      h("div", {}, h("strong", {}, say("Goal:")), " ", this.task, " ", this.verdict), this.hints,
      h("div", { class: "toolbar" }, this.more, h("a", { href: href("exercises") }, say("All exercises"))));
  }

  /** @param {string | null} name */
  async load(name) {
    if (!name) return;
    const { goals } = /** @type {{ goals: Goal[] }} */ (await getJson("/ui/exercises.json"));
    this.goal = goals.find((goal) => goal.name === name) ?? null;
    this.element.hidden = !this.goal;
    this.task.textContent = translated(this.goal?.task ?? "");
    clear(this.hints);
  }

  #hint() {
    const { hints } = this.goal ?? { hints: [] };
    this.hints.append(h("li", {}, translated(hints[this.hints.children.length])));
    this.more.hidden = this.hints.children.length >= hints.length;
  }

  /**
   * @param {import("./model.js").RunModel} model
   * @param {import("../wire.js").Act[]} acts
   */
  show(model, acts) {
    if (!this.goal || !model.end) return;
    const is = isReached(this.goal.goal, model, acts);
    this.verdict.textContent = is ? say("✓ Reached. Play it to its end and see.") : "";
    this.element.classList.toggle("good", is);
  }
}

/**
 * Whether a run is as it should be.
 * @param {Condition} condition
 * @param {import("./model.js").RunModel} model
 * @param {import("../wire.js").Act[]} acts
 * @returns {boolean}
 */
export function isReached({ violated, without, asked, entered, at_once }, model, acts) {
  const first = (/** @type {string} */ kind) => [...new Set(model.records.filter((record) => record.kind === kind).map((record) => record.node))];
  const begins = (/** @type {number[]} */ found, /** @type {number[]} */ wanted) => wanted.every((node, k) => found[k] === node);
  if (violated && !model.end?.verdicts.some((verdict) => verdict.property === violated && verdict.holds === false)) return false;
  if (without && acts.some((act) => without.includes(act.do))) return false;
  if (asked && !begins(first("request"), asked)) return false;
  if (entered && !begins(first("enter"), entered)) return false;
  return at_once === undefined || model.records.some((record, at) => record.kind === "enter" && record.node === at_once && model.records[at - 1]?.kind === "request" && model.records[at - 1].node === at_once);
}
