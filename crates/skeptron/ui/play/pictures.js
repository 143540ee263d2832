// Pictures of a run: what Play shows, drawn by the same diagram and the same topology, kept as shapes.
import { shapesOf } from "../picture/dom.js";
import { Ink } from "../picture/ink.js";
import { box, colourOf, path, text, widthOf } from "../picture/shapes.js";
import { colours } from "../lib/theme.js";
import { AXIS, Camera, GUTTER } from "./camera.js";
import { Diagram } from "./diagram.js";

/** @typedef {import("../picture/shapes.js").Picture} Picture */
/** @typedef {import("../picture/shapes.js").Shape} Shape */
/** @typedef {"diagram" | "topology" | "states"} Subject */
/** What of the time: what is in sight, or from one step to another. @typedef {"sight" | { from: number, to: number }} Part */
/**
 * What is drawn from.
 * @typedef {object} Shown
 * @property {import("./diagram.js").Scene} scene
 * @property {SVGSVGElement} topology
 * @property {string} caption of the topology
 * @property {import("../wire.js").NodeState[] | null} states of the present
 * @property {import("../wire.js").NodeState[] | null} before the last step
 * @property {Map<string, import("../wire.js").VariableInfo>} variables
 */

/** Pixels for a unit of time where it is not what is in sight, and how wide such a picture is. */
const UNIT = 150;
const NARROWEST = 640;
const WIDEST = 6000;
const MARGIN = 30;

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
  camera.scale = Math.max(NARROWEST / (t1 - t0), Math.min(UNIT / ticks_per_unit, WIDEST / (t1 - t0)));
  camera.end = t1;
  camera.t0 = t0 - MARGIN / camera.scale;
  camera.width = Math.ceil(GUTTER + (t1 - t0) * camera.scale + 2 * MARGIN);
  camera.height = AXIS + 8 + nodes * (nodes <= 4 ? 84 : nodes <= 8 ? 70 : nodes <= 16 ? 48 : 30);
  return camera;
}

/** @param {Shown} shown @returns {Picture} */
function topology({ topology, caption }) {
  const { width, height } = topology.getBoundingClientRect();
  if (width < 10) throw new Error("the topology is not in sight: show it, and export it then");
  const shapes = shapesOf(topology);
  const below = text(caption, width / 2, height + 16, { anchor: "middle", size: 13, fill: hex("muted") });
  return { width, height: height + 26, ground: hex("panel"), ink: hex("ink"), shapes: caption ? [...shapes, below] : shapes };
}

const ROW = 26;
const SIZE = 13;

/**
 * What the nodes know, as a table; what the last step changed stands out.
 * @param {Shown} shown
 * @returns {Picture}
 */
function states({ states, before, variables, scene }) {
  if (!states) throw new Error("what the nodes know is still on its way; try again");
  const fields = [...variables.values()];
  const value = (/** @type {import("../wire.js").NodeState | undefined} */ state, /** @type {string} */ field) => state?.vars.find((known) => known.field === field)?.value ?? "–";
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
