// What the nodes know, under the names of the paper. The nodes that the last step changed stand first and large; of the others
// only the heads are shown, unless all are asked for.
import { h, clear, english } from "../lib/dom.js";
import { say } from "../lib/language.js";
import { stateWord } from "./hand.js";
import { withRuns } from "./values.js";

/** @typedef {import("../wire.js").NodeState} NodeState */
/** @typedef {import("../wire.js").VariableInfo} VariableInfo */

/** With more nodes than this, all their variables are a table. */
const MOST_CARDS = 16;
/** Names of variables longer than this want wider cards. */
const LONG_NAME = 12;
/** Rows of the table that are shown for many nodes. */
const MOST_ROWS = 400;

/** The panel of variables. */
export class Nodes {
  /** @param {{ select: (row: number) => void, menu: (row: number, place: { x: number, y: number }) => void, changed: () => void }} wanted */
  constructor(wanted) {
    this.wanted = wanted;
    this.all = h("input", { type: "checkbox", "data-test": "play-all-variables", onchange: () => wanted.changed() });
    this.list = h("div", { class: "play-nodes" });
    this.element = h("div", { "data-test": "play-nodes-panel" },
      h("label", { class: "tick small play-all", title: say("Show the variables of all nodes, not only of those that the last step changed") }, this.all, say("All variables")), this.list);
    /** @type {Map<string, VariableInfo>} */
    this.variables = new Map();
    /** The cards that are shown, and what they were made of. @type {{ made: unknown[], card: HTMLElement }[]} */
    this.cards = [];
  }

  /** @param {import("../wire.js").AlgorithmInfo | undefined} info */
  describe(info) {
    this.variables = new Map(info?.variables.map((variable) => [variable.field, variable]));
    const wordy = info?.variables.some((variable) => variable.symbol.length > LONG_NAME) ?? false;
    this.list.classList.toggle("wordy", wordy);
    this.cards = [];
    clear(this.list);
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
      if (!this.list.firstChild) this.list.append(h("p", { class: "muted small" }, say("Asking what the nodes know …")));
      return;
    }
    const focus = document.activeElement instanceof HTMLElement && this.list.contains(document.activeElement) ? document.activeElement.dataset.node : undefined;
    if (this.all.checked && states.length > MOST_CARDS) {
      this.cards = [];
      clear(this.list);
      this.#table(model, position, states, before, selected);
    } else {
      this.#deal(model, position, states, before, selected);
    }
    const refocused = focus ? /** @type {HTMLElement | null} */ (this.list.querySelector(`[data-node="${focus}"]`)) : null;
    if (refocused !== document.activeElement) refocused?.focus({ preventScroll: true });
  }

  /**
   * A card for each node: only those that say something else than before are made anew.
   * @param {import("./model.js").RunModel} model
   * @param {number} position
   * @param {NodeState[]} states
   * @param {NodeState[] | null} before
   * @param {number} selected
   */
  #deal(model, position, states, before, selected) {
    const step = model.stepsBefore(position) - 1;
    const acting = step < 0 ? -1 : model.records[model.steps[step]].node - 1;
    if (this.cards.length !== states.length) {
      this.cards = states.map(() => ({ made: [], card: h("section", {}) }));
      this.list.replaceChildren(...this.cards.map(({ card }) => card));
    }
    states.forEach((state, row) => {
      // Before the first step everything is news; and who acted is, even if it knows no more than before.
      const changed = before === null || row === acting || differ(before[row], state);
      const made = [state, changed ? before?.[row] : undefined, changed, model.phase(row, position), model.isPaused(row, position), row === selected, this.all.checked, model.header];
      const kept = this.cards[row];
      if (made.every((value, k) => value === kept.made[k])) return;
      const card = this.#card(model, position, row, state, changed ? before?.[row] : undefined, row === selected, changed || this.all.checked);
      card.classList.toggle("news", changed && before !== null);
      kept.card.replaceWith(card);
      this.cards[row] = { made, card };
    });
  }

  /**
   * @param {import("./model.js").RunModel} model
   * @param {number} position
   * @param {number} row
   */
  #head(model, position, row, pressed = false) {
    const phase = model.phase(row, position);
    const word = model.isPaused(row, position) ? say("paused") : stateWord(phase, model.header.kind === "election");
    return h("span", { class: "play-node-head" },
      h("button", { type: "button", class: "quiet play-node-name", "data-node": `name-${row}`, "data-test": `node-${row + 1}`, "aria-pressed": String(pressed), title: say("Select: its row, its quorum, its links"),
        onclick: () => this.wanted.select(pressed ? -1 : row) }, `P${row + 1}`),
      h("span", { class: `play-phase ${phase}` }, word),
      h("button", { type: "button", class: "quiet play-node-menu", "data-node": `menu-${row}`, "data-test": `node-menu-${row + 1}`, title: say("What P{node} is to do", { node: row + 1 }), "aria-label": say("What P{node} is to do", { node: row + 1 }), "aria-haspopup": "menu",
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
   * @param {boolean} selected
   * @param {boolean} open whether its variables are shown
   */
  #card(model, position, row, state, before, selected, open) {
    const folded = !open && !selected;
    return h("section", { class: `play-card${selected ? " selected" : ""}${folded ? " folded" : ""}`, "aria-label": `P${row + 1}` }, this.#head(model, position, row, selected), this.#list(state, before));
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
      const title = `${info?.meaning ?? field}${info ? ` (${field})` : ""}${changed && old ? say("; was {value}", { value: old.value }) : ""}`;
      list.append(
        h("dt", { title, class: changed ? "changed-name" : "" }, breakable(info?.symbol || field)),
        h("dd", { title, class: changed ? "changed" : "", "data-field": field }, changed ? h("span", { class: "play-changed-mark", role: "img", "aria-label": say("changed") }, "▸") : null, english(withRuns(value))));
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
    if (selected >= 0 && states[selected]) this.list.append(this.#card(model, position, selected, states[selected], before?.[selected], true, true));
    const fields = [...this.variables.values()];
    const body = h("tbody", {});
    states.slice(0, MOST_ROWS).forEach((state, row) => {
      const cells = fields.map(({ field }) => {
        const value = valueOf(state, field);
        const changed = before !== null && before[row] !== undefined && valueOf(before[row], field) !== value;
        return h("td", { class: changed ? "changed" : "", title: value, "data-field": field }, changed ? "▸" : "", english(withRuns(value)));
      });
      body.append(h("tr", { class: row === selected ? "selected" : "" }, h("td", {}, this.#head(model, position, row, row === selected)), cells));
    });
    this.list.append(h("table", { class: "data play-table" },
      h("thead", {}, h("tr", {}, h("th", {}, say("node")), fields.map(({ symbol, field, meaning }) => h("th", { title: `${meaning} (${field})` }, symbol || field)))), body));
    if (states.length > MOST_ROWS) this.list.append(h("p", { class: "muted small" }, say("The first {most} of {all} nodes.", { most: MOST_ROWS, all: states.length })));
  }
}

/**
 * Whether a node knows something else.
 * @param {NodeState | undefined} a
 * @param {NodeState} b
 */
function differ(a, b) {
  return a !== b && (a === undefined || a.up !== b.up || a.vars.some(({ value }, k) => value !== b.vars[k]?.value));
}

/**
 * The value of a variable; a node that is down has none.
 * @param {NodeState} state
 * @param {string} field
 */
function valueOf(state, field) {
  return state.vars.find((variable) => variable.field === field)?.value ?? "–";
}

/** A long name may be broken after each of its parts. @param {string} name */
function breakable(name) {
  return name.split(/(?<=_)/).flatMap((part, k) => (k === 0 ? [part] : [h("wbr", {}), part]));
}
