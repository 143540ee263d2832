// The space-time diagram: a line for each node, time to the right. Draws only what is in sight.
import { shortFence } from "../lib/fence.js";
import { say } from "../lib/language.js";
import { bar } from "../lib/strokes.js";
import { Arrows } from "./arrows.js";
import { AXIS, GUTTER } from "./camera.js";
import { Layer } from "./layer.js";
import { Marks } from "./marks.js";
import { axisOf } from "./units.js";

/**
 * What the diagram shows.
 * @typedef {object} Scene
 * @property {import("./model.js").RunModel} model
 * @property {import("./camera.js").Camera} camera
 * @property {number} position
 * @property {number} now
 * @property {import("../wire.js").Act[]} acts what was done by hand
 * @property {boolean} future whether what is still to come is drawn, faintly
 * @property {number} selected row of the selected node, or -1
 * @property {ReadonlySet<number>} related rows that belong to the selected node: its quorum
 * @property {number} stressed message that is pointed at, or -1
 * @property {import("./units.js").Axis} [axis] how time is written, if not in units
 * @property {(name: string) => string} colour
 * @property {(pixels: number, weight?: string) => string} font
 * @property {{ look: (ink: CanvasRenderingContext2D, scene: Scene) => { x: number, y: number, width: number }[], draw: (ink: CanvasRenderingContext2D, scene: Scene) => void }} [overlay] finds room for what else is to be seen, and draws it
 */

/** The smallest letters of a diagram, in pixels. */
export const FINEST = 11;

/** Draws a scene on a canvas. */
export class Diagram {
  /**
   * @param {HTMLCanvasElement} canvas
   * @param {Scene} scene
   */
  constructor(canvas, scene) {
    this.canvas = canvas;
    this.scene = scene;
    this.arrows = new Arrows(scene);
    this.marks = new Marks(scene);
    this.layer = new Layer();
    this.ink = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    /** Where the overlay writes. @type {{ x: number, y: number, width: number }[]} */
    this.kept = [];
    /** What stands in the bars, over the arrows that cross them. @type {{ words: string, x: number, y: number, width: number, alpha: number }[]} */
    this.fences = [];
    /** How many pixels of the page one of the camera is: letters, lines and marks grow together. */
    this.magnified = 1;
  }

  /**
   * Takes the size of the canvas on the page.
   * @param {number} width
   * @param {number} height
   * @param {number} magnified
   */
  resize(width, height, magnified) {
    const { camera } = this.scene;
    this.magnified = magnified;
    camera.width = width / magnified;
    camera.height = height / magnified;
    const dots = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(width * dots);
    this.canvas.height = Math.round(height * dots);
    this.ink.setTransform(dots * magnified, 0, 0, dots * magnified, 0, 0);
    camera.clamp();
  }

  /**
   * Where a pointer is, as the camera counts.
   * @param {MouseEvent} event
   */
  place(event) {
    return { x: event.offsetX / this.magnified, y: event.offsetY / this.magnified };
  }

  draw() {
    const { ink, scene } = this;
    const { camera, colour } = scene;
    if (camera.width < 40 || camera.height < 40) return;
    ink.fillStyle = colour("panel");
    ink.fillRect(0, 0, camera.width, camera.height);
    this.#grid();
    this.arrows.look();
    this.kept = scene.overlay?.look(ink, scene) ?? [];
    ink.save();
    ink.beginPath();
    ink.rect(GUTTER - 8, AXIS, camera.width, camera.height - AXIS);
    ink.clip();
    if (this.arrows.dense) this.layer.show(this);
    else this.drawRun(ink, 0, camera.width);
    this.marks.drawPresent(ink);
    scene.overlay?.draw(ink, scene);
    if (scene.stressed >= 0) this.arrows.stress(ink, scene.stressed);
    ink.restore();
    this.#acts();
    this.#present();
    this.#names();
  }

  /**
   * Draws what happened between two places: lines, bars, arrows and marks.
   * @param {CanvasRenderingContext2D} ink
   * @param {number} left
   * @param {number} right
   */
  drawRun(ink, left, right) {
    this.marks.look(ink);
    this.#lines(ink);
    this.#bars(ink);
    this.arrows.draw(ink, left, right, [...this.marks.words, ...this.kept, ...this.fences]);
    this.#writeFences(ink);
    this.marks.draw(ink);
  }

  /** The first and the last row in sight. @returns {[number, number]} */
  #rows() {
    const { camera } = this.scene;
    const first = Math.max(0, Math.floor(camera.top / camera.rowHeight));
    const last = Math.min(camera.rows - 1, Math.ceil((camera.top + camera.height - AXIS) / camera.rowHeight));
    return [first, last];
  }

  #grid() {
    const { ink } = this;
    const { camera, colour, model, font } = this.scene;
    const axis = this.scene.axis ?? axisOf(model.header);
    const step = axis.step(camera.scale);
    ink.font = font(FINEST);
    ink.textAlign = "center";
    ink.lineWidth = 1;
    ink.strokeStyle = colour("line");
    ink.fillStyle = colour("muted");
    ink.beginPath();
    const from = Math.max(0, Math.ceil(camera.t(GUTTER) / step) * step);
    for (let t = from; camera.x(t) < camera.width; t += step) {
      const x = Math.round(camera.x(t)) + 0.5;
      ink.moveTo(x, AXIS - 5);
      ink.lineTo(x, camera.height);
      const words = axis.words(t);
      if (x + ink.measureText(words).width / 2 < camera.width) ink.fillText(words, x, AXIS - 9);
    }
    ink.globalAlpha = 0.6;
    ink.stroke();
    ink.globalAlpha = 1;
  }

  /** @param {CanvasRenderingContext2D} ink */
  #lines(ink) {
    const { camera, colour, now, model, future, selected, related } = this.scene;
    const [first, last] = this.#rows();
    for (let row = first; row <= last; row++) {
      if (row === selected || related.has(row)) {
        ink.fillStyle = colour(row === selected ? "accent-soft" : "sunk");
        ink.fillRect(GUTTER, camera.y(row) - camera.rowHeight / 2 + 1, camera.width, camera.rowHeight - 2);
      }
    }
    const end = camera.x(future ? Math.max(now, model.lastT) : now);
    ink.lineWidth = 1;
    ink.strokeStyle = colour("strong-line");
    ink.beginPath();
    for (let row = first; row <= last; row++) {
      const y = Math.round(camera.y(row)) + 0.5;
      ink.moveTo(Math.max(0, camera.x(0)), y);
      ink.lineTo(Math.min(camera.width, end), y);
    }
    ink.stroke();
  }

  /** @param {CanvasRenderingContext2D} ink */
  #bars(ink) {
    this.fences = [];
    const [first, last] = this.#rows();
    for (let row = first; row <= last; row++) {
      this.#barsOf(ink, this.scene.model.bars[row], row);
      this.#barsOf(ink, this.scene.model.pauses[row], row);
    }
    ink.globalAlpha = 1;
  }

  /**
   * @param {CanvasRenderingContext2D} ink
   * @param {import("./model.js").Bar[]} bars
   * @param {number} row
   */
  #barsOf(ink, bars, row) {
    const { camera, position, now, future } = this.scene;
    const left = camera.t(0);
    const right = camera.t(camera.width);
    let drawn = -Infinity;
    for (let k = firstEndingAfter(bars, left); k < bars.length && bars[k].t0 <= right; k++) {
      const stretch = bars[k];
      const later = stretch.from >= position;
      if (later && !future) break;
      const open = stretch.to < 0 || stretch.to >= position;
      const x1 = Math.max(camera.x(stretch.t0), -20);
      const ends = open && !later ? now : Math.min(stretch.t1, this.scene.model.lastT);
      const x2 = Math.min(camera.x(ends), camera.width + 20);
      // Bars that end on a pixel that is painted already cannot be seen.
      if (x2 - drawn < 0.6 && x2 - x1 < 0.6) continue;
      drawn = x2;
      ink.globalAlpha = later ? 0.25 : 1;
      this.#bar(ink, stretch, row, x1, x2);
    }
  }

  /**
   * @param {CanvasRenderingContext2D} ink
   * @param {import("./model.js").Bar} stretch
   * @param {number} row
   * @param {number} x1
   * @param {number} x2
   */
  #bar(ink, stretch, row, x1, x2) {
    const { camera, colour } = this.scene;
    const { kind, fence } = stretch;
    const y = camera.y(row);
    const width = Math.max(1, x2 - x1);
    if (kind === "down") return this.#gap(ink, x1, width, y);
    if (kind === "paused") return this.#hatch(ink, x1, width, y, camera.rowHeight);
    const height = bar(ink, kind, { x1, x2, y }, camera.rowHeight, colour);
    if (kind === "inside" && fence !== undefined && width > 26 && height > 11) this.#fence(ink, fence, x1, x2, y);
  }

  /**
   * @param {CanvasRenderingContext2D} ink
   * @param {number} fence
   * @param {number} x1
   * @param {number} x2
   * @param {number} y
   */
  #fence(ink, fence, x1, x2, y) {
    ink.font = this.scene.font(FINEST, "600");
    const words = shortFence(fence);
    const width = ink.measureText(words).width;
    const middle = (Math.max(x1, GUTTER) + Math.min(x2, this.scene.camera.width)) / 2;
    this.fences.push({ words, x: middle - width / 2, y: y + 4, width, alpha: ink.globalAlpha });
  }

  /** @param {CanvasRenderingContext2D} ink */
  #writeFences(ink) {
    const { colour, font } = this.scene;
    ink.font = font(FINEST, "600");
    ink.textAlign = "left";
    ink.lineWidth = 3;
    ink.strokeStyle = colour("inside");
    ink.fillStyle = colour("paper");
    for (const { words, x, y, alpha } of this.fences) {
      ink.globalAlpha = alpha;
      ink.strokeText(words, x, y);
      ink.fillText(words, x, y);
    }
    ink.globalAlpha = 1;
  }

  /**
   * A node that is down has no line.
   * @param {CanvasRenderingContext2D} ink
   * @param {number} x
   * @param {number} width
   * @param {number} y
   */
  #gap(ink, x, width, y) {
    ink.fillStyle = this.scene.colour("panel");
    ink.fillRect(x, y - 3, width, 6);
    ink.strokeStyle = this.scene.colour("crash");
    ink.setLineDash([2, 6]);
    ink.beginPath();
    ink.moveTo(x, y);
    ink.lineTo(x + width, y);
    ink.stroke();
    ink.setLineDash([]);
  }

  /**
   * @param {CanvasRenderingContext2D} ink
   * @param {number} x
   * @param {number} width
   * @param {number} y
   * @param {number} room
   */
  #hatch(ink, x, width, y, room) {
    const height = Math.min(20, room * 0.7);
    ink.strokeStyle = this.scene.colour("muted");
    ink.lineWidth = 1;
    ink.beginPath();
    for (let at = Math.max(x, 0); at < x + width && at < this.scene.camera.width; at += 7) {
      ink.moveTo(at, y + height / 2);
      ink.lineTo(Math.min(at + 7, x + width), y - height / 2);
    }
    ink.stroke();
    ink.strokeRect(x, y - height / 2, width, height);
  }

  /** A small triangle at the axis for all that was done by hand. */
  #acts() {
    const { ink } = this;
    const { camera, acts, colour, position, future } = this.scene;
    ink.fillStyle = colour("ink");
    ink.beginPath();
    for (const act of acts) {
      const x = camera.x(act.t);
      if ((act.after > position && !future) || x < GUTTER - 8 || x > camera.width) continue;
      ink.moveTo(x - 6, AXIS - 6);
      ink.lineTo(x + 6, AXIS - 6);
      ink.lineTo(x, AXIS + 3);
    }
    ink.fill();
  }

  #present() {
    const { ink } = this;
    const { camera, colour, now, font, model } = this.scene;
    const x = Math.round(camera.x(now)) + 0.5;
    if (x < GUTTER - 9 || x > camera.width + 9) return;
    ink.strokeStyle = colour("accent");
    ink.lineWidth = 2;
    ink.beginPath();
    ink.moveTo(x, AXIS - 4);
    ink.lineTo(x, camera.height);
    ink.stroke();
    const text = (this.scene.axis ?? axisOf(model.header)).words(now, 2);
    ink.font = font(FINEST, "600");
    const half = Math.max(14, ink.measureText(text).width / 2 + 6);
    const middle = Math.min(x, camera.width - half);
    ink.fillStyle = colour("accent");
    ink.beginPath();
    ink.roundRect(middle - half, 3, half * 2, AXIS - 7, 5);
    ink.fill();
    ink.fillStyle = colour("on-accent");
    ink.textAlign = "center";
    ink.fillText(text, middle, AXIS - 9);
  }

  #names() {
    const { ink } = this;
    const { camera, colour, font, selected, related, model } = this.scene;
    ink.fillStyle = colour("panel");
    ink.fillRect(0, AXIS, GUTTER - 8, camera.height);
    ink.fillRect(0, 0, GUTTER - 8, AXIS);
    ink.fillStyle = colour("muted");
    ink.font = font(FINEST);
    ink.textAlign = "left";
    ink.fillText(say("time"), 7, AXIS - 9);
    const [first, last] = this.#rows();
    const size = Math.max(FINEST, Math.min(14, camera.rowHeight * 0.8));
    // Rows that are lower than their names are named in part.
    const each = Math.ceil((FINEST + 1) / camera.rowHeight);
    ink.textAlign = "right";
    for (let row = first; row <= last; row++) {
      const y = camera.y(row);
      if (y < AXIS + 2 || (row !== selected && (row % each !== 0 || (selected >= 0 && Math.abs(row - selected) < each)))) continue;
      ink.font = font(size, row === selected || related.has(row) ? "700" : "500");
      ink.fillStyle = colour(row === selected ? "accent" : "ink");
      ink.fillText(`${related.has(row) ? "• " : ""}${model.name(row)}`, GUTTER - 12, y + size * 0.36);
    }
  }
}

/**
 * @param {import("./model.js").Bar[]} bars
 * @param {number} t
 */
function firstEndingAfter(bars, t) {
  let low = 0;
  let high = bars.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (bars[middle].t1 < t) low = middle + 1;
    else high = middle;
  }
  return low;
}
