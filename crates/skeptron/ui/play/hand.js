// What a hand can do to a run: menus of nodes and messages, cuts of the network, the list of what was done.
import { h, clear } from "../lib/dom.js";
import { say } from "../lib/language.js";
import { standalone } from "../lib/recorded.js";
import { openMenu } from "./menu.js";
import { inUnits } from "./units.js";

/** @typedef {import("../wire.js").Deed} Deed */
/** @typedef {import("./model.js").RunModel} RunModel */
/**
 * What the hand knows of the view.
 * @typedef {object} Situation
 * @property {HTMLElement} root
 * @property {() => RunModel | null} model
 * @property {() => number} position
 * @property {() => number} now
 * @property {() => import("../wire.js").Act[]} acts
 * @property {(deed: Deed) => void} act
 * @property {() => void} undo
 * @property {() => void} redo
 * @property {() => { undo: boolean, redo: boolean }} can what can be taken back, or done again
 * @property {(position: number) => void} jump
 * @property {() => () => void} hold stops the play while a menu is open; what it returns lets it go on
 */

/**
 * Why nothing can be done.
 * @param {import("../wire.js").RunHeader} header
 */
function whyFixed({ kind }) {
  if (standalone) return say("This page has no server: it plays its run, and cannot change it. The lab can: export JSON Lines here, and import them there.");
  return kind === "election" ? say("This election was recorded, and its alarms cannot be made to ring again: it can be played, not changed.") : say("What was recorded of a live cluster can be played, not changed: what its nodes knew was not recorded.");
}
/** What becomes of a recorded run that is changed. */
const FORKS = say("This run was recorded. What you do begins another run at this step.");

/** Deeds that do not show as a step. @type {ReadonlySet<string>} */
export const SILENT = new Set(["cut", "mend", "delay"]);

/**
 * How many of the deeds have been done at a position: the others lie ahead, and a new deed drops them.
 * @param {import("../wire.js").Act[]} acts
 * @param {number} position
 * @returns {number}
 */
function doneAt(acts, position) {
  const ahead = acts.findIndex((act) => act.after > position || (act.after === position && !SILENT.has(act.do)));
  return ahead < 0 ? acts.length : ahead;
}

/** Menus and the panel of deeds. */
export class Hand {
  /** @param {Situation} situation */
  constructor(situation) {
    this.situation = situation;
    this.list = h("ol", { class: "play-acts", "data-test": "play-acts" });
    this.lead = h("p", { class: "small" });
    this.undo = h("button", { type: "button", "data-test": "play-undo", title: "Ctrl+Z", onclick: () => situation.undo() }, say("Undo"));
    this.redo = h("button", { type: "button", "data-test": "play-redo", title: "Ctrl+Shift+Z", onclick: () => situation.redo() }, say("Redo"));
    this.cut = h("button", { type: "button", "data-test": "play-cut", onclick: () => this.#openCut() }, say("Cut the network …"));
    this.mend = h("button", { type: "button", "data-test": "play-mend", onclick: () => situation.act({ do: "mend" }) }, say("Mend all cuts"));
    this.element = h("div", { class: "play-hand", "data-test": "play-hand" }, this.lead,
      h("div", { class: "toolbar" }, this.cut, this.mend, this.undo, this.redo), this.list);
  }

  /** Shows what has been done. */
  show() {
    const { situation } = this;
    const model = situation.model();
    const acts = situation.acts();
    const may = model?.header.may_act ?? false;
    this.lead.textContent = !may && model
      ? whyFixed(model.header)
      : acts.length === 0
        ? (model?.header.recorded ? `${FORKS} ` : "") + say("Click a node to let it ask, leave, crash or pause; click a message under way to deliver, delay, lose or copy it. What you do in the past begins another history.")
        : say("What was done by hand, in order. Going back and doing something else drops what was done after.");
    this.cut.disabled = !may;
    this.mend.disabled = !may || cutsAt(acts, situation.position()).length === 0;
    const can = situation.can();
    this.undo.disabled = !may || !can.undo;
    this.redo.disabled = !may || !can.redo;
    clear(this.list);
    if (!model) return;
    for (const act of acts) {
      const words = `t = ${inUnits(act.t, model.header)}: ${inWords(act, model)}`;
      this.list.append(h("li", {}, h("button", { type: "button", class: "quiet", onclick: () => situation.jump(act.after) }, words)));
    }
  }

  /**
   * @param {number} row
   * @param {{ x: number, y: number }} place
   */
  openNode(row, place) {
    const model = this.situation.model();
    if (!model) return;
    const position = this.situation.position();
    const node = row + 1;
    const phase = model.phase(row, position);
    const paused = model.isPaused(row, position);
    const up = phase !== "down";
    const election = model.header.kind === "election";
    const can = (/** @type {boolean} */ possible) => possible && model.header.may_act;
    const why = model.header.may_act ? say("P{node} is {state}.", { node, state: paused ? say("paused") : stateWord(phase, election) }) : whyFixed(model.header);
    const item = (/** @type {string} */ label, /** @type {any} */ deed, /** @type {boolean} */ possible) =>
      ({ label, test: `act-${deed}`, why, run: can(possible) ? () => this.situation.act({ do: deed, node }) : null });
    /** @type {import("./menu.js").Item[]} */
    const items = election
      ? [item(say("Call an election"), "call", up && !paused)]
      : [item(say("Ask for the section"), "request", up && !paused && phase === "idle"), item(say("Leave the section"), "release", up && !paused && phase === "inside")];
    if (model.header.draws > 0) {
      const amount = h("input", { type: "number", min: 1, max: model.header.draws, value: model.header.draws, "aria-label": say("Number"), "data-test": "act-draw-number" });
      const draw = () => this.situation.act({ do: "draw", node, number: Number(amount.value) });
      items.push({ ...item(say("Let it draw next"), "draw", up && !paused), run: can(up && !paused) ? draw : null, amount });
    }
    items.push(item(say("Pause"), "pause", up && !paused), item(say("Go on"), "resume", up && paused), item(say("Crash"), "crash", up), item(say("Restart"), "restart", !up));
    if (!model.header.may_act) items.length = 0;
    this.#open(place, `P${node}, ${paused ? say("paused") : stateWord(phase, election)}`, model.header.may_act ? this.#warning() : [whyFixed(model.header)], items);
  }

  /**
   * @param {number} message
   * @param {{ x: number, y: number }} place
   */
  openMessage(message, place) {
    const model = this.situation.model();
    if (!model) return;
    const { messages, header } = model;
    const id = messages.id[message];
    const flying = model.isInFlight(message, this.situation.position());
    const can = flying && header.may_act;
    const why = header.may_act ? say("It is not under way now.") : whyFixed(header);
    const amount = h("input", { type: "number", min: 0.1, step: 0.5, value: 2, "aria-label": say("Delay in units"), "data-test": "act-delay-by" });
    const item = (/** @type {string} */ label, /** @type {string} */ test, /** @type {() => Deed} */ deed) =>
      ({ label, test, why, run: can ? () => this.situation.act(deed()) : null });
    const items = [
      item(say("Deliver now"), "act-deliver", () => ({ do: "deliver", message: id })),
      { ...item(say("Delay by"), "act-delay", () => ({ do: "delay", message: id, by: Math.max(1, Math.round(Number(amount.value) * header.ticks_per_unit)) })), amount, unit: say("units") },
      item(say("Lose it"), "act-drop", () => ({ do: "drop", message: id })),
      item(say("Copy it"), "act-duplicate", () => ({ do: "duplicate", message: id })),
      { label: say("Go to where it is sent"), test: "go-sent", run: () => this.situation.jump(messages.sent[message] + 1) },
    ];
    if (messages.end[message] >= 0) items.push({ label: say("Go to where it ends"), test: "go-end", run: () => this.situation.jump(messages.end[message] + 1) });
    this.#open(place, nameOf(model, message), can ? this.#warning() : [flying ? why : say("It is not under way now.")], items);
  }

  /** What is to be known before acting in the past. */
  #warning() {
    const acts = this.situation.acts();
    const later = acts.length - doneAt(acts, this.situation.position());
    return later > 0 ? [say("This makes another history: {n} later deeds will be dropped.", { n: later })] : [];
  }

  /**
   * @param {{ x: number, y: number }} place
   * @param {string} title
   * @param {string[]} lines
   * @param {import("./menu.js").Item[]} items
   */
  #open(place, title, lines, items) {
    openMenu(this.situation.root, place, title, lines, items, this.situation.hold());
  }

  #openCut() {
    const model = this.situation.model();
    if (!model) return;
    const goOn = this.situation.hold();
    const boxes = Array.from({ length: model.header.nodes }, (_, row) => h("input", { type: "checkbox", value: row + 1 }));
    const oneWay = h("input", { type: "checkbox", "data-test": "cut-one-way" });
    const error = h("p", { class: "small", role: "alert" });
    const dialog = h("dialog", { class: "play-cut", "data-test": "cut-dialog", "aria-label": say("Cut the network") },
      h("h2", {}, say("Cut the network")),
      h("p", {}, say("Choose one side. Messages between it and the others are lost until the cut is mended.")),
      h("div", { class: "play-cut-nodes" }, boxes.map((box) => h("label", { class: "tick" }, box, `P${box.value}`))),
      h("label", { class: "tick" }, oneWay, say("Only what the chosen ones send is lost")), error,
      h("div", { class: "toolbar" },
        h("button", { type: "button", class: "primary", "data-test": "cut-do", onclick: () => done() }, say("Cut")),
        h("button", { type: "button", onclick: () => dialog.close() }, say("Cancel"))));
    const done = () => {
      const from = boxes.filter((box) => box.checked).map((box) => Number(box.value));
      const to = boxes.filter((box) => !box.checked).map((box) => Number(box.value));
      if (from.length === 0 || to.length === 0) {
        error.textContent = say("Choose some of the nodes, but not all.");
        return;
      }
      dialog.close();
      this.situation.act({ do: "cut", from, to, both_ways: !oneWay.checked });
    };
    dialog.addEventListener("keydown", (event) => event.stopPropagation());
    dialog.addEventListener("close", () => { dialog.remove(); goOn(); });
    this.situation.root.append(dialog);
    dialog.showModal();
  }
}

/**
 * The cuts that hold at a position.
 * @param {import("../wire.js").Act[]} acts
 * @param {number} position
 * @returns {Extract<import("../wire.js").Act, { do: "cut" }>[]}
 */
export function cutsAt(acts, position) {
  /** @type {Extract<import("../wire.js").Act, { do: "cut" }>[]} */
  let cuts = [];
  for (const act of acts) {
    if (act.after > position) break;
    if (act.do === "cut") cuts.push(act);
    else if (act.do === "mend") cuts = [];
  }
  return cuts;
}

/**
 * A message in words: what, from whom, to whom.
 * @param {RunModel} model
 * @param {number} message
 * @returns {string}
 */
export function nameOf(model, message) {
  const { content, labels, label, from, to } = model.messages;
  return `${labels[label[message]]}${content[message] ? ` ${content[message]}` : ""}, ${model.name(from[message])} → ${model.name(to[message])}`;
}

/**
 * @param {import("./model.js").Phase} phase
 * @param {boolean} election
 * @returns {string}
 */
export function stateWord(phase, election) {
  if (phase === "inside") return election ? say("leading") : say("inside");
  if (phase === "waiting") return election ? say("electing") : say("waiting");
  return phase === "down" ? say("down") : say("idle");
}

/**
 * @param {import("../wire.js").Act} act
 * @param {RunModel} model
 */
function inWords(act, model) {
  const message = "message" in act ? model.messages.byId.get(act.message) : undefined;
  const it = message === undefined ? say("a message") : nameOf(model, message);
  const list = (/** @type {number[]} */ nodes) => nodes.map((node) => `P${node}`).join(", ");
  switch (act.do) {
    case "request": return say("P{node} asks", { node: act.node });
    case "release": return say("P{node} leaves", { node: act.node });
    case "call": return say("P{node} calls an election", { node: act.node });
    case "draw": return say("P{node} will draw {number}", { node: act.node, number: act.number });
    case "crash": return say("P{node} crashes", { node: act.node });
    case "restart": return say("P{node} restarts", { node: act.node });
    case "pause": return say("P{node} pauses", { node: act.node });
    case "resume": return say("P{node} goes on", { node: act.node });
    case "deliver": return say("{it}: delivered at once", { it });
    case "drop": return say("{it}: lost", { it });
    case "duplicate": return say("{it}: copied", { it });
    case "delay": return say("{it}: delayed by {time}", { it, time: inUnits(act.by, model.header) });
    case "cut": return say("cut {link}", { link: `${list(act.from)} ${act.both_ways ? "|" : ">"} ${list(act.to)}` });
    case "mend": return say("all cuts mended");
  }
}
