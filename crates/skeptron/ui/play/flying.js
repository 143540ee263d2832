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
    /** What messages hide. @type {import("./places.js").Box[]} */
    this.boxes = [];
  }

  /**
   * Lets everything move to where it is at a time.
   * @param {import("./model.js").RunModel} model
   * @param {number} position
   * @param {number} now
   * @param {(from: number, to: number) => { x1: number, y1: number, x2: number, y2: number }} ends
   * @param {number} letters how high they are
   * @param {() => import("./places.js").Taken} room that is left between the nodes and what is written
   */
  show(model, position, now, ends, letters, room) {
    const flying = model.inFlight(position, MOST_FLYING);
    const { children } = this.element;
    while (children.length < flying.length) this.element.append(s("g", {}, s("rect", {}), s("text", { class: "topo-said" }), s("text", { class: "topo-kind", dy: "0.35em" })));
    while (children.length > flying.length) this.element.lastElementChild?.remove();
    const { messages } = model;
    const free = room();
    const pills = flying.map((message) => {
      const { x1, y1, x2, y2 } = ends(messages.from[message], messages.to[message]);
      const said = flying.length <= MOST_READ ? shortened(messages.payload[message]) : "";
      const { width, height } = sizeOf(said, letters);
      const off = offset({ x: x2 - x1, y: y2 - y1 }, width, height);
      const part = off + (1 - 2 * off) * model.progress(message, now);
      // The name stands away from the nearer node, whose own name it would hide.
      const leftwards = part < 0.5 ? x2 < x1 : x1 < x2;
      const box = { x: x1 + (x2 - x1) * part - width / 2, y: y1 + (y2 - y1) * part - height / 2, width, height };
      return { label: messages.labels[messages.label[message]], said, box, way: { x: x2 - x1, y: y2 - y1 }, leftwards };
    });
    const [clear, hiding] = [pills.filter(({ box }) => free.hidesNoNode(box)), pills.filter(({ box }) => !free.hidesNoNode(box))];
    free.boxes.push(...clear.map(({ box }) => box));
    for (const { box, way } of hiding) free.moveAside(box, way);
    this.boxes = pills.map(({ box }) => box);
    const named = flying.length <= MOST_NAMED;
    pills.forEach((pill, k) => {
      const group = /** @type {SVGGElement} */ (children[k]);
      group.setAttribute("transform", `translate(${middle(pill.box.x, pill.box.width)} ${middle(pill.box.y, pill.box.height)})`);
      const side = named ? sideOf(pill, letters, free) : undefined;
      const key = `${pill.label} ${pill.said} ${side} ${letters}`;
      if (group.dataset.key === key) return;
      group.dataset.key = key;
      dress(group, pill, side, letters);
    });
  }
}

/** @param {number} start @param {number} size */
const middle = (start, size) => start + size / 2;

/** What is drawn of a message: where, which way it goes, and on which side its name should stand. @typedef {{ label: string, said: string, box: import("./places.js").Box, way: import("./places.js").Place, leftwards: boolean }} Pill */
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
function sideOf({ label, box: { x, y, width, height }, leftwards }, letters, free) {
  const size = { width: lettersWide(label, letters), height: letters * 1.1 };
  const [across, along] = [middle(y, height) - size.height / 2, middle(x, width) - size.width / 2];
  /** @type {Record<Side, import("./places.js").Box>} */
  const boxes = {
    left: { x: x - BESIDE - size.width, y: across, ...size },
    right: { x: x + width + BESIDE, y: across, ...size },
    above: { x: along, y: y - size.height - 1, ...size },
    below: { x: along, y: y + height + 1, ...size },
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
function dress(group, { label, said, box: { width, height } }, side, letters) {
  const [rect, text, kind] = /** @type {[SVGRectElement, SVGTextElement, SVGTextElement]} */ ([...group.children]);
  group.style.fill = `var(--${kindColour(label)})`;
  group.setAttribute("class", side ?? "");
  for (const [attribute, value] of Object.entries({ x: -width / 2, y: -height / 2, width, height, rx: height / 2 })) rect.setAttribute(attribute, String(value));
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
