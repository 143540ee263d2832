// Where what is written beside the nodes of a picture stands: where it hides neither a node nor what else is written.

/** @typedef {{ x: number, y: number, width: number, height: number }} Box by its upper left corner */
/** @typedef {{ x: number, y: number }} Place */

/** How far from its node the first badge is. */
const GAP = 3;
/** How far beside its way something is tried, and by how much farther each time. */
const FARTHEST = 36;
const FARTHER = 2;

/** What is in the way. */
export class Taken {
  /**
   * @param {Place[]} discs
   * @param {number} radius
   * @param {Box} frame outside of which nothing is seen
   */
  constructor(discs, radius, frame) {
    this.discs = discs;
    this.radius = radius;
    this.frame = frame;
    /** @type {Box[]} */
    this.boxes = [];
  }

  /** Takes the room of all of some boxes, if it is free. @param {Box[]} boxes */
  take(boxes) {
    if (!boxes.every((box) => this.#isFree(box))) return false;
    this.boxes.push(...boxes);
    return true;
  }

  /**
   * Moves what would hide a node aside of its way, towards the middle of the picture, where it hides nothing, or at least no node.
   * @param {Box} box
   * @param {Place} way its direction
   */
  moveAside(box, way) {
    const length = Math.hypot(way.x, way.y) || 1;
    const inward = (box.x + box.width / 2) * way.y - (box.y + box.height / 2) * way.x < 0 ? 1 : -1;
    const tried = Array.from({ length: FARTHEST / FARTHER }, (_, k) => {
      const off = (k + 1) * FARTHER * inward;
      return { ...box, x: box.x + (way.y / length) * off, y: box.y - (way.x / length) * off };
    });
    Object.assign(box, tried.find((moved) => this.take([moved])) ?? tried.find((moved) => this.hidesNoNode(moved)));
  }

  /** @param {Box} box */
  hidesNoNode(box) {
    return this.discs.every((disc) => distance(disc, box) >= this.radius);
  }

  /** @param {Box} box */
  #isFree(box) {
    const { frame } = this;
    const isInside = box.x >= frame.x && box.y >= frame.y && box.x + box.width <= frame.x + frame.width && box.y + box.height <= frame.y + frame.height;
    return isInside && this.hidesNoNode(box) && this.boxes.every((other) => !overlap(box, other));
  }
}

/**
 * Where a stack of badges has room beside its node: away from the middle of the picture if possible. With none for all of
 * them, the widest is left out.
 * @template {{ width: number }} B
 * @param {Place} node
 * @param {B[]} badges
 * @param {number} high
 * @param {Taken} taken
 * @returns {{ badge: B, box: Box }[]}
 */
export function stacked(node, badges, high, taken) {
  let left = badges;
  while (left.length > 0) {
    for (const side of sides(node)) {
      const boxes = left.map((badge, k) => boxAt(node, badge.width, k, left.length, high, taken.radius + GAP, side));
      if (taken.take(boxes)) return left.map((badge, k) => ({ badge, box: boxes[k] }));
    }
    const widest = left.reduce((a, b) => (b.width > a.width ? b : a));
    left = left.filter((badge) => badge !== widest);
  }
  return [];
}

/** @typedef {"left" | "right" | "above" | "below"} Side */

/** @param {Place} node @returns {Side[]} */
function sides({ x, y }) {
  const across = /** @type {Side[]} */ (x < 0 ? ["left", "right"] : ["right", "left"]);
  const along = /** @type {Side[]} */ (y < 0 ? ["above", "below"] : ["below", "above"]);
  const upright = Math.abs(x) < 35 && Math.abs(y) > 35;
  return upright ? [along[0], across[0], across[1], along[1]] : [across[0], along[0], along[1], across[1]];
}

/**
 * @param {Place} node
 * @param {number} width
 * @param {number} k which of the stack
 * @param {number} count
 * @param {number} high
 * @param {number} off
 * @param {Side} side
 * @returns {Box}
 */
function boxAt(node, width, k, count, high, off, side) {
  const x = side === "left" ? -off - 1 - width : side === "right" ? off + 1 : -width / 2;
  const y = side === "above" ? -off - high * (count - k) : side === "below" ? off + high * k : high * (k - count / 2);
  return { x: node.x + x, y: node.y + y, width, height: high - 1 };
}

/** How far a place is from a box. @param {Place} place @param {Box} box */
function distance({ x, y }, box) {
  const nearest = { x: Math.min(Math.max(x, box.x), box.x + box.width), y: Math.min(Math.max(y, box.y), box.y + box.height) };
  return Math.hypot(x - nearest.x, y - nearest.y);
}

/** @param {Box} a @param {Box} b */
export function overlap(a, b) {
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}
