// Messages in the diagram: arrows, their labels, and which one lies under the pointer.
import { cross, dot, head, Labels } from "../lib/strokes.js";
import { kindColour } from "../lib/theme.js";
import { GUTTER } from "./camera.js";
import { DELIVERED, LOST, lowerBound } from "./model.js";

/** More arrows than this are thinned out; more than the second have no heads, than the third no labels. */
const MOST_ARROWS = 3000;
const MOST_HEADS = 2000;
const MOST_LABELS = 700;
/** More than this are drawn finer. */
const MANY = 250;
/** How far apart messages are drawn that take the same way at the same time. */
const TWIN = 7;
const MOST_TWINS = 4;
/** With more messages than this, labels do not say what the messages say, nor heed what crosses them. */
const MOST_CONTENTS = 70;
/** Where along its way a label is tried, the best place first: messages that cross do so in the middle. Of one under way, in the middle of what it has made. */
const PLACES = [0.3, 0.4, 0.5, 0.6, 0.7, 0.24, 0.76, 0.2, 0.8];
const PLACES_UNDER_WAY = [0.5, 0.36, 0.64];
/** How far a message is drawn whose other end nobody saw. */
const STUB = 34;

/** Draws the messages of a diagram. */
export class Arrows {
  /** @param {import("./diagram.js").Scene} scene */
  constructor(scene) {
    this.scene = scene;
    /** Where the message of the moment begins and ends, and how it is: reused for all of them. */
    this.way = { x1: 0, y1: 0, x2: 0, y2: 0, open: false, lost: false, stub: false };
    this.labels = new Labels();
    /** The messages in sight: from the first to before the last, each `stride`th. */
    this.first = 0;
    this.last = 0;
    this.stride = 1;
    /** How many messages are in sight. */
    this.count = 0;
  }

  /** Finds out which messages are in sight, and how many of them can be drawn. */
  look() {
    const { camera } = this.scene;
    this.#between(camera.t(0), camera.t(camera.width));
    this.count = this.last - this.first;
    this.stride = 1;
    while (this.count / this.stride > MOST_ARROWS) this.stride *= 2;
  }

  /** Whether there are so many that scrolling should draw only what is new. */
  get dense() {
    return this.count > MOST_LABELS;
  }

  /**
   * Finds the messages that are on their way between two times.
   * @param {number} from
   * @param {number} to
   */
  #between(from, to) {
    const { model, position, future } = this.scene;
    const { messages } = model;
    this.first = lowerBound(messages.sent, model.positionAt(from - model.longestWay - 1));
    const latest = model.positionAt(to);
    this.last = lowerBound(messages.sent, future ? latest : Math.min(latest, position));
  }

  /**
   * Draws the messages between two places of the diagram.
   * @param {CanvasRenderingContext2D} ink
   * @param {number} left
   * @param {number} right
   * @param {Iterable<{ x: number, y: number, width: number }>} words what else is written, which labels leave free
   */
  draw(ink, left, right, words) {
    const { model, colour, camera } = this.scene;
    const { count } = this;
    this.#between(camera.t(left), camera.t(right));
    for (let label = 0; label < model.messages.labels.length; label++) {
      ink.strokeStyle = colour(kindColour(model.messages.labels[label]));
      ink.fillStyle = ink.strokeStyle;
      ink.lineWidth = count > MOST_HEADS ? 0.7 : count > MANY ? 1 : 1.5;
      if (this.scene.future) {
        ink.globalAlpha = 0.22;
        this.#lines(ink, label, true);
      }
      // Where arrows lie close together, the bars below them must still be seen.
      ink.globalAlpha = count > MOST_HEADS ? 0.45 : count > MANY ? 0.7 : 1;
      this.#lines(ink, label, false);
      ink.globalAlpha = 1;
      if (count <= MOST_HEADS) this.#heads(ink, label);
    }
    if (!this.dense) this.#labels(ink, words);
    this.#between(camera.t(0), camera.t(camera.width));
  }

  /**
   * @param {CanvasRenderingContext2D} ink
   * @param {number} label
   * @param {boolean} later those that are only to come, or those that are or were
   */
  #lines(ink, label, later) {
    const { messages } = this.scene.model;
    ink.beginPath();
    for (let message = this.#start(); message < this.last; message += this.stride) {
      if (messages.label[message] !== label) continue;
      if (later ? !this.#future(message) : !this.#past(message)) continue;
      const { x1, y1, x2, y2, stub } = this.way;
      if (messages.copy[message] || stub) dashed(ink, x1, y1, x2, y2);
      else {
        ink.moveTo(x1, y1);
        ink.lineTo(x2, y2);
      }
    }
    ink.stroke();
  }

  /** Thinning keeps the same arrows wherever one scrolls. */
  #start() {
    return Math.ceil(this.first / this.stride) * this.stride;
  }

  /**
   * @param {CanvasRenderingContext2D} ink
   * @param {number} label
   */
  #heads(ink, label) {
    const { messages } = this.scene.model;
    ink.beginPath();
    for (let message = this.#start(); message < this.last; message += this.stride) {
      if (messages.label[message] !== label || !this.#past(message)) continue;
      const { x2, y2, open, lost } = this.way;
      if (open) dot(ink, x2, y2);
      else if (lost) cross(ink, x2, y2);
      else head(ink, this.way);
    }
    ink.fill();
  }

  /**
   * Works out the part of a message's way that it has made; says whether there is any.
   * @param {number} message
   * @returns {boolean}
   */
  #past(message) {
    const { model, position, now } = this.scene;
    if (model.messages.sent[message] >= position) return false;
    const open = model.isInFlight(message, position);
    this.#route(message, open ? model.progress(message, now) : 1);
    this.way.open = open;
    this.way.lost = !open && !this.way.stub && model.messages.fate[message] === LOST;
    return true;
  }

  /**
   * Works out the way of a message that is still to be sent or to arrive; says whether there is any.
   * @param {number} message
   * @returns {boolean}
   */
  #future(message) {
    const { model, position } = this.scene;
    const { sent, fate, end } = model.messages;
    if (sent[message] < position && end[message] >= 0 && end[message] < position) return false;
    this.#route(message, 1);
    this.way.open = false;
    this.way.lost = fate[message] === LOST;
    return true;
  }

  /**
   * @param {number} message
   * @param {number} part how much of the way, from 0 to 1
   */
  #route(message, part) {
    const { model, camera } = this.scene;
    const { messages } = model;
    const t0 = messages.sentT[message];
    const unseen = model.unseen(message);
    this.way.stub = unseen !== null;
    if (unseen) return this.#stub(message, unseen);
    const unit = model.header.ticks_per_unit;
    let t1 = model.arrival(message);
    let reach = 1;
    if (messages.fate[message] === LOST) {
      const arrived = model.records[messages.end[message]].cause === "down";
      reach = arrived ? 0.86 : Math.min(0.7, Math.max(0.35, (t1 - t0) / unit));
      if (arrived) t1 = t0 + (t1 - t0) * reach;
      else t1 = Math.max(t1, t0 + unit * 0.2);
    }
    const { way } = this;
    // Messages on the same way at the same time would hide each other.
    way.x1 = camera.x(t0) + Math.min(messages.twin[message], MOST_TWINS) * TWIN;
    way.y1 = camera.y(messages.from[message]);
    way.x2 = way.x1 + (t1 - t0) * camera.scale * part;
    way.y2 = way.y1 + (camera.y(messages.to[message]) - way.y1) * reach * part;
  }

  /**
   * The beginning or the end of a message: all that was seen of it.
   * @param {number} message
   * @param {"sent" | "end"} unseen
   */
  #stub(message, unseen) {
    const { model: { messages }, camera } = this.scene;
    const { way } = this;
    const [y1, y2] = [camera.y(messages.from[message]), camera.y(messages.to[message])];
    const [wide, high] = [STUB / 2, Math.sign(y2 - y1) * Math.min(STUB * 0.6, Math.abs(y2 - y1))];
    const x = camera.x(unseen === "sent" ? messages.endT[message] : messages.sentT[message]);
    if (unseen === "sent") Object.assign(way, { x1: x - wide, y1: y2 - high, x2: x, y2 });
    else Object.assign(way, { x1: x, y1, x2: x + wide, y2: y1 + high });
  }

  /**
   * @param {CanvasRenderingContext2D} ink
   * @param {Iterable<{ x: number, y: number, width: number }>} words
   */
  #labels(ink, words) {
    const { camera, colour, font, model } = this.scene;
    const { label, labels } = model.messages;
    this.labels.begin(ink, { left: GUTTER, width: camera.width, height: camera.height, font: font(11), ground: colour("panel") });
    for (const written of words) this.labels.keep(written);
    const few = this.last - this.first <= MOST_CONTENTS;
    const others = few ? this.#ways() : [];
    for (let message = this.last - 1; message >= this.first; message--) {
      if (!this.#past(message)) continue;
      const short = labels[label[message]];
      const long = few ? model.messages.name(message) : short;
      const write = (/** @type {string} */ text) => this.labels.write(ink, text, this.way, this.way.open ? PLACES_UNDER_WAY : PLACES, colour(kindColour(short)), others);
      if (!write(long) && long !== short) write(short);
    }
    ink.textBaseline = "alphabetic";
  }

  /** The ways that the messages in sight have made. @returns {import("../lib/strokes.js").Way[]} */
  #ways() {
    const ways = [];
    for (let message = this.first; message < this.last; message++) if (this.#past(message)) ways.push({ ...this.way });
    return ways;
  }

  /**
   * Draws one message again, thicker and with all it says.
   * @param {CanvasRenderingContext2D} ink
   * @param {number} message
   */
  stress(ink, message) {
    if (!this.#past(message) && !(this.scene.future && this.#future(message))) return;
    const { messages } = this.scene.model;
    const { x1, y1, x2, y2, open } = this.way;
    const label = messages.label[message];
    ink.strokeStyle = this.scene.colour(kindColour(messages.labels[label]));
    ink.fillStyle = ink.strokeStyle;
    ink.lineWidth = 3.5;
    ink.beginPath();
    ink.moveTo(x1, y1);
    ink.lineTo(x2, y2);
    ink.stroke();
    ink.beginPath();
    ink.arc(x2, y2, 7, 0, Math.PI * 2);
    if (open) ink.fill();
    ink.lineWidth = 1.5;
    ink.stroke();
  }

  /**
   * The message nearest to a place, if it is near.
   * @param {number} x
   * @param {number} y
   * @returns {number} -1 if there is none
   */
  at(x, y) {
    let best = -1;
    let nearest = 7;
    for (let message = this.#start(); message < this.last; message += this.stride) {
      if (!this.#past(message) && !(this.scene.future && this.#future(message))) continue;
      const { x1, y1, x2, y2, open } = this.way;
      // What flies is what one most likely means.
      const tip = open ? Math.hypot(x - x2, y - y2) - 6 : Infinity;
      const away = Math.min(tip, distance(x, y, x1, y1, x2, y2));
      if (away < nearest) {
        nearest = away;
        best = message;
      }
    }
    return best;
  }

  /**
   * How a message ends, in words.
   * @param {number} message
   * @returns {"in flight" | "delivered" | "lost"}
   */
  fate(message) {
    const { model, position } = this.scene;
    if (model.isInFlight(message, position)) return "in flight";
    return model.messages.fate[message] === DELIVERED ? "delivered" : "lost";
  }
}

/**
 * @param {CanvasRenderingContext2D} ink
 * @param {number} x1
 * @param {number} y1
 * @param {number} x2
 * @param {number} y2
 */
function dashed(ink, x1, y1, x2, y2) {
  const length = Math.hypot(x2 - x1, y2 - y1);
  const pieces = Math.max(1, Math.min(60, Math.round(length / 9)));
  for (let k = 0; k < pieces; k++) {
    const from = k / pieces;
    const to = (k + 0.55) / pieces;
    ink.moveTo(x1 + (x2 - x1) * from, y1 + (y2 - y1) * from);
    ink.lineTo(x1 + (x2 - x1) * to, y1 + (y2 - y1) * to);
  }
}

/**
 * How far a place is from a line.
 * @param {number} x
 * @param {number} y
 * @param {number} x1
 * @param {number} y1
 * @param {number} x2
 * @param {number} y2
 */
function distance(x, y, x1, y1, x2, y2) {
  const dx = x2 - x1;
  const dy = y2 - y1;
  const along = dx * dx + dy * dy;
  const part = along === 0 ? 0 : Math.min(1, Math.max(0, ((x - x1) * dx + (y - y1) * dy) / along));
  return Math.hypot(x - x1 - part * dx, y - y1 - part * dy);
}
