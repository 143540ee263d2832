// What the nodes know, under the names of the paper; what the last step changed stands out.
import { h, clear } from "../lib/dom.js";
import { stateWord } from "./hand.js";

/** @typedef {import("../wire.js").NodeState} NodeState */
/** @typedef {import("../wire.js").VariableInfo} VariableInfo */

/** With more nodes than this only the selected one is told in full. */
const MOST_CARDS = 16;
/** Names of variables longer than this want wider cards. */
const LONG_NAME = 12;
/** Rows of the table that are shown for many nodes. */
const MOST_ROWS = 400;

/** The panel of variables. */
export class Nodes {
  /** @param {{ select: (row: number) => void, menu: (row: number, place: { x: number, y: number }) => void }} wanted */
  constructor(wanted) {
    this.wanted = wanted;
    this.element = h("div", { class: "play-nodes", "data-test": "play-nodes-panel" });
    /** @type {Map<string, VariableInfo>} */
    this.variables = new Map();
  }

  /** @param {import("../wire.js").AlgorithmInfo | undefined} info */
  describe(info) {
    this.variables = new Map(info?.variables.map((variable) => [variable.field, variable]));
    const wordy = info?.variables.some((variable) => variable.symbol.length > LONG_NAME) ?? false;
    this.element.classList.toggle("wordy", wordy);
  }

  /**
   * @param {import("./model.js").RunModel} model
   * @param {number} position
   * @param {NodeState[] | null} states
   * @param {NodeState[] | null} before as they were before the last step
   * @param {number} selected
   */
  show(model, position, states, before, selected) {
    if (!states) {
      if (!this.element.firstChild) this.element.append(h("p", { class: "muted small" }, "Asking what the nodes know …"));
      return;
    }
    const focus = document.activeElement instanceof HTMLElement && this.element.contains(document.activeElement) ? document.activeElement.dataset.node : undefined;
    const scrolled = this.element.scrollTop;
    clear(this.element);
    if (states.length > MOST_CARDS) this.#table(model, position, states, before, selected);
    else states.forEach((state, row) => this.element.append(this.#card(model, position, row, state, before?.[row], selected)));
    this.element.scrollTop = scrolled;
    if (focus) /** @type {HTMLElement | null} */ (this.element.querySelector(`[data-node="${focus}"]`))?.focus();
  }

  /**
   * @param {import("./model.js").RunModel} model
   * @param {number} position
   * @param {number} row
   */
  #head(model, position, row, pressed = false) {
    const phase = model.phase(row, position);
    const word = model.isPaused(row, position) ? "paused" : stateWord(phase, model.header.kind === "election");
    return h("span", { class: "play-node-head" },
      h("button", { type: "button", class: "quiet play-node-name", "data-node": `name-${row}`, "data-test": `node-${row + 1}`, "aria-pressed": String(pressed), title: "Select: its row, its quorum, its links",
        onclick: () => this.wanted.select(pressed ? -1 : row) }, `P${row + 1}`),
      h("span", { class: `play-phase ${phase}` }, word),
      h("button", { type: "button", class: "quiet play-node-menu", "data-node": `menu-${row}`, "data-test": `node-menu-${row + 1}`, title: `What P${row + 1} is to do`, "aria-label": `What P${row + 1} is to do`, "aria-haspopup": "menu",
        onclick: (/** @type {MouseEvent} */ event) => {
          const box = /** @type {HTMLElement} */ (event.currentTarget).getBoundingClientRect();
          this.wanted.menu(row, { x: box.left, y: box.bottom });
        } }, "⋯"));
  }

  /**
   * @param {import("./model.js").RunModel} model
   * @param {number} position
   * @param {number} row
   * @param {NodeState} state
   * @param {NodeState | undefined} before
   * @param {number} selected
   */
  #card(model, position, row, state, before, selected) {
    const card = h("section", { class: `play-card${row === selected ? " selected" : ""}`, "aria-label": `P${row + 1}` }, this.#head(model, position, row, row === selected));
    card.append(this.#list(state, before));
    return card;
  }

  /**
   * @param {NodeState} state
   * @param {NodeState | undefined} before
   */
  #list(state, before) {
    const list = h("dl", { class: "play-vars" });
    for (const { field, value } of state.vars) {
      const info = this.variables.get(field);
      const old = before?.vars.find((old) => old.field === field);
      const changed = before !== undefined && old?.value !== value;
      const title = `${info?.meaning ?? field}${info ? ` (${field})` : ""}${changed && old ? `; was ${old.value}` : ""}`;
      list.append(
        h("dt", { title }, info?.symbol || field),
        h("dd", { title, class: changed ? "changed" : "", "data-field": field }, changed ? h("span", { class: "play-changed-mark", "aria-label": "changed" }, "▸") : null, value));
    }
    return list;
  }

  /**
   * @param {import("./model.js").RunModel} model
   * @param {number} position
   * @param {NodeState[]} states
   * @param {NodeState[] | null} before
   * @param {number} selected
   */
  #table(model, position, states, before, selected) {
    if (selected >= 0 && states[selected]) this.element.append(this.#card(model, position, selected, states[selected], before?.[selected], selected));
    const fields = [...this.variables.values()];
    const body = h("tbody", {});
    states.slice(0, MOST_ROWS).forEach((state, row) => {
      const cells = fields.map(({ field }) => {
        const value = valueOf(state, field);
        const changed = before !== null && before[row] !== undefined && valueOf(before[row], field) !== value;
        return h("td", { class: changed ? "changed" : "", title: value, "data-field": field }, changed ? "▸" : "", value);
      });
      body.append(h("tr", { class: row === selected ? "selected" : "" }, h("td", {}, this.#head(model, position, row, row === selected)), cells));
    });
    this.element.append(h("table", { class: "data play-table" },
      h("thead", {}, h("tr", {}, h("th", {}, "node"), fields.map(({ symbol, field, meaning }) => h("th", { title: `${meaning} (${field})` }, symbol || field)))), body));
    if (states.length > MOST_ROWS) this.element.append(h("p", { class: "muted small" }, `The first ${MOST_ROWS} of ${states.length} nodes.`));
  }
}

/**
 * The value of a variable; a node that is down has none.
 * @param {NodeState} state
 * @param {string} field
 */
function valueOf(state, field) {
  return state.vars.find((variable) => variable.field === field)?.value ?? "–";
}
