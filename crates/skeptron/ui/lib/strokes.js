// What every space-time diagram draws alike, in Play, in its pictures and in Cluster: bars, the ends of arrows, and labels along
// them that do not run into each other.

/** A place on the canvas and another one. @typedef {{ x1: number, y1: number, x2: number, y2: number }} Way */

const HEAD = 8;
const CELL = 8;
/** How far above or below its line the middle of a label is, and how far it reaches from there. */
const ABOVE = 7;
const HALF = 4;
/** An arrow that is longer than its label by so much has room for it, and so far it stays off the ends where the arrow is long. */
const SPARE = 7;

/**
 * The head of an arrow, as a part of a path to be filled.
 * @param {CanvasRenderingContext2D} ink
 * @param {Way} way
 */
export function head(ink, { x1, y1, x2, y2 }) {
  const length = Math.hypot(x2 - x1, y2 - y1) || 1;
  const ux = ((x2 - x1) / length) * HEAD;
  const uy = ((y2 - y1) / length) * HEAD;
  ink.moveTo(x2, y2);
  ink.lineTo(x2 - ux - uy * 0.42, y2 - uy + ux * 0.42);
  ink.lineTo(x2 - ux + uy * 0.42, y2 - uy - ux * 0.42);
  ink.closePath();
}

/**
 * A dot, likewise: a message under way.
 * @param {CanvasRenderingContext2D} ink
 * @param {number} x
 * @param {number} y
 */
export function dot(ink, x, y) {
  ink.moveTo(x + 4.5, y);
  ink.arc(x, y, 4.5, 0, Math.PI * 2);
}

/**
 * A ✕, likewise: a message that is lost.
 * @param {CanvasRenderingContext2D} ink
 * @param {number} x
 * @param {number} y
 */
export function cross(ink, x, y) {
  for (const turn of [1, -1]) {
    ink.moveTo(x - 6 - turn, y - 6 * turn + 1);
    ink.lineTo(x - 6 + turn, y - 6 * turn - 1);
    ink.lineTo(x + 6 + turn, y + 6 * turn - 1);
    ink.lineTo(x + 6 - turn, y + 6 * turn + 1);
    ink.closePath();
  }
}

/**
 * A node that waits or is inside. Waiting is thin, inside thick with a rim: not told by colour alone.
 * @param {CanvasRenderingContext2D} ink
 * @param {"waiting" | "inside"} kind
 * @param {{ x1: number, x2: number, y: number }} place
 * @param {number} room height of a row
 * @param {(name: string) => string} colour
 * @returns {number} how high it is
 */
export function bar(ink, kind, { x1, x2, y }, room, colour) {
  const inside = kind === "inside";
  const height = Math.min(inside ? 16 : 8, room * (inside ? 0.62 : 0.36));
  const width = Math.max(1, x2 - x1);
  ink.fillStyle = colour(kind);
  ink.fillRect(x1, y - height / 2, width, height);
  if (!inside || width < 6) return height;
  ink.lineWidth = 1;
  ink.strokeStyle = colour("ink");
  ink.strokeRect(x1 + 0.5, y - height / 2 + 0.5, width - 1, height - 1);
  return height;
}

/** A text along a line: its middle, its direction, and how wide it is. @typedef {{ x: number, y: number, ux: number, uy: number, width: number }} Box */

/**
 * Where a text lies beside its line.
 * @param {number} x of the place on the line
 * @param {number} y
 * @param {number} ux the line's direction
 * @param {number} uy
 * @param {number} width
 * @param {number} above how far its middle is above the line
 * @returns {Box}
 */
function boxAlong(x, y, ux, uy, width, above) {
  const side = ux >= 0 ? above : -above;
  return { x: x + uy * side, y: y - ux * side, ux, uy, width };
}

/**
 * Whether an arrow crosses a text: one of the diagonals of its box.
 * @param {Way} way
 * @param {Box} box
 */
function crosses({ x1, y1, x2, y2 }, { x, y, ux, uy, width }) {
  // As seen from the text, which lies along the first axis.
  const along = (/** @type {number} */ px, /** @type {number} */ py) => (px - x) * ux + (py - y) * uy;
  const across = (/** @type {number} */ px, /** @type {number} */ py) => (py - y) * ux - (px - x) * uy;
  const [a1, b1, a2, b2] = [along(x1, y1), across(x1, y1), along(x2, y2), across(x2, y2)];
  const half = width / 2;
  const side = (/** @type {number} */ a, /** @type {number} */ b) => (a2 - a1) * (b - b1) - (b2 - b1) * (a - a1);
  return [HALF, -HALF].some((high) => {
    const before = a1 * high - b1 * half;
    const after = a2 * high - b2 * half;
    return before * after < 0 && side(-half, -high) * side(half, high) < 0;
  });
}

/** Where labels are, on a coarse grid. */
export class Labels {
  cells = new Uint8Array(0);
  columns = 0;
  left = 0;
  width = 0;
  height = 0;
  /** @type {Map<string, number>} */
  widths = new Map();

  /**
   * Begins an empty picture, and sets the letters.
   * @param {CanvasRenderingContext2D} ink
   * @param {{ left: number, width: number, height: number, font: string, ground: string }} of `left`: what is left of it is not seen
   */
  begin(ink, { left, width, height, font, ground }) {
    [this.left, this.width, this.height] = [left, width, height];
    this.columns = Math.ceil(width / CELL) + 1;
    const size = this.columns * (Math.ceil(height / CELL) + 1);
    if (this.cells.length < size) this.cells = new Uint8Array(size);
    else this.cells.fill(0);
    ink.font = font;
    ink.textAlign = "center";
    ink.textBaseline = "bottom";
    ink.lineWidth = 3;
    ink.strokeStyle = ground;
  }

  /** Leaves room for words that are written otherwise. @param {{ x: number, y: number, width: number }} words by the beginning of their base line */
  keep({ x, y, width }) {
    for (let along = 0; along <= width; along += CELL / 2) this.#take(x + along, y - 4);
  }

  /**
   * Writes a label along an arrow, where there is room and the fewest other arrows cross it; says whether there was room.
   * @param {CanvasRenderingContext2D} ink
   * @param {string} text
   * @param {Way} way
   * @param {readonly number[]} parts of the way, the best one first; the ends of the way are tried last
   * @param {string} colour
   * @param {readonly Way[]} others that should not cross it
   * @returns {boolean}
   */
  write(ink, text, { x1, y1, x2, y2 }, parts, colour, others) {
    const length = Math.hypot(x2 - x1, y2 - y1);
    const width = this.#widthOf(ink, text);
    if (length < width + SPARE) return false;
    const [ux, uy] = [(x2 - x1) / length, (y2 - y1) / length];
    const reach = Math.min(0.5, (width / 2 + SPARE) / length);
    /** @type {{ box: Box, cells: number[], crossed: number } | null} */
    let best = null;
    for (const off of [ABOVE, -ABOVE]) {
      for (const part of [...parts, reach, 1 - reach]) {
        if (part < reach || part > 1 - reach || best?.crossed === 0) continue;
        const box = boxAlong(x1 + (x2 - x1) * part, y1 + (y2 - y1) * part, ux, uy, width, off);
        const cells = this.#roomFor(box);
        if (!cells) continue;
        const crossed = others.reduce((sum, other) => sum + Number(crosses(other, box)), 0);
        if (best === null || crossed < best.crossed) best = { box, cells, crossed };
      }
    }
    if (best === null) return false;
    for (const cell of best.cells) this.cells[cell] = 1;
    const angle = Math.atan2(uy, ux);
    ink.save();
    ink.translate(best.box.x, best.box.y);
    ink.rotate(Math.abs(angle) > Math.PI / 2 ? angle + Math.PI : angle);
    ink.strokeText(text, 0, ABOVE - 2);
    ink.fillStyle = colour;
    ink.fillText(text, 0, ABOVE - 2);
    ink.restore();
    return true;
  }

  /**
   * The cells that a text takes, or null if it has no room there.
   * @param {Box} box
   * @returns {number[] | null}
   */
  #roomFor({ x, y, ux, uy, width }) {
    const steps = Math.ceil((2 * width) / CELL);
    const cells = [];
    for (let k = 0; k <= steps; k++) {
      const along = (k / steps - 0.5) * width;
      // Nothing is written that would be cut.
      const at = x + ux * along;
      if (at < this.left || at > this.width) return null;
      for (const across of [-HALF, HALF]) {
        const cell = this.#cell(at - uy * across, y + uy * along + ux * across);
        if (this.cells[cell] === 1) return null;
        if (cell >= 0) cells.push(cell);
      }
    }
    return cells;
  }

  /**
   * @param {CanvasRenderingContext2D} ink
   * @param {string} text
   */
  #widthOf(ink, text) {
    let width = this.widths.get(text);
    if (width === undefined) {
      if (this.widths.size > 5000) this.widths.clear();
      width = ink.measureText(text).width;
      this.widths.set(text, width);
    }
    return width;
  }

  /**
   * @param {number} x
   * @param {number} y
   */
  #cell(x, y) {
    if (x < 0 || y < 0 || x >= this.width || y >= this.height) return -1;
    return Math.floor(y / CELL) * this.columns + Math.floor(x / CELL);
  }

  /**
   * @param {number} x
   * @param {number} y
   */
  #take(x, y) {
    const cell = this.#cell(x, y);
    if (cell >= 0) this.cells[cell] = 1;
  }
}
