// The rules of the algorithm beside the run: those that the last step follows stand out, with their reason in values.
import { h, clear } from "../lib/dom.js";
import { say } from "../lib/language.js";
import { casesOf, fired, stepAt } from "./rules.js";
import { withRuns } from "./values.js";

/** @typedef {import("./rules.js").Fired} Fired */

/** Under the diagram: the rule that has just fired, and why. */
export class FiredRule {
  constructor() {
    this.element = h("div", { class: "play-fired", "data-test": "play-fired" });
    /** What is shown, in words. */
    this.said = "";
  }

  /**
   * @param {Fired[]} rules
   * @param {string | undefined} flaw what is wrong with the algorithm, where none of its rules says what the node did
   */
  show(rules, flaw) {
    // Of several rules the last one decided; the others prepared it.
    const chief = rules.findLast(({ reason }) => reason) ?? rules.at(-1);
    const said = chief ? `${say("Rule {number}", { number: chief.number })}: ${chief.reason || chief.text}` : flaw ? `${say("No rule")}: ${flaw}` : "";
    if (said === this.said) return;
    this.said = said;
    clear(this.element);
    this.element.title = chief?.text ?? "";
    if (chief) this.element.append(h("span", { class: "play-fired-number" }, say("Rule {number}", { number: chief.number })), h("span", { class: "play-fired-why" }, sentence(chief.reason)), h("span", { class: "play-fired-text" }, chief.text));
    else if (flaw) this.element.append(h("span", { class: "play-fired-number none" }, say("No rule")), h("span", { class: "play-fired-why" }, say("No rule of the algorithm says this. The flaw: {flaw}.", { flaw })));
  }
}

/** All rules, in a panel. */
export class Rulebook {
  /** @param {FiredRule} chief */
  constructor(chief) {
    this.chief = chief;
    this.element = h("div", { class: "play-rulebook", "data-test": "play-rules" });
    /** @type {import("../wire.js").AlgorithmInfo | undefined} */
    this.info = undefined;
    /** @type {import("./rules.js").Case[]} */
    this.cases = [];
    /** @type {{ item: HTMLElement, why: HTMLElement }[]} */
    this.items = [];
  }

  /** @param {import("../wire.js").AlgorithmInfo | undefined} info */
  describe(info) {
    this.info = info;
    clear(this.element);
    this.cases = casesOf(info);
    this.items = (info?.rules ?? []).map((text) => {
      const why = h("p", { class: "play-rule-why", hidden: true });
      return { item: h("li", {}, text, why), why };
    });
    this.element.append(h("ol", { class: "play-rules" }, this.items.map(({ item }) => item)));
  }

  /**
   * @param {import("./model.js").RunModel} model
   * @param {number} position
   * @param {import("../wire.js").NodeState[] | null} before
   * @param {import("../wire.js").NodeState[] | null} after
   */
  show(model, position, before, after) {
    const step = stepAt(model, position, before, after);
    const found = step ? fired(this.cases, step) : [];
    this.chief.show(found, step ? this.info?.broken?.flaw : undefined);
    this.items.forEach(({ item, why }, k) => {
      const rule = found.find(({ number }) => number === k + 1);
      item.classList.toggle("fired", rule !== undefined);
      if (rule) item.setAttribute("aria-current", "step");
      else item.removeAttribute("aria-current");
      why.hidden = !rule?.reason;
      why.textContent = rule ? sentence(rule.reason) : "";
    });
    this.#reveal();
  }

  /** Scrolls the panel, and nothing around it, to the rule that has fired. */
  #reveal() {
    const item = this.items.find(({ item }) => item.classList.contains("fired"))?.item;
    if (!item || this.element.clientHeight === 0) return;
    const top = item.offsetTop - this.element.offsetTop;
    const { scrollTop, clientHeight } = this.element;
    if (top < scrollTop || top + item.offsetHeight > scrollTop + clientHeight) this.element.scrollTop = top;
  }
}

/** @param {string} reason */
function sentence(reason) {
  return reason ? `${reason[0].toUpperCase()}${withRuns(reason.slice(1))}.` : "";
}
