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

/** Draws the marks of a diagram. */
export class Marks {
  /** @param {import("./diagram.js").Scene} scene */
  constructor(scene) {
    this.scene = scene;
    /** Where the last words of each line above each row end, so that words do not run into each other. @type {number[][]} */
    this.ends = [];
    this.first = 0;
    this.last = 0;
  }

  /** @param {CanvasRenderingContext2D} ink */
  draw(ink) {
    const { model, camera, position, future } = this.scene;
    this.first = lowerBound(model.marks, model.positionAt(camera.t(GUTTER - 30) - 1));
    this.last = lowerBound(model.marks, model.positionAt(camera.t(camera.width)));
    const wordy = this.last - this.first <= MOST_WORDS;
    const stride = Math.ceil((this.last - this.first) / MOST_MARKS) || 1;
    const lines = camera.rowHeight < TWO_LINES ? 1 : 2;
    this.ends = Array.from({ length: camera.rows }, () => new Array(lines).fill(-Infinity));
    for (let k = this.first; k < this.last; k += stride) {
      const at = model.marks[k];
      if (at >= position && !future) break;
      ink.globalAlpha = at >= position ? 0.25 : 1;
      this.#mark(ink, model.records[at], wordy);
    }
    ink.globalAlpha = 1;
  }

  /**
   * @param {CanvasRenderingContext2D} ink
   * @param {import("../wire.js").RunRecord} record
   * @param {boolean} wordy
   */
  #mark(ink, record, wordy) {
    const { camera, colour } = this.scene;
    const x = camera.x(record.t);
    const y = camera.y(record.node - 1);
    switch (record.kind) {
      case "request":
      case "call":
        // A bar begins there anyway.
        if (!wordy) return;
        ring(ink, x, y, colour("ink"), colour("panel"));
        if (record.kind === "call") this.#words(ink, say("calls"), record, "ink");
        return;
      case "crash":
        return cross(ink, x, y, colour("crash"));
      case "violation":
        return this.#violation(ink, record, x, y);
      default:
        if (wordy) this.#words(ink, wording(record), record, record.kind === "refuse" ? "bad" : "ink");
        else ring(ink, x, y, colour("ink"), colour("ink"));
    }
  }

  /**
   * Words above a node's line, if there is room.
   * @param {CanvasRenderingContext2D} ink
   * @param {string} words
   * @param {import("../wire.js").RunRecord} record
   * @param {string} name colour
   */
  #words(ink, words, record, name) {
    const { camera, colour, font } = this.scene;
    const row = record.node - 1;
    const x = camera.x(record.t);
    if (camera.rowHeight < 22) return;
    ink.font = font(11, "600");
    const width = ink.measureText(words).width;
    const ends = this.ends[row];
    const begins = ends.map((end) => roomAt(x, width, end, camera.width));
    const line = begins.findIndex((begin) => begin !== null);
    const begin = begins[line] ?? null;
    if (begin === null) return;
    ends[line] = begin + width;
    ink.textAlign = "left";
    ink.lineWidth = 3;
    ink.strokeStyle = colour("panel");
    const y = camera.y(row) - 10 - 13 * line;
    ink.strokeText(words, begin, y);
    ink.fillStyle = colour(name);
    ink.fillText(words, begin, y);
  }

  /**
   * @param {CanvasRenderingContext2D} ink
   * @param {import("../wire.js").RunRecord} record
   * @param {number} x
   * @param {number} y
   */
  #violation(ink, record, x, y) {
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
    this.#words(ink, say("{property} violated", { property: translated(record.property ?? "a property") }), record, "bad");
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
  const after = Math.max(x + 3, end + 8);
  if (after + width <= right) return after > x + 90 ? null : after;
  const before = x - width - 14;
  return before < end + 8 ? null : before;
}

/** @param {import("../wire.js").RunRecord} record */
function wording(record) {
  switch (record.kind) {
    case "restart": return say("↻ restarts");
    case "pause": return say("‖ pauses");
    case "resume": return say("▸ resumes");
    case "suspect": return say("suspects P{whom}", { whom: record.whom });
    case "trust": return say("trusts P{whom}", { whom: record.whom });
    case "expire": return say("◆ alarm");
    case "elect": return `★ P${record.leader}`;
    case "refuse": return say("⊘ refuses");
    case "request": return say("request##mark");
    case "crash": return say("crash##mark");
    case "call": return say("call##mark");
    default: return record.kind;
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
