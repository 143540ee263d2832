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
   * @param {() => import("./places.js").Taken} room that is left for names
   */
  show(model, position, now, ends, letters, room) {
    const flying = model.inFlight(position, MOST_FLYING);
    const { children } = this.element;
    while (children.length < flying.length) this.element.append(s("g", {}, s("rect", {}), s("text", { class: "topo-said" }), s("text", { class: "topo-kind", dy: "0.35em" })));
    while (children.length > flying.length) this.element.lastElementChild?.remove();
    const { messages } = model;
    const pills = flying.map((message) => {
      const { x1, y1, x2, y2 } = ends(messages.from[message], messages.to[message]);
      const said = flying.length <= MOST_READ ? shortened(messages.payload[message]) : "";
      const { width, height } = sizeOf(said, letters);
      const off = offset({ x: x2 - x1, y: y2 - y1 }, width, height);
      const part = off + (1 - 2 * off) * model.progress(message, now);
      // The name stands away from the nearer node, whose own name it would hide.
      const leftwards = part < 0.5 ? x2 < x1 : x1 < x2;
      return { label: messages.labels[messages.label[message]], said, width, height, x: x1 + (x2 - x1) * part, y: y1 + (y2 - y1) * part, leftwards };
    });
    const free = flying.length <= MOST_NAMED ? room() : null;
    free?.boxes.push(...pills.map(({ x, y, width, height }) => ({ x: x - width / 2, y: y - height / 2, width, height })));
    pills.forEach((pill, k) => {
      const group = /** @type {SVGGElement} */ (children[k]);
      group.setAttribute("transform", `translate(${pill.x} ${pill.y})`);
      const side = free ? sideOf(pill, letters, free) : undefined;
      const key = `${pill.label} ${pill.said} ${side} ${letters}`;
      if (group.dataset.key === key) return;
      group.dataset.key = key;
      dress(group, pill, side, letters);
    });
  }
}

/** What is drawn of a message: its middle, its size, and on which side its name should stand. @typedef {{ label: string, said: string, width: number, height: number, x: number, y: number, leftwards: boolean }} Pill */
/** @typedef {"left" | "right" | "above" | "below"} Side */

/** How far a name is from its pill. */
const BESIDE = 3;

/**
 * Where the name of a message has room; nowhere if it would hide something.
 * @param {Pill} pill
 * @param {number} letters
 * @param {import("./places.js").Taken} free
 * @returns {Side | undefined}
 */
function sideOf({ label, width, height, x, y, leftwards }, letters, free) {
  const [wide, high] = [lettersWide(label, letters), letters * 1.1];
  const beside = width / 2 + BESIDE;
  /** @type {Record<Side, import("./places.js").Box>} */
  const boxes = {
    left: { x: x - beside - wide, y: y - high / 2, width: wide, height: high },
    right: { x: x + beside, y: y - high / 2, width: wide, height: high },
    above: { x: x - wide / 2, y: y - height / 2 - high - 1, width: wide, height: high },
    below: { x: x - wide / 2, y: y + height / 2 + 1, width: wide, height: high },
  };
  /** @type {Side[]} */
  const sides = leftwards ? ["left", "right", "above", "below"] : ["right", "left", "above", "below"];
  return sides.find((side) => free.take([boxes[side]]));
}

/**
 * How large the pill of a message is.
 * @param {string} said
 * @param {number} letters
 */
function sizeOf(said, letters) {
  return said ? { width: lettersWide(said, letters) + letters, height: letters * 1.45 } : { width: 2 * DOT, height: 2 * DOT };
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
 * @param {Pill} pill
 * @param {Side | undefined} side where its name stands
 * @param {number} letters
 */
function dress(group, { label, said, width, height }, side, letters) {
  const [box, text, kind] = /** @type {[SVGRectElement, SVGTextElement, SVGTextElement]} */ ([...group.children]);
  group.style.fill = `var(--${kindColour(label)})`;
  group.setAttribute("class", side ?? "");
  for (const [attribute, value] of Object.entries({ x: -width / 2, y: -height / 2, width, height, rx: height / 2 })) box.setAttribute(attribute, String(value));
  text.textContent = said;
  kind.textContent = side ? label : "";
  const [beside, over] = [width / 2 + BESIDE, height / 2 + letters * 0.55 + 1];
  kind.setAttribute("x", String(side === "left" ? -beside : side === "right" ? beside : 0));
  kind.setAttribute("y", String(side === "above" ? -over : side === "below" ? over : 0));
}

/** @param {string} said */
function shortened(said) {
  return said.length > MOST_CHARS ? `${said.slice(0, MOST_CHARS - 1)}…` : said;
}
