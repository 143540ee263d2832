// Paints the space-time diagram of a lock on a canvas, and finds what is under the pointer.
import { placeOf, ticks } from "./scale.js";
import { bar, head, Labels } from "../lib/strokes.js";
import { kindColour } from "../lib/theme.js";
import { shortFence, wholeFence } from "../lib/fence.js";
import { say } from "../lib/language.js";
import { milliseconds } from "./history.js";

/**
 * @typedef {{ history: import("./history.js").History, members: number[], whole: boolean, spacing: import("./scale.js").Spacing,
 *   begin: number, end: number, now: number, width: number, height: number }} View
 */
/** @typedef {{ arrow: import("./history.js").Arrow } | { bar: import("./history.js").Bar } | { gap: { at: number, missed: number } }} Thing */
/** @typedef {{ arrow: import("./history.js").Arrow, x1: number, y1: number, x2: number, y2: number, whole: boolean }} Line */

const LEFT = 44;
const AXIS = 26;
/** How long the stub of a message is whose other end cannot be seen. */
const STUB = 34;
/** No more arrows are painted, and no more named: the eye would see only a surface. */
const MOST = 1500;
const MOST_NAMED = 300;
/** Where along its arrow a name is tried. */
const PARTS = [0.3, 0.4, 0.5, 0.6, 0.7];
const labels = new Labels();

/**
 * @param {View} view
 * @returns {{ x: (at: number) => number, y: (node: number) => number, row: number }}
 */
function layout(view) {
  const perPlace = (view.width - LEFT - 8) / (view.end - view.begin);
  const row = (view.height - AXIS) / Math.max(1, view.members.length);
  const rows = new Map(view.members.map((node, place) => [node, (place + 0.5) * row]));
  return {
    x: (at) => LEFT + (placeOf(view.spacing, view.history.moments, at) - view.begin) * perPlace,
    y: (node) => rows.get(node) ?? 0,
    row,
  };
}

/**
 * @param {HTMLCanvasElement} canvas
 * @param {View} view
 * @param {(name: string) => string} colour
 */
export function paint(canvas, view, colour) {
  const ratio = window.devicePixelRatio || 1;
  const [width, height] = [Math.round(view.width * ratio), Math.round(view.height * ratio)];
  if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
  const pen = canvas.getContext("2d");
  if (!pen || width === 0) return;
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, view.width, view.height);
  const font = getComputedStyle(canvas).fontFamily;
  paintAxis(pen, view, colour, font);
  pen.save();
  pen.beginPath();
  pen.rect(LEFT, 0, view.width - LEFT, view.height - AXIS + 4);
  pen.clip();
  paintGaps(pen, view, colour);
  paintBars(pen, view, colour, font);
  paintArrows(pen, view, colour, font);
  pen.restore();
}

/**
 * The lines of the nodes, their names and the times.
 * @param {CanvasRenderingContext2D} pen
 * @param {View} view
 * @param {(name: string) => string} colour
 * @param {string} font
 */
function paintAxis(pen, view, colour, font) {
  const { x, y } = layout(view);
  const perPlace = (view.width - LEFT - 8) / (view.end - view.begin);
  const bottom = view.height - AXIS + 4;
  pen.font = `12px ${font}`;
  pen.textBaseline = "middle";
  pen.lineWidth = 1;
  for (const { place, at } of ticks(view.spacing, view.history.moments, view.begin, view.end, Math.max(2, view.width / 110))) {
    const across = LEFT + (place - view.begin) * perPlace;
    if (across < LEFT) continue;
    pen.strokeStyle = colour("line");
    pen.beginPath();
    pen.moveTo(across, 0);
    pen.lineTo(across, bottom);
    pen.stroke();
    if (across < LEFT + 30) continue;
    pen.fillStyle = colour("muted");
    pen.textAlign = across > view.width - 50 ? "right" : "center";
    pen.fillText(milliseconds(at, view.spacing === "events" ? 2 : view.end - view.begin < 20 ? 1 : 0), across, view.height - 9);
  }
  const now = Math.min(view.width - 4, x(view.now));
  for (const node of view.members) {
    pen.strokeStyle = colour("strong-line");
    pen.beginPath();
    pen.moveTo(LEFT, y(node));
    pen.lineTo(now, y(node));
    pen.stroke();
    pen.fillStyle = colour("ink");
    pen.textAlign = "right";
    pen.font = `600 13px ${font}`;
    pen.fillText(`P${node}`, LEFT - 10, y(node));
  }
}

/**
 * @param {CanvasRenderingContext2D} pen
 * @param {View} view
 * @param {(name: string) => string} colour
 */
function paintGaps(pen, view, colour) {
  const { x } = layout(view);
  pen.strokeStyle = colour("bad");
  pen.setLineDash([3, 4]);
  for (const { at } of view.history.gaps) {
    pen.beginPath();
    pen.moveTo(x(at), 0);
    pen.lineTo(x(at), view.height - AXIS);
    pen.stroke();
  }
  pen.setLineDash([]);
}

/**
 * @param {CanvasRenderingContext2D} pen
 * @param {View} view
 * @param {(name: string) => string} colour
 * @param {string} font
 */
function paintBars(pen, view, colour, font) {
  const { x, y, row } = layout(view);
  pen.font = `600 11px ${font}`;
  pen.textAlign = "left";
  for (const { node, kind, from, to, fence } of view.history.bars) {
    const [begin, end] = [Math.max(LEFT - 9, x(from)), x(to ?? view.now)];
    if (end < LEFT || begin > view.width) continue;
    const height = bar(pen, kind, { x1: begin, x2: Math.max(begin + 2, end), y: y(node) }, row, colour);
    const text = fence === null ? "" : shortFence(fence);
    const edge = Math.max(begin, LEFT);
    if (kind === "inside" && height > 11 && end - edge > pen.measureText(text).width + 8) {
      pen.fillStyle = colour("paper");
      pen.fillText(text, edge + 4, y(node) + 0.5);
    }
  }
}

/**
 * The arrows that are in sight. Of a message with an end that cannot be seen a stub is left.
 * @param {View} view
 * @returns {Line[]}
 */
function lines(view) {
  const { x, y } = layout(view);
  /** @type {Line[]} */
  const found = [];
  for (const arrow of view.history.arrows) {
    const { from, to, sent, received } = arrow;
    const [y1, y2] = [y(from), y(to)];
    let [x1, x2] = [x(sent ?? 0), x(received ?? 0)];
    let [top, end] = [y1, y2];
    const whole = sent !== null && received !== null;
    if (received === null && view.whole && !arrow.missed) x2 = Math.max(x1 + 2, x(view.now));
    else if (received === null) [x2, end] = [x1 + STUB / 2, y1 + Math.sign(y2 - y1) * STUB * 0.6];
    else if (sent === null) [x1, top] = [x2 - STUB / 2, y2 - Math.sign(y2 - y1) * STUB * 0.6];
    if (Math.max(x1, x2) < LEFT || Math.min(x1, x2) > view.width) continue;
    found.push({ arrow, x1, y1: top, x2: Math.max(x1, x2), y2: end, whole });
  }
  return found.slice(-MOST);
}

/**
 * @param {CanvasRenderingContext2D} pen
 * @param {View} view
 * @param {(name: string) => string} colour
 * @param {string} font
 */
function paintArrows(pen, view, colour, font) {
  pen.lineJoin = "round";
  const seen = lines(view);
  for (const line of seen) {
    const { arrow, x1, y1, x2, y2, whole } = line;
    pen.strokeStyle = pen.fillStyle = colour(kindColour(arrow.label));
    pen.lineWidth = 1.5;
    pen.setLineDash(whole ? [] : [4, 3]);
    pen.beginPath();
    pen.moveTo(x1, y1);
    pen.lineTo(x2, y2);
    pen.stroke();
    pen.setLineDash([]);
    pen.beginPath();
    head(pen, line);
    pen.fill();
  }
  if (seen.length > MOST_NAMED) return;
  labels.begin(pen, { width: view.width, height: view.height, font: `11px ${font}`, ground: colour("panel") });
  for (const line of seen.toReversed()) labels.write(pen, line.arrow.label, line, PARTS, colour(kindColour(line.arrow.label)));
}

/**
 * What is near that point.
 * @param {View} view
 * @param {number} px
 * @param {number} py
 * @returns {Thing | null}
 */
export function nearest(view, px, py) {
  let [best, least] = [/** @type {Thing | null} */ (null), 8];
  const { x, y, row } = layout(view);
  for (const { arrow, x1, y1, x2, y2 } of lines(view)) {
    const length = (x2 - x1) ** 2 + (y2 - y1) ** 2;
    const part = length === 0 ? 0 : Math.min(1, Math.max(0, ((px - x1) * (x2 - x1) + (py - y1) * (y2 - y1)) / length));
    const away = Math.hypot(px - x1 - part * (x2 - x1), py - y1 - part * (y2 - y1));
    if (away < least) [best, least] = [{ arrow }, away];
  }
  for (const one of view.history.bars) {
    const over = px >= x(one.from) - 2 && px <= x(one.to ?? view.now) + 2 && Math.abs(py - y(one.node)) <= Math.min(10, row / 3);
    if (over && least > 3) [best, least] = [{ bar: one }, one.kind === "inside" ? 3 : 3.5];
  }
  for (const gap of view.history.gaps) if (Math.abs(px - x(gap.at)) < Math.min(4, least)) best = { gap };
  return best;
}

/**
 * What that is, in words.
 * @param {Thing} thing
 * @param {number} now
 * @returns {string}
 */
export function describe(thing, now) {
  if ("gap" in thing) return say("{n} events are missing before {time}: there were more than can be shown.", { n: thing.gap.missed, time: milliseconds(thing.gap.at) });
  if ("bar" in thing) {
    const { node, kind, from, to, fence } = thing.bar;
    const span = say("from {from} {until}, {lasting}", { from: milliseconds(from), until: to === null ? say("until now") : say("to {time}", { time: milliseconds(to) }), lasting: milliseconds((to ?? now) - from) });
    return kind === "inside" ? say("P{node} is inside {span}; fence {fence}", { node, span, fence: fence === null ? say("unknown") : wholeFence(fence) }) : say("P{node} waits {span}", { node, span });
  }
  const { from, to, label, sent, received } = thing.arrow;
  const begin = sent === null ? "" : say(", sent at {time}", { time: milliseconds(sent, 2) });
  const end = received === null ? "" : say(", taken at {time}", { time: milliseconds(received, 2) });
  const took = sent === null || received === null ? "" : say(", on its way for {time}", { time: milliseconds(received - sent, 2) });
  return `${say("{label} from P{from} to P{to}", { label, from, to })}${begin}${end}${took}`;
}
