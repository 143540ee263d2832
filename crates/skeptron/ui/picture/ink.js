// What a diagram draws on a canvas, kept as shapes: as much of a canvas's context as diagrams use.
import { arc, box, colourOf, moved, movedPath, path, text, widthOf } from "./shapes.js";

/** How far the letters of a font reach below its base line. */
const DESCENT = 0.22;

/** A context that keeps what is drawn. */
export class Ink {
  /** @type {import("./shapes.js").Shape[]} */
  shapes = [];
  fillStyle = "#000000";
  strokeStyle = "#000000";
  lineWidth = 1;
  globalAlpha = 1;
  font = "12px sans-serif";
  textAlign = "left";
  textBaseline = "alphabetic";
  /** @type {number[]} */
  dash = [];
  /** @type {import("./shapes.js").Segment[]} */
  d = [];
  /** @type {import("./shapes.js").Matrix} */
  matrix = [1, 0, 0, 1, 0, 0];
  /** @type {object[]} */
  kept = [];

  save() {
    const { fillStyle, strokeStyle, lineWidth, globalAlpha, font, textAlign, textBaseline, dash, matrix } = this;
    this.kept.push({ fillStyle, strokeStyle, lineWidth, globalAlpha, font, textAlign, textBaseline, dash, matrix });
  }

  restore() {
    Object.assign(this, this.kept.pop());
  }

  /** The picture itself ends at its edges: that is the only clip. */
  clip() {}

  /** @param {number[]} dash */
  setLineDash(dash) {
    this.dash = dash;
  }

  /**
   * @param {number} x
   * @param {number} y
   */
  translate(x, y) {
    const [a, b, c, d] = this.matrix;
    this.matrix = [a, b, c, d, ...moved(this.matrix, x, y)];
  }

  /** @param {number} angle */
  rotate(angle) {
    const [a, b, c, d, e, f] = this.matrix;
    const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
    this.matrix = [a * cos + c * sin, b * cos + d * sin, c * cos - a * sin, d * cos - b * sin, e, f];
  }

  /**
   * @param {number} x
   * @param {number} y
   */
  scale(x, y) {
    const [a, b, c, d, e, f] = this.matrix;
    this.matrix = [a * x, b * x, c * y, d * y, e, f];
  }

  beginPath() {
    this.d = [];
  }

  closePath() {
    this.d.push(["Z"]);
  }

  /**
   * @param {number} x
   * @param {number} y
   */
  moveTo(x, y) {
    this.#add([["M", x, y]]);
  }

  /**
   * @param {number} x
   * @param {number} y
   */
  lineTo(x, y) {
    this.#add([[this.d.length > 0 ? "L" : "M", x, y]]);
  }

  /**
   * @param {number} x1
   * @param {number} y1
   * @param {number} x2
   * @param {number} y2
   * @param {number} x
   * @param {number} y
   */
  bezierCurveTo(x1, y1, x2, y2, x, y) {
    this.#add([["C", x1, y1, x2, y2, x, y]]);
  }

  /**
   * @param {number} x
   * @param {number} y
   * @param {number} r
   * @param {number} from
   * @param {number} to
   */
  arc(x, y, r, from, to) {
    const d = arc(x, y, r, from, to);
    const [, x0, y0] = d[0];
    // As on a canvas, a line leads to where the arc begins.
    if (this.d.length > 0 && this.d[this.d.length - 1][0] !== "Z") d[0] = ["L", /** @type {number} */ (x0), /** @type {number} */ (y0)];
    this.#add(d);
  }

  /**
   * @param {number} x
   * @param {number} y
   * @param {number} width
   * @param {number} height
   */
  rect(x, y, width, height) {
    this.#add(box(x, y, width, height));
  }

  /**
   * @param {number} x
   * @param {number} y
   * @param {number} width
   * @param {number} height
   * @param {number} round
   */
  roundRect(x, y, width, height, round) {
    this.#add(box(x, y, width, height, round));
  }

  fill() {
    this.#paint(this.d, this.fillStyle, null);
  }

  stroke() {
    this.#paint(this.d, null, this.strokeStyle);
  }

  /**
   * @param {number} x
   * @param {number} y
   * @param {number} width
   * @param {number} height
   */
  fillRect(x, y, width, height) {
    this.#paint(movedPath(box(x, y, width, height), this.matrix), this.fillStyle, null);
  }

  /**
   * @param {number} x
   * @param {number} y
   * @param {number} width
   * @param {number} height
   */
  strokeRect(x, y, width, height) {
    this.#paint(movedPath(box(x, y, width, height), this.matrix), null, this.strokeStyle);
  }

  /** @param {string} words */
  measureText(words) {
    return { width: widthOf(words, this.font) };
  }

  /**
   * @param {string} words
   * @param {number} x
   * @param {number} y
   */
  fillText(words, x, y) {
    const letters = this.#letters(words, x, y, this.fillStyle);
    const last = this.shapes.at(-1);
    // A text that was drawn before as an outline: that was its ground.
    if (last?.kind === "text" && last.fill === last.halo && last.text === letters.text && last.x === letters.x && last.y === letters.y) {
      this.shapes.pop();
      letters.halo = last.halo;
    }
    this.shapes.push(letters);
  }

  /**
   * @param {string} words
   * @param {number} x
   * @param {number} y
   */
  strokeText(words, x, y) {
    const letters = this.#letters(words, x, y, this.strokeStyle);
    this.shapes.push({ ...letters, halo: letters.fill });
  }

  /**
   * @param {string} words
   * @param {number} x
   * @param {number} y
   * @param {string} style
   */
  #letters(words, x, y, style) {
    const [, weight = "400", size = "12"] = /(?:(\d+|bold) )?([\d.]+)px/.exec(this.font) ?? [];
    const scale = Math.hypot(this.matrix[0], this.matrix[1]);
    const below = { bottom: DESCENT, middle: -0.35, top: -0.78 }[this.textBaseline] ?? 0;
    const [px, py] = moved(this.matrix, x, y - Number(size) * below);
    const colour = colourOf(style);
    return text(words, px, py, {
      angle: Math.atan2(this.matrix[1], this.matrix[0]), size: Number(size) * scale, bold: weight === "bold" || Number(weight) >= 600,
      anchor: /** @type {"start"} */ ({ center: "middle", right: "end", end: "end" }[this.textAlign] ?? "start"),
      fill: colour?.colour ?? "#000000", alpha: this.globalAlpha * (colour?.alpha ?? 0),
    });
  }

  /** @param {import("./shapes.js").Segment[]} segments */
  #add(segments) {
    this.d.push(...movedPath(segments, this.matrix));
  }

  /**
   * @param {import("./shapes.js").Segment[]} d
   * @param {string | null} fill
   * @param {string | null} stroke
   */
  #paint(d, fill, stroke) {
    const colour = colourOf(fill ?? stroke);
    if (!colour || d.length === 0 || this.globalAlpha === 0) return;
    this.shapes.push(path(d.slice(), {
      fill: fill === null ? null : colour.colour, stroke: stroke === null ? null : colour.colour,
      width: this.lineWidth * Math.hypot(this.matrix[0], this.matrix[1]), dash: this.dash, alpha: this.globalAlpha * colour.alpha,
    }));
  }
}
