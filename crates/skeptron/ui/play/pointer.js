// Pointer, wheel and keys on the diagram.
import { AXIS, GUTTER } from "./camera.js";
import { nameOf, stateWord } from "./hand.js";
import { h } from "../lib/dom.js";
import { say, translated } from "../lib/language.js";
import { axisOf } from "./units.js";

/** How far the pointer goes before a press is a drag. */
const DRAG = 4;

/**
 * What the pointer asks for.
 * @typedef {object} Wanted
 * @property {() => void} redraw
 * @property {() => void} moved the user has moved the camera
 * @property {(t: number) => void} scrub
 * @property {(row: number, place: { x: number, y: number }) => void} node
 * @property {(message: number, place: { x: number, y: number }) => void} message
 * @property {(row: number) => void} select
 * @property {(x: number, y: number) => boolean} event chooses the event there, if one is wanted
 * @property {(words: string) => void} say
 * @property {() => boolean} presenting whether up and down are for the notes
 */

/** Listens to a diagram's canvas. */
export class Pointer {
  /**
   * @param {import("./diagram.js").Diagram} diagram
   * @param {Wanted} wanted
   */
  constructor(diagram, wanted) {
    this.diagram = diagram;
    this.wanted = wanted;
    this.tip = h("div", { class: "play-tip", hidden: true });
    /** @type {{ x: number, y: number, scrubs: boolean, drags: boolean } | null} */
    this.press = null;
    /** Whether the last press was a drag: then the click that follows means nothing. */
    this.dragged = false;
    /** What the keys have chosen: nodes first, then messages under way. */
    this.target = -1;
    const { canvas } = diagram;
    canvas.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
    canvas.addEventListener("pointerdown", (event) => this.#down(event));
    canvas.addEventListener("pointermove", (event) => this.#move(event));
    canvas.addEventListener("pointerup", () => { this.dragged = this.press?.drags ?? false; this.press = null; });
    canvas.addEventListener("pointercancel", () => { this.press = null; });
    canvas.addEventListener("click", (event) => this.#click(event));
    canvas.addEventListener("pointerleave", () => this.#leave());
    canvas.addEventListener("keydown", (event) => this.#key(event));
  }

  /** A time as the axis writes it. @param {number} t */
  #time(t) {
    const { scene } = this.diagram;
    return (scene.axis ?? axisOf(scene.model.header)).words(t, 3);
  }

  /** @param {WheelEvent} event */
  #wheel(event) {
    const { camera } = this.diagram.scene;
    const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1;
    let moved = true;
    if (event.ctrlKey || event.metaKey) camera.zoom(this.diagram.place(event).x, Math.exp(-event.deltaY * lines * 0.0022));
    else if (event.shiftKey && event.deltaX === 0) moved = camera.pan(0, event.deltaY * lines);
    else moved = camera.pan((event.deltaX + event.deltaY) * lines, 0);
    // Where there is nothing to scroll, the page scrolls.
    if (!moved) return;
    event.preventDefault();
    this.wanted.moved();
  }

  /** @param {PointerEvent} event */
  #down(event) {
    if (event.button !== 0) return;
    const { camera, now } = this.diagram.scene;
    const { x, y } = this.diagram.place(event);
    const onLine = Math.abs(x - camera.x(now)) < 5 && x > GUTTER;
    this.press = { x, y, scrubs: y < AXIS || (onLine && this.diagram.arrows.at(x, y) < 0), drags: false };
    this.diagram.canvas.setPointerCapture(event.pointerId);
    if (y < AXIS) this.wanted.scrub(camera.t(x));
  }

  /** @param {PointerEvent} event */
  #move(event) {
    const { press } = this;
    if (!press) return this.#hover(event);
    const { x, y } = this.diagram.place(event);
    const dx = x - press.x;
    const dy = y - press.y;
    if (!press.drags && Math.hypot(dx, dy) < DRAG) return;
    press.drags = true;
    this.tip.hidden = true;
    if (press.scrubs) return this.wanted.scrub(this.diagram.scene.camera.t(x));
    this.diagram.scene.camera.pan(-dx, -dy);
    press.x = x;
    press.y = y;
    this.wanted.moved();
  }

  /** @param {MouseEvent} event */
  #click(event) {
    const { x, y } = this.diagram.place(event);
    if (this.dragged || y < AXIS || this.wanted.event(x, y)) return;
    const place = { x: event.clientX, y: event.clientY };
    const message = x > GUTTER ? this.diagram.arrows.at(x, y) : -1;
    const row = this.#rowAt(x, y);
    if (message >= 0) this.wanted.message(message, place);
    else if (row >= 0) this.wanted.node(row, place);
  }

  /**
   * The node whose name or line is there.
   * @param {number} x
   * @param {number} y
   */
  #rowAt(x, y) {
    const { camera } = this.diagram.scene;
    const row = camera.row(y);
    if (row < 0) return -1;
    return x < GUTTER || Math.abs(y - camera.y(row)) < Math.max(12, camera.rowHeight * 0.28) ? row : -1;
  }

  /** @param {PointerEvent} event */
  #hover(event) {
    const { scene, arrows, canvas } = this.diagram;
    const { x, y } = this.diagram.place(event);
    const message = x > GUTTER && y > AXIS ? arrows.at(x, y) : -1;
    const row = message < 0 ? this.#rowAt(x, y) : -1;
    canvas.style.cursor = y < AXIS ? "ew-resize" : message >= 0 || row >= 0 ? "pointer" : "grab";
    if (message !== scene.stressed) {
      scene.stressed = message;
      this.wanted.redraw();
    }
    const mark = row >= 0 ? this.diagram.marks.at(x, y) : null;
    const words = mark ? say("P{node} {text}, at {time}", { node: scene.model.name(mark.node - 1).slice(1), text: translated(mark.text), time: this.#time(mark.t) }) : row >= 0 ? this.#ofNode(row, x) : "";
    this.#tell(message >= 0 ? this.#ofMessage(message) : words, x, y);
  }

  /** @param {number} message */
  #ofMessage(message) {
    const { model } = this.diagram.scene;
    const { sentT, endT, end } = model.messages;
    const fate = this.diagram.arrows.fate(message);
    const [sent, ended, unseen] = [this.#time(sentT[message]), this.#time(endT[message]), model.unseen(message)];
    const times = unseen === "end" ? say("sent at {sent}; its arrival is not seen here", { sent }) : unseen === "sent" ? say("delivered at {ended}; its sending was not seen here", { ended }) : fate === "in flight" || end[message] < 0 ? say("sent at {sent}, under way", { sent })
      : fate === "lost" ? say("sent at {sent}, lost at {ended}", { sent, ended }) : say("sent at {sent}, delivered at {ended}", { sent, ended });
    return `${nameOf(model, message)}\n${times}`;
  }

  /**
   * @param {number} row
   * @param {number} x
   */
  #ofNode(row, x) {
    const { model, camera, position, future } = this.diagram.scene;
    const there = x < GUTTER ? position : model.positionAt(camera.t(x));
    const at = future ? there : Math.min(there, position);
    return `${model.name(row)}, ${model.isPaused(row, at) ? say("paused") : stateWord(model.phase(row, at), model.header.kind === "election")}`;
  }

  /**
   * @param {string} words
   * @param {number} x
   * @param {number} y
   */
  #tell(words, x, y) {
    this.tip.hidden = words === "";
    if (!words) return;
    this.tip.textContent = words;
    const { canvas, magnified } = this.diagram;
    const { offsetWidth: width, offsetHeight: height } = this.tip;
    const top = y * magnified;
    this.tip.style.left = `${Math.max(4, Math.min(x * magnified + 14, canvas.clientWidth - width - 6))}px`;
    this.tip.style.top = `${top + 22 + height > canvas.clientHeight ? top - height - 10 : top + 18}px`;
  }

  #leave() {
    this.tip.hidden = true;
    if (this.press || this.diagram.scene.stressed < 0) return;
    this.diagram.scene.stressed = -1;
    this.wanted.redraw();
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const by = this.wanted.presenting() ? undefined : { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by) this.#choose(by);
    else if (event.key === "Enter") this.#enter();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** @param {number} by */
  #choose(by) {
    const { scene } = this.diagram;
    const { rows } = scene.camera;
    const flying = scene.model.inFlight(scene.position, 200).reverse();
    const count = rows + flying.length;
    this.target = (this.target + by + count) % count;
    const message = this.target < rows ? -1 : flying[this.target - rows];
    scene.stressed = message;
    this.wanted.select(message < 0 ? this.target : -1);
    this.wanted.say(message < 0 ? this.#ofNode(this.target, 0) : this.#ofMessage(message));
    this.wanted.redraw();
  }

  #enter() {
    const { scene, canvas, magnified } = this.diagram;
    const box = canvas.getBoundingClientRect();
    const place = (/** @type {number} */ x, /** @type {number} */ row) => ({ x: box.left + Math.min(x * magnified, box.width - 40), y: box.top + scene.camera.y(row) * magnified });
    if (scene.stressed >= 0) this.wanted.message(scene.stressed, place(scene.camera.x(scene.now), scene.model.messages.from[scene.stressed]));
    else if (scene.selected >= 0) this.wanted.node(scene.selected, place(GUTTER, scene.selected));
  }
}
