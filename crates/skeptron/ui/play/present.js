// Presenting: one stage for a lecture hall. The parts are those of the view, laid out anew by the style sheet, where all sizes
// follow the height of the window; what is drawn on the canvas is magnified as much.
import { h } from "../lib/dom.js";
import { sheet } from "../lib/sheet.js";
import { say } from "../lib/language.js";
import { FINEST } from "./diagram.js";

/** How high the smallest letters of the diagram are, in heights of the stage. */
const LEAST = 0.022;
const CLASS = "presenting";
const DRAWN = "presenting-topology";

/** Turns the view into a stage and back. */
export class Present {
  /**
   * @param {object} given
   * @param {import("./playhead.js").Playhead} given.playhead
   * @param {import("./caption.js").Caption} given.caption
   * @param {import("./topology.js").Topology} given.topology
   * @param {import("./clocks.js").Clocks} given.clocks
   * @param {HTMLElement} given.stage where the diagram is
   * @param {ReturnType<typeof import("./tabs.js").tabs>} given.tabs
   * @param {() => void} given.turned called when it has begun or ended
   */
  constructor({ playhead, caption, topology, clocks, stage, tabs, turned }) {
    sheet("/ui/play/present.css");
    this.playhead = playhead;
    this.caption = caption;
    this.topology = topology;
    this.clocks = clocks;
    this.stage = stage;
    this.tabs = tabs;
    this.turned = turned;
    this.on = false;
    /** The panel that was open before. */
    this.panel = "";
    /** Where the topology stands else. @type {HTMLElement | null} */
    this.home = null;
    this.switch = h("button", { type: "button", class: "play-present-only", "data-test": "present-switch", title: say("Diagram or topology (T)"), onclick: () => this.#draw(!this.drawn) });
    this.toggle = h("button", { type: "button", "data-test": "play-present", onclick: () => (this.on ? this.leave() : this.enter()) });
    this.button = h("span", { class: "play-present" }, this.switch, this.toggle);
    this.#name();
    document.addEventListener("fullscreenchange", this.#watch);
  }

  get #root() {
    return document.documentElement;
  }

  /** Whether the topology stands on the stage. */
  get drawn() {
    return this.home !== null;
  }

  /** How many times larger than on a page the diagram is. */
  get magnified() {
    return this.on ? Math.max(1, (innerHeight * LEAST) / FINEST) : 1;
  }

  enter() {
    if (this.on) return;
    this.on = true;
    this.panel = this.tabs.shown();
    this.tabs.open("nodes");
    this.#root.classList.add(CLASS);
    this.playhead.stops = (from, to) => this.caption.begins(from, to);
    // A browser may refuse; then the stage fills the window.
    this.#root.requestFullscreen?.().catch(() => {});
    this.#name();
    // Keys are for the run now, not for the button that was pressed.
    /** @type {HTMLElement | null} */ (this.stage.closest(".play"))?.focus({ preventScroll: true });
    this.turned();
  }

  leave() {
    if (!this.on) return;
    this.on = false;
    this.#draw(false);
    this.tabs.open(this.panel);
    this.#root.classList.remove(CLASS);
    this.playhead.stops = () => false;
    if (document.fullscreenElement) document.exitFullscreen().catch(() => {});
    this.#name();
    this.turned();
  }

  /** Ends it, and lets go of the document. */
  close() {
    this.leave();
    document.removeEventListener("fullscreenchange", this.#watch);
  }

  /** The browser takes Escape for itself while it fills the screen. */
  #watch = () => {
    if (!document.fullscreenElement) this.leave();
  };

  /**
   * What a key asks for; null if it means what it always means.
   * @param {string} key
   * @returns {(() => void) | null}
   */
  key(key) {
    if (key.toLowerCase() === "f") return () => (this.on ? this.leave() : this.enter());
    if (!this.on) return null;
    switch (key) {
      case "PageDown": case "ArrowDown": return () => this.#walk(1);
      case "PageUp": case "ArrowUp": return () => this.#walk(-1);
      case "t": case "T": return () => this.#draw(!this.drawn);
      case "c": case "C": return () => this.clocks.next();
      case "Escape": return document.querySelector(":popover-open") ? null : () => this.leave();
      default: return null;
    }
  }

  /**
   * To the next note or the one before; where there is none, by a step.
   * @param {1 | -1} by
   */
  #walk(by) {
    if (!this.caption.go(by)) this.playhead.step(by);
  }

  /** Puts the topology onto the stage, or the diagram. @param {boolean} drawn */
  #draw(drawn) {
    if (drawn === this.drawn) return;
    if (drawn) {
      this.home = this.topology.element.parentElement;
      this.stage.before(this.topology.element);
    } else {
      this.home?.append(this.topology.element);
      this.home = null;
    }
    this.#root.classList.toggle(DRAWN, drawn);
    this.topology.magnify(drawn ? LEAST : 0);
    this.#name();
  }

  #name() {
    this.toggle.textContent = this.on ? say("Leave") : say("Present");
    this.toggle.title = this.on ? say("Back to the page (Escape)") : say("One stage for a lecture hall (F)");
    this.switch.textContent = this.drawn ? say("Diagram") : say("Topology");
  }
}
