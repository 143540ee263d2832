// A picture as a list of shapes, which every format can write: paths and texts, in pixels.

/** @typedef {["M" | "L", number, number] | ["C", number, number, number, number, number, number] | ["Z"]} Segment */
/**
 * Colours are `#rrggbb`, or null for none.
 * @typedef {object} Path
 * @property {"path"} kind
 * @property {Segment[]} d
 * @property {string | null} fill
 * @property {string | null} stroke
 * @property {number} width of the stroke
 * @property {number[]} dash
 * @property {number} alpha
 */
/**
 * @typedef {object} Text
 * @property {"text"} kind
 * @property {string} text
 * @property {number} x
 * @property {number} y of its base line
 * @property {number} angle in radians
 * @property {"start" | "middle" | "end"} anchor
 * @property {number} size
 * @property {boolean} bold
 * @property {string} fill
 * @property {string | null} halo the ground on which it is legible
 * @property {number} alpha
 */
/** @typedef {Path | Text} Shape */
/** @typedef {{ width: number, height: number, ground: string, ink: string, shapes: Shape[] }} Picture */
/** A transform, as a canvas has it. @typedef {[number, number, number, number, number, number]} Matrix */

/** How a circle is made of curves. */
const KAPPA = 0.5522847498;

/** Where colours are understood and texts measured. */
const measure = /** @type {CanvasRenderingContext2D} */ (document.createElement("canvas").getContext("2d"));

/**
 * The opaque part of a colour, and how opaque it is; null for none.
 * @param {string | null} text as CSS has it
 * @returns {{ colour: string, alpha: number } | null}
 */
export function colourOf(text) {
  if (!text || text === "none" || text === "transparent") return null;
  measure.fillStyle = "#000000";
  measure.fillStyle = text;
  const read = String(measure.fillStyle);
  if (read.startsWith("#")) return { colour: read, alpha: 1 };
  const [r = 0, g = 0, b = 0, alpha = 1] = (read.match(/[\d.]+/g) ?? []).map(Number);
  const hex = [r, g, b].map((part) => Math.round(part).toString(16).padStart(2, "0")).join("");
  return alpha === 0 ? null : { colour: `#${hex}`, alpha };
}

/**
 * How wide a text is.
 * @param {string} text
 * @param {string} font as CSS has it
 */
export function widthOf(text, font) {
  measure.font = font;
  return measure.measureText(text).width;
}

/**
 * @param {Matrix} m
 * @param {number} x
 * @param {number} y
 * @returns {[number, number]}
 */
export function moved([a, b, c, d, e, f], x, y) {
  return [a * x + c * y + e, b * x + d * y + f];
}

/**
 * @param {Segment[]} d
 * @param {Matrix} m
 * @returns {Segment[]}
 */
export function movedPath(d, m) {
  return d.map((segment) => {
    if (segment[0] === "Z") return segment;
    const [command, ...places] = segment;
    const out = [];
    for (let k = 0; k < places.length; k += 2) out.push(...moved(m, places[k], places[k + 1]));
    return /** @type {Segment} */ ([command, ...out]);
  });
}

/**
 * @param {number} x
 * @param {number} y
 * @param {number} width
 * @param {number} height
 * @param {number} [round] radius of its corners
 * @returns {Segment[]}
 */
export function box(x, y, width, height, round = 0) {
  if (round <= 0) return [["M", x, y], ["L", x + width, y], ["L", x + width, y + height], ["L", x, y + height], ["Z"]];
  const r = Math.min(round, width / 2, height / 2);
  const k = r * (1 - KAPPA);
  const [right, bottom] = [x + width, y + height];
  return [
    ["M", x + r, y], ["L", right - r, y], ["C", right - k, y, right, y + k, right, y + r],
    ["L", right, bottom - r], ["C", right, bottom - k, right - k, bottom, right - r, bottom],
    ["L", x + r, bottom], ["C", x + k, bottom, x, bottom - k, x, bottom - r],
    ["L", x, y + r], ["C", x, y + k, x + k, y, x + r, y], ["Z"],
  ];
}

/**
 * A part of a circle, as curves of a quarter at most.
 * @param {number} x
 * @param {number} y
 * @param {number} r
 * @param {number} from in radians
 * @param {number} to
 * @returns {Segment[]} beginning with where it begins
 */
export function arc(x, y, r, from, to) {
  const turn = Math.max(-2 * Math.PI, Math.min(2 * Math.PI, to - from));
  const pieces = Math.max(1, Math.ceil(Math.abs(turn) / (Math.PI / 2) - 1e-9));
  const step = turn / pieces;
  const k = (4 / 3) * Math.tan(step / 4) * r;
  /** @type {Segment[]} */
  const d = [["M", x + r * Math.cos(from), y + r * Math.sin(from)]];
  for (let piece = 0; piece < pieces; piece++) {
    const a = from + piece * step;
    const b = a + step;
    d.push(["C", x + r * Math.cos(a) - k * Math.sin(a), y + r * Math.sin(a) + k * Math.cos(a),
      x + r * Math.cos(b) + k * Math.sin(b), y + r * Math.sin(b) - k * Math.cos(b), x + r * Math.cos(b), y + r * Math.sin(b)]);
  }
  return d;
}

/**
 * @param {Segment[]} d
 * @param {Partial<Path>} look
 * @returns {Path}
 */
export function path(d, look) {
  return { kind: "path", d, fill: null, stroke: null, width: 1, dash: [], alpha: 1, ...look };
}

/**
 * @param {string} content
 * @param {number} x
 * @param {number} y
 * @param {Partial<Text>} look
 * @returns {Text}
 */
export function text(content, x, y, look) {
  return { kind: "text", text: content, x, y, angle: 0, anchor: "start", size: 12, bold: false, fill: "#000000", halo: null, alpha: 1, ...look };
}

/**
 * A number in little space.
 * @param {number} value
 */
export function short(value) {
  return String(Math.round(value * 100) / 100);
}

/** Space between the pictures of a sheet. */
const APART = 24;

/**
 * Several pictures on one sheet, each below its title, in rows from left to right.
 * @param {{ title: string, picture: Picture }[]} pictures
 * @param {string} caption of all of them
 * @returns {Picture}
 */
export function sheetOf(pictures, caption) {
  const columns = Math.ceil(Math.sqrt(pictures.length));
  const wide = Math.max(...pictures.map(({ picture }) => picture.width));
  const high = Math.max(...pictures.map(({ picture }) => picture.height)) + 26;
  const rows = Math.ceil(pictures.length / columns);
  const shapes = pictures.flatMap(({ title, picture }, k) => {
    const x = APART + (k % columns) * (wide + APART);
    const y = APART + Math.floor(k / columns) * (high + APART);
    return [text(title, x, y + 14, { size: 14, bold: true, fill: picture.ink }), ...picture.shapes.map((shape) => shifted(shape, x, y + 26))];
  });
  const { ground, ink } = pictures[0].picture;
  const [width, height] = [APART + columns * (wide + APART), APART + rows * (high + APART)];
  if (!caption) return { width, height, ground, ink, shapes };
  return { width, height: height + 14, ground, ink, shapes: [...shapes, text(caption, width / 2, height + 2, { anchor: "middle", size: 14, fill: ink })] };
}

/**
 * @param {Shape} shape
 * @param {number} x
 * @param {number} y
 * @returns {Shape}
 */
export function shifted(shape, x, y) {
  if (shape.kind === "text") return { ...shape, x: shape.x + x, y: shape.y + y };
  return { ...shape, d: movedPath(shape.d, [1, 0, 0, 1, x, y]) };
}
