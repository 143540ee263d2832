// Presenting: one stage for a lecture hall. The parts are those of the view, laid out anew by the style sheet, where all sizes
// follow the height of the window; what is drawn on the canvas is magnified as much.
import { h } from "../lib/dom.js";
import { sheet } from "../lib/sheet.js";
import { say } from "../lib/language.js";
import { FINEST } from "./diagram.js";

/** How high the smallest letters of the diagram are, in heights of the stage. */
const LEAST = 0.022;
const CLASS = "presenting";
/** What stands on the stage, with the class that says so. */
const DRAWN = { diagram: null, topology: "presenting-topology", grid: "presenting-grid" };

/** @typedef {keyof typeof DRAWN} Drawn */

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
    /** @type {Drawn} */
    this.drawn = "diagram";
    /** Where the topology stands else. @type {HTMLElement | null} */
    this.home = null;
    this.switch = h("button", { type: "button", class: "play-present-only", "data-test": "present-switch", title: say("What is drawn (T)"), onclick: () => this.#draw(this.#next) });
    this.toggle = h("button", { type: "button", "data-test": "play-present", onclick: () => (this.on ? this.leave() : this.enter()) });
    this.button = h("span", { class: "play-present" }, this.switch, this.toggle);
    this.#name();
    document.addEventListener("fullscreenchange", this.#watch);
  }

  get #root() {
    return document.documentElement;
  }

  /** What is drawn next: what many nodes know as a grid has no room beside their topology. @returns {Drawn} */
  get #next() {
    if (this.drawn === "diagram") return "topology";
    return this.drawn === "topology" && this.topology.isWide && this.topology.gridShown ? "grid" : "diagram";
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
    this.#draw("diagram");
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
      case "t": case "T": return () => this.#draw(this.#next);
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

  /** Puts the topology onto the stage, or the diagram, or a grid. @param {Drawn} drawn */
  #draw(drawn) {
    this.drawn = drawn;
    const isDiagram = drawn === "diagram";
    if (!isDiagram && !this.home) {
      this.home = this.topology.element.parentElement;
      this.stage.before(this.topology.element);
    } else if (isDiagram) {
      this.home?.append(this.topology.element);
      this.home = null;
    }
    for (const [one, name] of Object.entries(DRAWN)) if (name) this.#root.classList.toggle(name, one === drawn || (one === "topology" && !isDiagram));
    this.topology.magnify(isDiagram ? 0 : LEAST);
    this.#name();
  }

  /** Says what the buttons do. */
  #name() {
    this.toggle.textContent = this.on ? say("Leave") : say("Present");
    this.toggle.title = this.on ? say("Back to the page (Escape)") : say("One stage for a lecture hall (F)");
    this.switch.textContent = { diagram: say("Diagram"), topology: say("Topology"), grid: say("Grid") }[this.#next];
  }
}
