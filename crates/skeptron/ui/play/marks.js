// What happens to a node, as marks on its line: crashes, alarms, leaders, violations.
import { say, translated } from "../lib/language.js";
import { AXIS, GUTTER } from "./camera.js";
import { lowerBound } from "./model.js";

/** More marks than this in sight are drawn without words. */
const MOST_WORDS = 260;
/** More than this are thinned out. */
const MOST_MARKS = 3000;
/** Rows of that height have room for two lines of words. */
const TWO_LINES = 56;
/** Rows that are lower have room for no words. */
const LEAST_ROOM = 22;
/** How far above a node's line words are, how far apart two lines of them, and how far below where they have no room above. */
const ABOVE = 10;
const LINE = 13;
const BELOW = 20;
/** How far apart words on a line are. */
const APART = 8;
/** What should not have happened. @type {ReadonlySet<string>} */
const BAD = new Set(["refuse", "violation"]);

/** Draws the marks of a diagram. */
export class Marks {
  /** @param {import("./diagram.js").Scene} scene */
  constructor(scene) {
    this.scene = scene;
    /** Where the last words of each line above each row end, so that words do not run into each other. @type {number[][]} */
    this.ends = [];
    /** What is written, and where. @type {{ words: string, x: number, y: number, width: number, colour: string, alpha: number }[]} */
    this.words = [];
    this.first = 0;
    this.last = 0;
  }

  /** The marks in sight that are drawn. @returns {Generator<{ record: import("../wire.js").RunRecord, alpha: number }>} */
  *#inSight() {
    const { model, position, future } = this.scene;
    const stride = Math.ceil((this.last - this.first) / MOST_MARKS) || 1;
    for (let k = this.first; k < this.last; k += stride) {
      const at = model.marks[k];
      if (at >= position && !future) return;
      yield { record: model.records[at], alpha: at >= position ? 0.25 : 1 };
    }
  }

  get #wordy() {
    return this.last - this.first <= MOST_WORDS;
  }

  /** Finds out which marks are in sight, and which words have room. @param {CanvasRenderingContext2D} ink */
  look(ink) {
    const { model, camera, font } = this.scene;
    this.first = lowerBound(model.marks, model.positionAt(camera.t(GUTTER - 30) - 1));
    this.last = lowerBound(model.marks, model.positionAt(camera.t(camera.width)));
    const lines = camera.rowHeight < TWO_LINES ? 1 : 2;
    this.ends = Array.from({ length: camera.rows }, () => new Array(lines).fill(GUTTER - APART));
    this.words = [];
    if (camera.rowHeight < LEAST_ROOM) return;
    ink.font = font(11, "600");
    for (const { record, alpha } of this.#inSight()) {
      const words = this.#wordy || record.kind === "violation" ? wording(record) : "";
      if (words) this.#place(ink, words, record, alpha);
    }
  }

  /**
   * Finds room for words above a node's line.
   * @param {CanvasRenderingContext2D} ink
   * @param {string} words
   * @param {import("../wire.js").RunRecord} record
   * @param {number} alpha
   */
  #place(ink, words, record, alpha) {
    const { camera } = this.scene;
    const row = record.node - 1;
    // Of a moment that is no longer in sight only the end of its words would be.
    if (camera.x(record.t) < GUTTER) return;
    const width = ink.measureText(words).width;
    const ends = this.ends[row];
    const begins = ends.map((end) => roomAt(camera.x(record.t), width, end, camera.width));
    const line = begins.findIndex((begin) => begin !== null);
    const x = begins[line] ?? null;
    if (x === null) return;
    ends[line] = x + width;
    const above = camera.y(row) - ABOVE - LINE * line;
    // What would run out of the diagram at its top stands below the line.
    const y = above - LINE < AXIS ? camera.y(row) + BELOW : above;
    this.words.push({ words, x, y, width, colour: BAD.has(record.kind) ? "bad" : "ink", alpha });
  }

  /** @param {CanvasRenderingContext2D} ink */
  draw(ink) {
    const { colour, font } = this.scene;
    for (const { record, alpha } of this.#inSight()) {
      ink.globalAlpha = alpha;
      this.#mark(ink, record);
    }
    ink.font = font(11, "600");
    ink.textAlign = "left";
    ink.lineWidth = 3;
    ink.strokeStyle = colour("panel");
    for (const { words, x, y, colour: name, alpha } of this.words) {
      ink.globalAlpha = alpha;
      ink.strokeText(words, x, y);
      ink.fillStyle = colour(name);
      ink.fillText(words, x, y);
    }
    ink.globalAlpha = 1;
  }

  /**
   * @param {CanvasRenderingContext2D} ink
   * @param {import("../wire.js").RunRecord} record
   */
  #mark(ink, record) {
    const { camera, colour } = this.scene;
    const x = camera.x(record.t);
    const y = camera.y(record.node - 1);
    switch (record.kind) {
      case "request":
      case "call":
        // A bar begins there anyway.
        if (this.#wordy) ring(ink, x, y, colour("ink"), colour("panel"));
        return;
      case "crash":
        return cross(ink, x, y, colour("crash"));
      case "violation":
        return this.#violation(ink, x, y);
      default:
        if (!this.#wordy) ring(ink, x, y, colour("ink"), colour("ink"));
    }
  }

  /**
   * @param {CanvasRenderingContext2D} ink
   * @param {number} x
   * @param {number} y
   */
  #violation(ink, x, y) {
    const { camera, colour, font } = this.scene;
    ink.strokeStyle = colour("bad");
    ink.lineWidth = 2;
    ink.setLineDash([5, 4]);
    ink.beginPath();
    ink.moveTo(x, AXIS);
    ink.lineTo(x, camera.height);
    ink.stroke();
    ink.setLineDash([]);
    ink.fillStyle = colour("bad");
    ink.beginPath();
    ink.moveTo(x, y - 13);
    ink.lineTo(x + 12, y + 8);
    ink.lineTo(x - 12, y + 8);
    ink.closePath();
    ink.fill();
    ink.fillStyle = colour("panel");
    ink.font = font(13, "700");
    ink.textAlign = "center";
    ink.fillText("!", x, y + 5);
  }

  /**
   * The record whose mark is at a place.
   * @param {number} x
   * @param {number} y
   * @returns {import("../wire.js").RunRecord | null}
   */
  at(x, y) {
    const { model, camera, position, future } = this.scene;
    for (let k = this.first; k < this.last; k++) {
      const at = model.marks[k];
      if (at >= position && !future) break;
      const record = model.records[at];
      if (Math.abs(camera.x(record.t) - x) < 8 && Math.abs(camera.y(record.node - 1) - y) < 10) return record;
    }
    return null;
  }

  /** A ring around where the last step happened. @param {CanvasRenderingContext2D} ink */
  drawPresent(ink) {
    const { model, camera, position, colour } = this.scene;
    const step = model.stepsBefore(position) - 1;
    if (step < 0) return;
    const record = model.records[model.steps[step]];
    const received = model.messages.byId.get(record.message ?? -1);
    const row = record.kind === "lose" && received !== undefined ? model.messages.from[received] : record.node - 1;
    ink.strokeStyle = colour("accent");
    ink.lineWidth = 2.5;
    ink.beginPath();
    ink.arc(camera.x(record.t), camera.y(row), Math.min(11, camera.rowHeight * 0.45), 0, Math.PI * 2);
    ink.stroke();
  }
}

/**
 * Where words about a moment may begin on a line, or null: far from their moment they would say less than none.
 * @param {number} x of the moment
 * @param {number} width of the words
 * @param {number} end of the words before
 * @param {number} right where the diagram ends
 */
function roomAt(x, width, end, right) {
  const after = Math.max(x + 3, end + APART);
  if (after + width <= right) return after > x + 90 ? null : after;
  const before = x - width - 14;
  return before < end + APART ? null : before;
}

/** What is written about a record; nothing where its mark says it all. @param {import("../wire.js").RunRecord} record */
function wording(record) {
  switch (record.kind) {
    case "restart": return say("↻ restarts");
    case "pause": return say("‖ pauses");
    case "resume": return say("▸ resumes");
    case "suspect": return say("suspects P{whom}", { whom: record.whom });
    case "trust": return say("trusts P{whom}", { whom: record.whom });
    case "draw": return say("draws {number}", { number: record.number });
    case "expire": return say("◆ alarm");
    case "elect": return `★ P${record.leader}`;
    case "refuse": return say("⊘ refuses");
    case "call": return say("calls");
    case "violation": return say("{property} violated", { property: translated(record.property ?? "a property") });
    default: return "";
  }
}

/**
 * @param {CanvasRenderingContext2D} ink
 * @param {number} x
 * @param {number} y
 * @param {string} line
 * @param {string} fill
 */
function ring(ink, x, y, line, fill) {
  ink.beginPath();
  ink.arc(x, y, 3.2, 0, Math.PI * 2);
  ink.fillStyle = fill;
  ink.fill();
  ink.lineWidth = 1.4;
  ink.strokeStyle = line;
  ink.stroke();
}

/**
 * @param {CanvasRenderingContext2D} ink
 * @param {number} x
 * @param {number} y
 * @param {string} line
 */
function cross(ink, x, y, line) {
  ink.strokeStyle = line;
  ink.lineWidth = 3;
  ink.beginPath();
  ink.moveTo(x - 7, y - 7);
  ink.lineTo(x + 7, y + 7);
  ink.moveTo(x - 7, y + 7);
  ink.lineTo(x + 7, y - 7);
  ink.stroke();
}
