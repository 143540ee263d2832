// An SVG of the page as shapes: as it looks there, whatever style sheets made it so.
import { arc, box, colourOf, moved, movedPath, path, text } from "./shapes.js";

/** @typedef {import("./shapes.js").Shape} Shape */
/** @typedef {import("./shapes.js").Matrix} Matrix */
/** @typedef {import("./shapes.js").Segment} Segment */

/** By how much of its size a text stands below its place that is centred on it. */
const CENTRED = 0.35;

/** The head of an arrow is that many times as long as its line is wide, where its marker does not say it. */
const HEAD = 7;

/**
 * @param {SVGSVGElement} svg one that is shown
 * @returns {Shape[]} in pixels of the page, from its upper left corner
 */
export function shapesOf(svg) {
  /** @type {Shape[]} */
  const shapes = [];
  for (const element of svg.querySelectorAll("line, circle, ellipse, rect, polyline, polygon, path, text")) {
    if (!(element instanceof SVGGraphicsElement) || element.closest("defs, marker, clipPath")) continue;
    const style = getComputedStyle(element);
    const m = element.getCTM();
    if (!m || style.visibility !== "visible" || !isShown(element, svg)) continue;
    const matrix = /** @type {Matrix} */ ([m.a, m.b, m.c, m.d, m.e, m.f]);
    if (element instanceof SVGTextElement) shapes.push(...letters(element, style, matrix, opacity(element, svg)));
    else shapes.push(...drawn(element, style, matrix, opacity(element, svg)));
  }
  return shapes;
}

/**
 * @param {Element} element
 * @param {Element} root
 */
function isShown(element, root) {
  for (let up = /** @type {Element | null} */ (element); up && up !== root; up = up.parentElement) {
    if (getComputedStyle(up).display === "none") return false;
  }
  return true;
}

/**
 * @param {Element} element
 * @param {Element} root
 */
function opacity(element, root) {
  let product = 1;
  for (let up = /** @type {Element | null} */ (element); up && up !== root; up = up.parentElement) product *= Number(getComputedStyle(up).opacity);
  return product;
}

/**
 * @param {SVGGraphicsElement} element
 * @param {CSSStyleDeclaration} style
 * @param {Matrix} matrix
 * @param {number} alpha
 * @returns {Shape[]}
 */
function drawn(element, style, matrix, alpha) {
  const scale = Math.sqrt(Math.abs(matrix[0] * matrix[3] - matrix[1] * matrix[2]));
  const d = movedPath(wayOf(element), matrix);
  if (d.length === 0) return [];
  const fill = element instanceof SVGLineElement ? null : colourOf(style.fill);
  const stroke = colourOf(style.stroke);
  const width = Number.parseFloat(style.strokeWidth) * scale;
  const dash = style.strokeDasharray === "none" ? [] : style.strokeDasharray.split(/[ ,]+/).map((length) => Number.parseFloat(length) * scale);
  /** @type {Shape[]} */
  const shapes = [];
  if (fill) shapes.push(path(d, { fill: fill.colour, alpha: alpha * fill.alpha * Number(style.fillOpacity) }));
  if (stroke && width > 0) shapes.push(path(d, { stroke: stroke.colour, width, dash, alpha: alpha * stroke.alpha * Number(style.strokeOpacity) }));
  const marker = /#([^")]+)/.exec(style.markerEnd)?.[1];
  if (marker && stroke) shapes.push(...headOf(element, marker, d, width, alpha));
  return shapes;
}

/**
 * @param {Element} element
 * @param {string} id of the marker
 * @param {Segment[]} d
 * @param {number} width
 * @param {number} alpha
 * @returns {Shape[]}
 */
function headOf(element, id, d, width, alpha) {
  const marker = element.ownerDocument.getElementById(id);
  const form = marker?.querySelector("path");
  const places = d.flatMap(([, ...numbers]) => /** @type {number[]} */ (numbers));
  const [fx, fy, x, y] = places.slice(-4);
  const colour = form && colourOf(getComputedStyle(form).fill);
  if (!marker || !colour || y === undefined) return [];
  const length = Number(marker.getAttribute("markerWidth") ?? HEAD) * (marker.getAttribute("markerUnits") === "userSpaceOnUse" ? 1 : width);
  const way = Math.hypot(x - fx, y - fy) || 1;
  const [ux, uy] = [((x - fx) / way) * length, ((y - fy) / way) * length];
  const head = /** @type {Segment[]} */ ([["M", x, y], ["L", x - ux - uy / 2, y - uy + ux / 2], ["L", x - ux + uy / 2, y - uy - ux / 2], ["Z"]]);
  return [path(head, { fill: colour.colour, alpha: alpha * colour.alpha })];
}

/**
 * @param {SVGTextElement} element
 * @param {CSSStyleDeclaration} style
 * @param {Matrix} matrix
 * @param {number} alpha
 * @returns {Shape[]}
 */
function letters(element, style, matrix, alpha) {
  const content = element.textContent?.trim() ?? "";
  const fill = colourOf(style.fill);
  if (!content || !fill || element.getNumberOfChars() === 0) return [];
  const begin = element.getStartPositionOfChar(0);
  const anchor = /** @type {"start" | "middle" | "end"} */ (style.textAnchor);
  const wide = element.getComputedTextLength();
  const x = begin.x + { start: 0, middle: wide / 2, end: wide }[anchor];
  const below = style.dominantBaseline === "central" ? CENTRED * Number.parseFloat(style.fontSize) : 0;
  const [px, py] = moved(matrix, x, begin.y + below);
  const halo = style.paintOrder.startsWith("stroke") ? colourOf(style.stroke) : null;
  return [text(content, px, py, {
    anchor, angle: Math.atan2(matrix[1], matrix[0]), size: Number.parseFloat(style.fontSize) * Math.hypot(matrix[0], matrix[1]),
    bold: Number(style.fontWeight) >= 600, fill: fill.colour, halo: halo?.colour ?? null, alpha: alpha * fill.alpha,
  })];
}

/**
 * The way of an element's outline.
 * @param {SVGGraphicsElement} element
 * @returns {Segment[]}
 */
function wayOf(element) {
  const of = (/** @type {string} */ name) => Number.parseFloat(element.getAttribute(name) ?? "0") || 0;
  if (element instanceof SVGLineElement) return [["M", of("x1"), of("y1")], ["L", of("x2"), of("y2")]];
  if (element instanceof SVGCircleElement) return [...arc(of("cx"), of("cy"), of("r"), 0, 2 * Math.PI), ["Z"]];
  if (element instanceof SVGEllipseElement) return movedPath([...arc(0, 0, 1, 0, 2 * Math.PI), ["Z"]], [of("rx"), 0, 0, of("ry"), of("cx"), of("cy")]);
  if (element instanceof SVGRectElement) return box(of("x"), of("y"), of("width"), of("height"), of("rx"));
  if (element instanceof SVGPathElement) return parsed(element.getAttribute("d") ?? "");
  const places = (element.getAttribute("points") ?? "").match(/-?[\d.]+(e-?\d+)?/g)?.map(Number) ?? [];
  /** @type {Segment[]} */
  const d = [];
  for (let k = 0; k + 1 < places.length; k += 2) d.push([k === 0 ? "M" : "L", places[k], places[k + 1]]);
  return element instanceof SVGPolygonElement ? [...d, ["Z"]] : d;
}

/** How many numbers a command of a path takes. @type {Record<string, number>} */
const TAKES = { M: 2, L: 2, H: 1, V: 1, C: 6, Q: 4, A: 7, Z: 0 };

/**
 * A path by its `d`; of an arc, its chord.
 * @param {string} text
 * @returns {Segment[]}
 */
function parsed(text) {
  /** @type {Segment[]} */
  const d = [];
  let [x, y, x0, y0] = [0, 0, 0, 0];
  for (const [, letter, rest] of text.matchAll(/([MLHVCQAZmlhvcqaz])([^MLHVCQAZmlhvcqaz]*)/g)) {
    const command = letter.toUpperCase();
    const relative = letter !== command;
    const all = rest.match(/-?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?/g)?.map(Number) ?? [];
    if (command === "Z") {
      d.push(["Z"]);
      [x, y] = [x0, y0];
      continue;
    }
    const count = TAKES[command] ?? 2;
    for (let k = 0; k + count <= all.length; k += count) {
      const n = all.slice(k, k + count);
      const [bx, by] = relative ? [x, y] : [0, 0];
      if (command === "H") x = bx + n[0];
      else if (command === "V") y = by + n[0];
      else if (command === "C") {
        d.push(["C", bx + n[0], by + n[1], bx + n[2], by + n[3], bx + n[4], by + n[5]]);
        [x, y] = [bx + n[4], by + n[5]];
        continue;
      } else if (command === "Q") {
        const [qx, qy, ex, ey] = [bx + n[0], by + n[1], bx + n[2], by + n[3]];
        d.push(["C", x + ((qx - x) * 2) / 3, y + ((qy - y) * 2) / 3, ex + ((qx - ex) * 2) / 3, ey + ((qy - ey) * 2) / 3, ex, ey]);
        [x, y] = [ex, ey];
        continue;
      } else [x, y] = [bx + n[count - 2], by + n[count - 1]];
      const begins = command === "M" && k === 0;
      if (begins) [x0, y0] = [x, y];
      d.push([begins ? "M" : "L", x, y]);
    }
  }
  return d;
}
