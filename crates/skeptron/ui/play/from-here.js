// “Check from here”: the checker explores everything that can follow the state in sight.
import { h, complaint } from "../lib/dom.js";
import { href } from "../lib/address.js";
import { getText } from "../lib/api.js";
import { commandLine } from "../lib/command.js";
import { job } from "../lib/job.js";
import { say, translated } from "../lib/language.js";
import { standalone } from "../lib/recorded.js";
import { counterexample } from "../check/counterexample.js";
import { short } from "../check/live.js";
import { property } from "../check/properties.js";

/** @typedef {import("../wire.js").CheckResult} CheckResult */
/** @typedef {import("./model.js").RunModel} RunModel */
/**
 * @typedef {object} Given
 * @property {() => import("./session.js").Session | null} session
 * @property {() => number} position
 */

/** With more nodes than this only what has been asked already is explored, unless more is wished. */
const FEW = 3;
/** Of a larger election not all runs can be explored soon. */
const MOST_ELECTING = 3;

/** The question, and its answer. */
export class FromHere {
  /** @param {Given} given */
  constructor(given) {
    this.given = given;
    /** How many nodes the wish is for. */
    this.nodes = 0;
    this.elects = false;
    this.button = h("button", { type: "button", "data-test": "check-from-here", onclick: () => this.#ask() }, say("Check from here"));
    this.requests = h("input", { type: "text", class: "play-narrow", autocomplete: "off", spellcheck: "false", "data-test": "from-here-requests" });
    this.why = h("p", { class: "small muted" });
    this.instead = h("a", { "data-test": "check-from-beginning" }, say("Check it from the beginning"));
    this.answer = h("div", { "data-test": "from-here-answer" });
    this.work = job({ name: say("Search"), changed: (running) => { this.button.disabled = running; } });
    this.further = h("span", {});
    this.wish = h("label", { class: "field" }, this.further, this.requests);
    this.element = h("section", { class: "play-from-here", "aria-label": say("Check from here"), "data-test": "play-from-here" },
      h("div", { class: "toolbar" }, this.button, this.wish),
      this.why, h("p", { class: "small" }, this.instead), this.work.element, this.answer);
  }

  /** Another run is shown: what was found is not of it. @param {RunModel} model */
  begin(model) {
    this.work.cancel();
    this.work.element.hidden = true;
    this.answer.replaceChildren();
    const { nodes, kind } = model.header;
    const elects = kind === "election";
    this.further.textContent = elects ? say("Further calls") : say("Further requests");
    this.wish.title = elects ? say("How many nodes may still call an election of their own accord, each at most once") : say("How often each node may still ask: a number, or one for each node, as in 1,0,2");
    if (this.nodes === nodes && this.elects === elects) return;
    [this.nodes, this.elects] = [nodes, elects];
    this.requests.value = nodes <= FEW && !elects ? "1" : "0";
  }

  /** Says whether it can be asked, and of which step. */
  show() {
    const session = this.given.session();
    const model = session?.model;
    const cannot = model && session ? hindrance(session, model, this.given.position()) : "";
    this.button.disabled = !model || cannot !== "" || this.work.running();
    this.button.textContent = model ? say("Check from here, step {step}", { step: model.stepsBefore(this.given.position()) }) : say("Check from here");
    this.instead.hidden = model?.header.kind !== "election" || standalone;
    if (model) this.instead.setAttribute("href", href("check", { algorithm: model.header.algorithm, nodes: String(Math.min(model.header.nodes, MOST_ELECTING)), crashes: "1", run: "1" }));
    this.why.textContent = cannot || (model?.header.kind === "election"
      ? say("Explores every order in which messages, alarms, detectors and further calls can come, with these states and messages, and no further faults. Time passes in bounds, as in the view Check.")
      : say("Explores every order in which what is under way, exits and further requests can come, with these states and messages, and no further faults."));
  }

  async #ask() {
    const session = this.given.session();
    const { model } = session ?? {};
    if (!session || !model) return;
    const position = this.given.position();
    const step = model.stepsBefore(position);
    this.answer.replaceChildren();
    try {
      const trace = await getText(session.path("/export?format=jsonl"));
      const more = this.requests.value.trim() || "0";
      const body = { text: trace, at: step, ...(this.elects ? { calls: wholeNumber(more) } : { requests: more }) };
      await this.work.run("/lab/check", { body, stage: ({ label, states, depth }) => ({ share: null, text: label ? translated(label) : say("{states} states, depth {depth}", { states: short(states), depth }) }),
        result: (/** @type {CheckResult} */ result) => this.#tell(result, { step, position, more }) });
    } catch (error) {
      this.answer.replaceChildren(complaint(error));
    }
  }

  /**
   * @param {CheckResult} result
   * @param {{ step: number, position: number, more: string }} asked
   */
  #tell(result, asked) {
    const broken = result.properties.filter(({ holds }) => holds === false);
    const open = result.properties.filter(({ holds }) => holds === null);
    const names = (/** @type {CheckResult["properties"]} */ of) => of.map(({ name }) => property(name).title).join(", ");
    const { step, more } = asked;
    const from = this.elects
      ? (more === "0" ? say("From step {step}, with no further call", { step }) : say("From step {step}, with further calls: {calls}", { step, calls: more }))
      : (more === "0" ? say("From step {step}, with no further request", { step }) : say("From step {step}, with further requests: {requests}", { step, requests: more }));
    const [kind, title, text] = broken.length > 0
      ? ["bad", say("✗ Something goes wrong."), `${from}: ${broken.map((judged) => `${property(judged.name).broken} ${when(judged.trace_length ?? 0, result.after)}`).join("; ")}.`]
      : result.complete && open.length === 0
        ? ["good", say("✓ Nothing goes wrong."), say("{from}, every interleaving keeps what is judged: {properties}. {states} states were seen, and nothing else can happen.", { from, properties: names(result.properties), states: short(result.states) })]
        : ["unsure", say("? Not decided."), say("{from}: the search ended early; nothing is violated within {depth} further steps. Ask for fewer requests or calls.", { from, depth: result.depth })];
    const shown = broken.filter(({ trace }) => trace).map(({ name, trace }) => h("div", { "data-property": name },
      h("span", { class: "small" }, `${property(name).title}: `), counterexample(/** @type {string} */ (trace), `from-step-${asked.step}-${name}`, asked.position)));
    this.answer.replaceChildren(
      h("div", { class: `notice ${kind}`, role: "status", "data-test": "from-here-verdict" }, h("strong", {}, `${title} `), text),
      ...shown, commandLine(result.command));
  }
}

/**
 * Why the checker cannot begin at a position; empty if it can.
 * @param {import("./session.js").Session} session
 * @param {RunModel} model
 * @param {number} position
 */
function hindrance(session, model, position) {
  if (standalone || session.id === "") return say("The checker needs the lab’s server, which has not this run.");
  if (model.header.kind === "election") return "";
  const back = model.records.findIndex(({ kind }) => kind === "restart");
  if (back < 0 || back >= position) return "";
  return say("P{node} comes back at step {step}, and the checker knows no returns: go to a step before that.", { node: model.records[back].node, step: model.stepsBefore(back) + 1 });
}

/**
 * How many; what is no whole number is refused in words.
 * @param {string} text
 */
function wholeNumber(text) {
  if (!/^\d{1,2}$/.test(text)) throw new Error(say("“{text}” is no number of calls: write a whole number, as in 0 or 2.", { text }));
  return Number(text);
}

/**
 * When it happens, said from the state in which the search began.
 * @param {number} steps of the whole run
 * @param {number} after how many of them had been taken
 */
function when(steps, after) {
  if (steps < after) return say("already before this step");
  if (steps === after) return say("here");
  return say("in {n} further steps", { n: steps - after });
}
