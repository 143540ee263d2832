// Messages under way in the picture of the topology: a pill with what each says, or a dot where there are many.
import { s } from "../lib/dom.js";
import { kindColour } from "../lib/theme.js";
import { lettersWide } from "./shapes.js";

/** More messages than this are not shown flying. */
const MOST_FLYING = 80;
/** With more than this only what they say is written, without the names of their kinds; with more, nothing. */
const MOST_NAMED = 4;
const MOST_READ = 26;
/** What a message says is cut after so many characters. */
const MOST_CHARS = 26;
/** What has just been sent or is about to arrive stands off the node, by this part of the way: else it hides the node's name. */
const OFF = 0.2;
/** And so far at least. */
const CLEAR = 8;
const DOT = 4.5;

/** Draws what is under way. */
export class Flying {
  constructor() {
    this.element = s("g", { class: "topo-flying" });
  }

  /**
   * Lets everything move to where it is at a time.
   * @param {import("./model.js").RunModel} model
   * @param {number} position
   * @param {number} now
   * @param {(from: number, to: number) => { x1: number, y1: number, x2: number, y2: number }} ends
   * @param {number} letters how high they are
   */
  show(model, position, now, ends, letters) {
    const flying = model.inFlight(position, MOST_FLYING);
    const { children } = this.element;
    while (children.length < flying.length) this.element.append(s("g", {}, s("rect", {}), s("text", { class: "topo-said" }), s("text", { class: "topo-kind", dy: "0.35em" })));
    while (children.length > flying.length) this.element.lastElementChild?.remove();
    const { messages } = model;
    flying.forEach((message, k) => {
      const { x1, y1, x2, y2 } = ends(messages.from[message], messages.to[message]);
      const group = /** @type {SVGGElement} */ (children[k]);
      const label = messages.labels[messages.label[message]];
      const said = flying.length <= MOST_READ ? shortened(messages.payload[message]) : "";
      const { width, height } = sizeOf(said, letters);
      const off = offset({ x: x2 - x1, y: y2 - y1 }, width, height);
      const part = off + (1 - 2 * off) * model.progress(message, now);
      group.setAttribute("transform", `translate(${x1 + (x2 - x1) * part} ${y1 + (y2 - y1) * part})`);
      // The name stands away from the nearer node, whose own name it would hide.
      const leftwards = part < 0.5 ? x2 < x1 : x1 < x2;
      group.setAttribute("class", leftwards ? "leftwards" : "");
      const key = `${label} ${said} ${flying.length <= MOST_NAMED} ${leftwards} ${letters}`;
      if (group.dataset.key === key) return;
      group.dataset.key = key;
      dress(group, label, said, flying.length <= MOST_NAMED ? label : "", letters);
    });
  }
}

/**
 * How large the pill of a message is.
 * @param {string} said
 * @param {number} letters
 */
function sizeOf(said, letters) {
  return said ? { width: lettersWide(said, letters) + 8, height: letters * 1.45 } : { width: 2 * DOT, height: 2 * DOT };
}

/**
 * Which part of the way a pill stays off the nodes at its ends, so that it touches neither.
 * @param {{ x: number, y: number }} way
 * @param {number} width
 * @param {number} height
 */
function offset({ x, y }, width, height) {
  const length = Math.hypot(x, y) || 1;
  // The nearest way out of a box in that direction.
  const reach = Math.min(width / 2 / (Math.abs(x) / length || 1e-9), height / 2 / (Math.abs(y) / length || 1e-9));
  return Math.min(0.5, Math.max(OFF, (reach + CLEAR) / length));
}

/**
 * @param {SVGGElement} group
 * @param {string} label
 * @param {string} said
 * @param {string} name
 * @param {number} letters
 */
function dress(group, label, said, name, letters) {
  const [pill, text, kind] = /** @type {[SVGRectElement, SVGTextElement, SVGTextElement]} */ ([...group.children]);
  const { width, height } = sizeOf(said, letters);
  group.style.fill = `var(--${kindColour(label)})`;
  for (const [attribute, value] of Object.entries({ x: -width / 2, y: -height / 2, width, height, rx: height / 2 })) pill.setAttribute(attribute, String(value));
  text.textContent = said;
  kind.textContent = name;
  kind.setAttribute("x", String((width / 2 + 3) * (group.classList.contains("leftwards") ? -1 : 1)));
}

/** @param {string} said */
function shortened(said) {
  return said.length > MOST_CHARS ? `${said.slice(0, MOST_CHARS - 1)}…` : said;
}
