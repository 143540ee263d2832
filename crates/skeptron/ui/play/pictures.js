// Pictures of a run: what Play shows, drawn by the same diagram and the same topology, kept as shapes.
import { shapesOf } from "../picture/dom.js";
import { Ink } from "../picture/ink.js";
import { box, colourOf, path, shifted, text, widthOf } from "../picture/shapes.js";
import { colours } from "../lib/theme.js";
import { say } from "../lib/language.js";
import { AXIS, Camera, GUTTER } from "./camera.js";
import { Diagram } from "./diagram.js";
import { withRuns } from "./values.js";

/** @typedef {import("../picture/shapes.js").Picture} Picture */
/** @typedef {import("../picture/shapes.js").Shape} Shape */
/** @typedef {"diagram" | "topology" | "grid" | "states"} Subject */
/** What of the time: what is in sight, or from one step to another. @typedef {"sight" | { from: number, to: number }} Part */
/**
 * What is drawn from.
 * @typedef {object} Shown
 * @property {import("./diagram.js").Scene} scene
 * @property {SVGSVGElement} topology
 * @property {string} caption of the topology
 * @property {string} cuts of the network, in words
 * @property {{ svg: SVGSVGElement, caption: string } | null} grid what the nodes know as a grid, if there is one
 * @property {import("../wire.js").NodeState[] | null} states of the present
 * @property {import("../wire.js").NodeState[] | null} before the last step
 * @property {Map<string, import("../wire.js").VariableInfo>} variables
 */

/**
 * How large a picture is that is not what is in sight: so wide that its letters have 2 % of a slide's height, if a unit of time has as
 * many pixels as labels need; and rows so high that it fills the slide.
 */
const UNIT = 150;
const LEAST_UNIT = 80;
const SLIDE = 870;
const ASPECT = 16 / 9;
const LOWEST_ROW = 30;
const HIGHEST_ROW = 110;
const NARROWEST = 640;
const WIDEST = 6000;
const MARGIN = 30;
/** The size of what is said below a picture, the height of such a line, and the space beside it. */
const CAPTION = 13;
const LINE = 18;
const APART = 10;

/**
 * Draws a subject as it is at the present.
 * @param {Subject} subject
 * @param {Part} part
 * @param {Shown} shown
 * @param {boolean} light on white, or as the page is
 * @returns {Picture}
 */
export function draw(subject, part, shown, light) {
  return themed(light, () => {
    if (subject === "diagram") return diagram(shown.scene, part);
    if (subject === "grid") return grid(shown.grid);
    return subject === "topology" ? topology(shown) : states(shown);
  });
}

/**
 * Does something while the page has another theme; nobody sees it.
 * @template T
 * @param {boolean} light
 * @param {() => T} deed
 * @returns {T}
 */
function themed(light, deed) {
  const { dataset } = document.documentElement;
  const theme = dataset.theme;
  if (light) dataset.theme = "light";
  try {
    return deed();
  } finally {
    dataset.theme = theme;
  }
}

/**
 * @param {import("./diagram.js").Scene} shown
 * @param {Part} part
 * @returns {Picture}
 */
function diagram(shown, part) {
  const camera = part === "sight" ? Object.assign(new Camera(), shown.camera) : cameraOf(shown.model, part.from, part.to);
  const scene = { ...shown, camera, colour: colours(), stressed: -1 };
  const ink = new Ink();
  const canvas = { width: camera.width, height: camera.height, getContext: () => ink };
  const drawn = new Diagram(/** @type {HTMLCanvasElement} */ (/** @type {unknown} */ (canvas)), scene);
  // However dense it is, a picture is drawn in full.
  drawn.layer.show = () => drawn.drawRun(drawn.ink, 0, camera.width);
  drawn.draw();
  return { width: camera.width, height: camera.height, ground: hex("panel"), ink: hex("ink"), shapes: ink.shapes };
}

/**
 * A camera that sees some steps.
 * @param {import("./model.js").RunModel} model
 * @param {number} from the first step, from 1 on
 * @param {number} to the last one
 */
function cameraOf(model, from, to) {
  const { ticks_per_unit, nodes } = model.header;
  const t0 = from <= 1 ? 0 : model.timeAt((model.steps[from - 1] ?? 0) + 1);
  const t1 = Math.max(model.timeAt(model.positionAfter(to)), t0 + ticks_per_unit);
  const camera = new Camera();
  camera.rows = nodes;
  const fitting = Math.max(LEAST_UNIT / ticks_per_unit, SLIDE / (t1 - t0));
  camera.scale = Math.max(NARROWEST / (t1 - t0), Math.min(UNIT / ticks_per_unit, fitting, WIDEST / (t1 - t0)));
  camera.end = t1;
  camera.t0 = t0 - MARGIN / camera.scale;
  camera.width = Math.ceil(GUTTER + (t1 - t0) * camera.scale + 2 * MARGIN);
  const head = AXIS + 8;
  camera.height = head + Math.round(nodes * Math.max(LOWEST_ROW, Math.min(HIGHEST_ROW, (camera.width / ASPECT - head) / nodes)));
  return camera;
}

/** The topology, what cuts it, and below it what the nodes know as a grid. @param {Shown} shown @returns {Picture} */
function topology({ topology, caption, cuts, grid: below }) {
  const upper = captioned(topology, [{ words: caption, colour: "muted" }, { words: cuts, colour: "bad" }]);
  if (!below) return upper;
  const lower = grid(below);
  const width = Math.max(upper.width, lower.width);
  const placed = (/** @type {Picture} */ part, /** @type {number} */ y) => part.shapes.map((shape) => shifted(shape, (width - part.width) / 2, y));
  return { ...upper, width, height: upper.height + lower.height + 10, shapes: [...placed(upper, 0), ...placed(lower, upper.height + 10)] };
}

/** @param {Shown["grid"]} shown @returns {Picture} */
function grid(shown) {
  if (!shown) throw new Error(say("this algorithm is not shown as a grid; Singhal's, Lamport's, and Suzuki and Kasami's are"));
  return captioned(shown.svg, [{ words: shown.caption, colour: "muted" }]);
}

/**
 * What an SVG of the page shows, with lines of text below it.
 * @param {SVGSVGElement} svg
 * @param {{ words: string, colour: string }[]} lines
 * @returns {Picture}
 */
function captioned(svg, lines) {
  const { width, height } = svg.getBoundingClientRect();
  if (width < 10) throw new Error(say("the topology is not in sight: show it, and export it then"));
  const said = lines.filter(({ words }) => words);
  // A grid may be narrower than what is said of it.
  const wide = Math.max(width, ...said.map(({ words }) => widthOf(words, `${CAPTION}px sans-serif`) + 2 * APART));
  const below = said.map(({ words, colour }, line) => text(words, wide / 2, height + 16 + line * LINE, { anchor: "middle", size: CAPTION, fill: hex(colour) }));
  const drawn = shapesOf(svg).map((shape) => shifted(shape, (wide - width) / 2, 0));
  return { width: wide, height: height + 8 + said.length * LINE, ground: hex("panel"), ink: hex("ink"), shapes: [...drawn, ...below] };
}

const ROW = 26;
const SIZE = 13;

/**
 * What the nodes know, as a table; what the last step changed stands out.
 * @param {Shown} shown
 * @returns {Picture}
 */
function states({ states, before, variables, scene }) {
  if (!states) throw new Error(say("what the nodes know is still on its way; try again"));
  const fields = [...variables.values()];
  const value = (/** @type {import("../wire.js").NodeState | undefined} */ state, /** @type {string} */ field) => withRuns(state?.vars.find((known) => known.field === field)?.value ?? "–");
  const rows = states.map((state, row) => [`P${row + 1}`, ...fields.map(({ field }) => value(state, field))]);
  const head = ["", ...fields.map(({ symbol, field }) => symbol || field)];
  const wide = head.map((title, column) => 20 + Math.max(...[[title], ...rows.map((row) => [row[column]])].map(([words]) => widthOf(words, scene.font(SIZE, "600")))));
  const x = wide.map((_, column) => wide.slice(0, column).reduce((sum, each) => sum + each, 0));
  const width = wide.reduce((sum, each) => sum + each, 0);
  /** @type {Shape[]} */
  const shapes = [];
  const write = (/** @type {string} */ words, /** @type {number} */ column, /** @type {number} */ row, /** @type {string} */ colour, /** @type {boolean} */ bold) =>
    shapes.push(text(words, x[column] + 10, row * ROW + 18, { size: SIZE, bold, fill: hex(colour) }));
  head.forEach((title, column) => write(title, column, 0, "muted", true));
  rows.forEach((row, at) => row.forEach((words, column) => {
    const changed = column > 0 && before !== null && value(before[at], fields[column - 1].field) !== words;
    if (changed) shapes.push(path(box(x[column] + 2, (at + 1) * ROW + 2, wide[column] - 4, ROW - 4, 3), { fill: hex("changed") }));
    write(words, column, at + 1, "ink", column === 0 || changed);
  }));
  for (let row = 1; row <= rows.length; row++) shapes.push(path([["M", 0, row * ROW], ["L", width, row * ROW]], { stroke: hex("line") }));
  return { width, height: (rows.length + 1) * ROW + 2, ground: hex("panel"), ink: hex("ink"), shapes };
}

/** A colour of the style sheet. @param {string} name */
function hex(name) {
  return colourOf(colours()(name))?.colour ?? "#ffffff";
}
