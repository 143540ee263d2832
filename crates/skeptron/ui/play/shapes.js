// Shapes that the pictures of nodes share, in Play and in Cluster.
import { s } from "../lib/dom.js";
import { widthOf } from "../picture/shapes.js";

/** @typedef {{ x: number, y: number }} Place */

/** How far a bent arrow leaves the straight way: a part of its length, and at least so much. */
const BEND = 0.2;
const LEAST_BEND = 34;
/** The same for one on which something is written, and for one that goes around a node in the middle. */
const LEAST_BEND_WRITTEN = 62;
const BEND_AROUND = 0.3;

/**
 * The head of arrows of one kind, for the `defs` of a picture.
 * @param {string} id
 */
export function tip(id) {
  return s("marker", { id, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 10, markerHeight: 10, markerUnits: "userSpaceOnUse", orient: "auto-start-reverse" }, s("path", { d: "M0 0 8 4 0 8z" }));
}

/**
 * An arrow from who waits to whom it waits for: bent to its left, so that it hides
 * neither the link below it nor the arrow that goes back; or around a node in the middle of the picture.
 * @param {Place} a
 * @param {Place} b
 * @param {number} radius of the discs
 * @param {{ words: string, look?: string, via?: string, head?: string, around?: boolean, hasRoom?: (at: Place) => boolean }} of `via` is written at its middle, if it has room there
 */
export function waitArrow(a, b, radius, { words, look = "", via, head = "topo-tip-wait", around = false, hasRoom = () => true }) {
  const [dx, dy] = [b.x - a.x, b.y - a.y];
  const length = Math.hypot(dx, dy) || 1;
  const side = around && a.x * b.y - a.y * b.x < 0 ? -1 : 1;
  const bend = Math.max(around ? BEND_AROUND : BEND, (via === undefined ? LEAST_BEND : LEAST_BEND_WRITTEN) / length) * side;
  const c = { x: (a.x + b.x) / 2 + dy * bend, y: (a.y + b.y) / 2 - dx * bend };
  const [from, to] = [rims(a, c, radius), rims(b, c, radius)];
  const middle = { x: (from.x1 + to.x1) / 4 + c.x / 2, y: (from.y1 + to.y1) / 4 + c.y / 2 };
  return s("g", { class: `topo-wait ${look}` }, s("title", {}, words),
    s("path", { d: `M${from.x1} ${from.y1}Q${c.x} ${c.y} ${to.x1} ${to.y1}`, "marker-end": `url(#${head})` }),
    via === undefined || !hasRoom(middle) ? null : s("text", middle, via));
}

/**
 * Where an arrow between two discs begins and ends: at their rims.
 * @param {Place} a
 * @param {Place} b
 * @param {number} radius
 */
export function rims(a, b, radius) {
  const [dx, dy] = [b.x - a.x, b.y - a.y];
  const length = Math.hypot(dx, dy) || 1;
  const [ux, uy] = [(dx / length) * radius, (dy / length) * radius];
  return { x1: a.x + ux, y1: a.y + uy, x2: b.x - ux, y2: b.y - uy };
}

/**
 * The token, at the upper right of a disc.
 * @param {number} radius
 * @param {Place} [at]
 */
export function tokenMark(radius, { x, y } = { x: 0, y: 0 }) {
  return s("circle", { class: "topo-token", cx: x + radius * 0.85, cy: y - radius * 0.85, r: Math.max(2.5, radius * 0.45) });
}

/**
 * How wide the words of a picture of nodes are.
 * @param {string} words
 * @param {number} letters how high they are
 */
export function lettersWide(words, letters) {
  return widthOf(words, `600 ${letters}px system-ui, sans-serif`);
}
