// Plots of figures against a size, as SVG: what was measured as marks of different shapes, what is claimed
// as thin lines. Points answer to the pointer and to the keyboard.
import { h, s, clear } from "./dom.js";
import { axis } from "./axes.js";
import { colours } from "./theme.js";
import { download } from "./files.js";
import { sheet } from "./sheet.js";
import { say } from "./language.js";

/** @typedef {"circle" | "square" | "triangle" | "diamond" | "down" | "cross" | "plus" | "star" | "ring" | "frame" | "hollow-triangle" | "hollow-diamond"} Shape */
/** @typedef {{ x: number, y: number, low?: number, high?: number, text: string }} Point `text` says it in words; `low` and `high` are an interval */
/**
 * @typedef {object} Series
 * @property {string} name
 * @property {string} colour a variable of the style sheet, as `series-1`
 * @property {Shape} shape
 * @property {string} [dash] of its line
 * @property {Point[]} points
 * @property {{ x: number, y: number }[]} [line] what is claimed; without it the points are joined
 * @property {{ x: number, low: number, high: number }[]} [band] between what is claimed; shown when the series is pointed at or alone
 */
/**
 * @typedef {object} Picture
 * @property {string} title
 * @property {string} xLabel
 * @property {string} yLabel
 * @property {boolean} xLog
 * @property {boolean} yLog
 * @property {number[]} [xMarks] the values to write under the x axis
 * @property {Series[]} series only those to be shown
 */
/** @typedef {{ series: Series, point: Point, x: number, y: number, element: SVGGElement }} Mark */
/**
 * @typedef {object} Plot
 * @property {HTMLElement} element
 * @property {(picture: Picture) => void} show draws it anew
 * @property {(name: string | null) => void} light brings one series forward
 * @property {(name: string) => void} save downloads what is shown as a self-contained SVG
 */

const MARGIN = { left: 62, right: 16, top: 12, bottom: 42 };
/** From so near the pointer takes a point. */
const REACH = 40;
/** Marks so near to each other are told of together. */
const TOGETHER = 5;
const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif";

/** All shapes, in the order in which they are given to series. @type {Shape[]} */
export const SHAPES = ["circle", "square", "triangle", "diamond", "down", "cross", "plus", "star", "ring", "frame", "hollow-triangle", "hollow-diamond"];

/** @type {Record<Shape, string>} */
const PATHS = {
  circle: "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0z",
  square: "M-4 -4h8v8h-8z",
  triangle: "M0 -5.2L5 3.8H-5z",
  diamond: "M0 -5.6L5.2 0L0 5.6L-5.2 0z",
  down: "M0 5.2L5 -3.8H-5z",
  cross: "M-4.6 -3L-3 -4.6L0 -1.6L3 -4.6L4.6 -3L1.6 0L4.6 3L3 4.6L0 1.6L-3 4.6L-4.6 3L-1.6 0z",
  plus: "M-1.2 -5h2.4v3.8h3.8v2.4h-3.8v3.8h-2.4v-3.8h-3.8v-2.4h3.8z",
  ring: "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0 -10 0zM-2.6 0a2.6 2.6 0 1 0 5.2 0a2.6 2.6 0 1 0 -5.2 0z",
  frame: "M-4.6 -4.6h9.2v9.2h-9.2zM-2.3 -2.3h4.6v4.6h-4.6z",
  "hollow-triangle": "M0 -6.2L6 4.4H-6zM0 -2.2L2.5 2.3H-2.5z",
  "hollow-diamond": "M0 -6.4L6 0L0 6.4L-6 0zM0 -3.1L2.9 0L0 3.1L-2.9 0z",
  star: "M0 -6L1.6 -1.9L6 -1.8L2.5 0.9L3.7 5.1L0 2.7L-3.7 5.1L-2.5 0.9L-6 -1.8L-1.6 -1.9z",
};

/** How far apart two names at the ends of lines are. */
const NAME_HEIGHT = 13;

/** Names a variable of the style sheet where the page's own colours apply. @param {string} name */
const variable = (name) => `var(--${name})`;

/**
 * A plot that fits its place; nothing is drawn before `show`.
 * @returns {Plot}
 */
export function plot() {
  sheet("/ui/lib/plot.css");
  const place = h("div", { class: "plot-place" });
  const tip = h("div", { class: "plot-tip", hidden: true, "aria-hidden": "true" });
  const element = h("div", { class: "plot", "data-test": "plot" }, place, tip);
  /** @type {Picture | undefined} */
  let picture;
  /** @type {string | null} */
  let lit = null;

  const draw = () => {
    if (!picture || place.clientWidth === 0) return;
    const focused = place.contains(document.activeElement) ? document.activeElement?.getAttribute("data-key") : null;
    const drawn = drawing(picture, { width: place.clientWidth, height: place.clientHeight, colour: variable });
    clear(place);
    place.append(drawn.svg);
    answer(drawn, tip, element);
    bringForward(drawn.svg, lit);
    const again = focused && drawn.marks.find((mark) => mark.element.getAttribute("data-key") === focused);
    if (again) again.element.focus();
  };
  new ResizeObserver(draw).observe(place);

  return {
    element,
    show(next) {
      picture = next;
      draw();
    },
    light(name) {
      lit = name;
      const svg = place.querySelector("svg");
      if (svg) bringForward(svg, name);
    },
    save(name) {
      if (!picture) return;
      download(name, selfContained(picture), "image/svg+xml");
    },
  };
}

/**
 * A plot as a file: with its title, its legend and the colours of the page as they are now.
 * @param {Picture} picture
 * @returns {string}
 */
export function selfContained(picture) {
  const size = { width: 760, height: 440 };
  const { svg } = drawing(picture, { ...size, colour: colours(), standAlone: true });
  svg.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  return `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(svg)}\n`;
}

/**
 * The mark of a series, for a legend.
 * @param {{ colour: string, shape: Shape }} series
 * @returns {SVGSVGElement}
 */
export function symbol({ colour, shape }) {
  return s("svg", { viewBox: "-7 -7 14 14", width: 14, height: 14, "aria-hidden": "true" },
    s("path", { d: PATHS[shape], "fill-rule": "evenodd", fill: variable(colour) }));
}

/**
 * @param {Picture} picture
 * @param {{ width: number, height: number, colour: (name: string) => string, standAlone?: boolean }} options
 * @returns {{ svg: SVGSVGElement, marks: Mark[] }}
 */
function drawing(picture, { width, height, colour, standAlone = false }) {
  const legend = standAlone ? legendLines(picture.series, width) : [];
  const head = standAlone ? 30 : 0;
  const svg = s("svg", { width, height: height + head + legend.length * 20 + 4, role: "group", "aria-label": picture.title, "font-family": FONT, "font-size": 12 });
  const body = s("g", { transform: `translate(0 ${head})` });
  if (standAlone) {
    svg.append(s("rect", { width: "100%", height: "100%", fill: colour("panel") }),
      s("text", { x: MARGIN.left, y: 22, "font-size": 15, "font-weight": 600, fill: colour("ink") }, picture.title),
      drawnLegend(legend, height + head + 8, colour));
  }
  svg.append(body);
  // The names stand at the ends of the lines, where the eye is.
  const inner = width - roomForNames(picture.series, width);
  const axes = axesOf(picture, inner, height);
  body.append(grid(picture, axes, inner, height, colour));
  const marks = placed(picture.series, axes);
  if (inner < width) body.append(namesAtEnds(marks, picture.series, inner, height, colour));
  const alone = picture.series.length === 1;
  for (const series of picture.series) body.append(claimed(series, axes, colour, alone));
  for (const series of picture.series) body.append(measured(series, marks, axes, colour));
  return { svg, marks };
}

/**
 * How wide the names beside the lines are; 0 where there is no room for them, or nothing to tell apart.
 * @param {Series[]} series
 * @param {number} width
 */
function roomForNames(series, width) {
  const room = Math.max(0, ...series.map(({ name }) => name.length * 6.2 + 14));
  return series.length > 1 && room <= width * 0.34 ? room : 0;
}

/**
 * The name of each series beside its last mark, pushed apart where names would hide each other.
 * @param {Mark[]} marks
 * @param {Series[]} series
 * @param {number} left
 * @param {number} height
 * @param {(name: string) => string} colour
 */
function namesAtEnds(marks, series, left, height, colour) {
  const lasts = series.flatMap((one) => marks.filter((mark) => mark.series === one).at(-1) ?? []).sort((a, b) => a.y - b.y);
  const places = lasts.map(({ y }) => y);
  for (let k = 1; k < places.length; k++) places[k] = Math.max(places[k], places[k - 1] + NAME_HEIGHT);
  // What was pushed out below comes back up.
  for (let k = places.length - 1, most = height - MARGIN.bottom; k >= 0; k--, most -= NAME_HEIGHT) places[k] = Math.min(places[k], most);
  return s("g", { class: "plot-names", "aria-hidden": "true" }, lasts.map(({ series: { name, colour: ink }, x, y }, k) =>
    s("g", { class: "plot-series", "data-series": name },
      s("path", { d: `M${x + 7} ${y}L${left - 2} ${places[k]}`, stroke: colour(ink), "stroke-width": 0.8, "stroke-opacity": 0.6, fill: "none" }),
      s("text", { x: left + 1, y: places[k] + 4, fill: colour(ink), "font-weight": 600, "font-size": 11 }, name))));
}

/** @typedef {{ x: import("./axes.js").Axis, y: import("./axes.js").Axis }} Axes */

/**
 * @param {Picture} picture
 * @param {number} width
 * @param {number} height
 * @returns {Axes}
 */
function axesOf({ series, xLog, yLog, xMarks }, width, height) {
  const points = series.flatMap((one) => one.points);
  const lines = series.flatMap((one) => one.line ?? []);
  const bands = series.length === 1 ? series[0].band ?? [] : [];
  const xs = [...points, ...lines].map((point) => point.x);
  const ys = [...points.flatMap(({ y, low = y, high = y }) => [y, low, high]), ...lines.map((point) => point.y),
    ...bands.flatMap(({ low, high }) => [low, high])];
  return {
    x: axis(xs.length > 0 ? xs : [1, 10], { from: MARGIN.left + 8, to: width - MARGIN.right - 8, log: xLog, marks: xMarks, apart: 28 }),
    y: axis(ys.length > 0 ? ys : [0, 1], { from: height - MARGIN.bottom, to: MARGIN.top, log: yLog, apart: 17 }),
  };
}

/**
 * @param {Picture} picture
 * @param {Axes} axes
 * @param {number} width
 * @param {number} height
 * @param {(name: string) => string} colour
 */
function grid({ xLabel, yLabel, xLog, yLog }, { x, y }, width, height, colour) {
  const [left, right, top, bottom] = [MARGIN.left, width - MARGIN.right, MARGIN.top, height - MARGIN.bottom];
  const muted = colour("muted");
  const line = { stroke: colour("line"), "stroke-width": 1 };
  const middle = (top + bottom) / 2;
  return s("g", { "aria-hidden": "true" },
    y.ticks.map((tick) => s("g", {},
      s("line", { x1: left, x2: right, y1: tick.at, y2: tick.at, ...line }),
      s("text", { x: left - 7, y: tick.at + 4, "text-anchor": "end", fill: muted }, tick.text))),
    x.ticks.map((tick) => s("g", {},
      s("line", { x1: tick.at, x2: tick.at, y1: bottom, y2: bottom + 5, stroke: colour("strong-line") }),
      s("text", { x: tick.at, y: bottom + 18, "text-anchor": "middle", fill: muted }, tick.text))),
    s("line", { x1: left, x2: right, y1: bottom, y2: bottom, stroke: colour("strong-line") }),
    s("text", { x: (left + right) / 2, y: height - 7, "text-anchor": "middle", fill: muted }, xLog ? say("{label} (log)", { label: xLabel }) : xLabel),
    s("text", { x: 11, y: middle, "text-anchor": "middle", fill: muted, transform: `rotate(-90 11 ${middle})` }, yLog ? say("{label} (log)", { label: yLabel }) : yLabel));
}

/**
 * Where the marks go. Those that would hide each other stand side by side.
 * @param {Series[]} series
 * @param {Axes} axes
 * @returns {Mark[]}
 */
function placed(series, { x, y }) {
  const marks = series.flatMap((one) => one.points.map((point) => ({
    series: one, point, x: x.at(point.x), y: y.at(point.y), element: s("g"),
  })));
  /** @type {Map<string, Mark[]>} */
  const heaps = new Map();
  for (const mark of marks) {
    const key = `${Math.round(mark.x)} ${Math.round(mark.y / 3)}`;
    heaps.set(key, [...heaps.get(key) ?? [], mark]);
  }
  const columns = [...new Set(marks.map((mark) => mark.x))].sort((a, b) => a - b);
  const narrowest = Math.min(60, ...columns.slice(1).map((column, i) => column - columns[i]));
  for (const heap of heaps.values()) {
    const step = Math.min(8, (narrowest * 0.7) / heap.length);
    heap.forEach((mark, i) => { mark.x += (i - (heap.length - 1) / 2) * step; });
  }
  return marks;
}

/**
 * @param {Series} series
 * @param {Axes} axes
 * @param {(name: string) => string} colour
 * @param {boolean} alone
 */
function claimed(series, { x, y }, colour, alone) {
  const path = (/** @type {{ x: number, y: number }[]} */ points) =>
    points.map((point, i) => `${i === 0 ? "M" : "L"}${x.at(point.x).toFixed(1)} ${y.at(point.y).toFixed(1)}`).join("");
  const ink = colour(series.colour);
  const group = s("g", { class: `plot-claim${alone ? " alone" : ""}`, "data-series": series.name });
  const band = series.band ?? [];
  if (band.length > 1) {
    const high = band.map((point) => ({ x: point.x, y: point.high }));
    const low = band.map((point) => ({ x: point.x, y: point.low })).reverse();
    group.append(s("path", { class: "plot-band", d: `${path([...high, ...low])}z`, fill: ink, "fill-opacity": alone ? 0.14 : 0, stroke: "none" }));
  }
  const style = series.line ? { "stroke-width": 1.3, "stroke-dasharray": series.dash } : { "stroke-width": 1, "stroke-dasharray": "1 4", "stroke-linecap": "round" };
  group.append(s("path", { d: path(series.line ?? series.points), fill: "none", stroke: ink, "stroke-opacity": 0.85, ...style }));
  return group;
}

/**
 * @param {Series} series
 * @param {Mark[]} marks
 * @param {Axes} axes
 * @param {(name: string) => string} colour
 */
function measured(series, marks, { y }, colour) {
  const ink = colour(series.colour);
  const group = s("g", { class: "plot-series", "data-series": series.name });
  for (const mark of marks.filter((mark) => mark.series === series)) {
    const { point } = mark;
    const { low = point.y, high = point.y } = point;
    if (y.at(low) - y.at(high) > 1) {
      group.append(s("path", { d: `M${mark.x} ${y.at(low)}V${y.at(high)}M${mark.x - 3} ${y.at(low)}h6M${mark.x - 3} ${y.at(high)}h6`, stroke: ink, fill: "none" }));
    }
    const transform = `translate(${mark.x.toFixed(1)} ${mark.y.toFixed(1)})`;
    mark.element = s("g", { class: "plot-mark", transform, role: "img", "aria-label": point.text, "data-key": `${series.name} ${point.x}` },
      s("path", { d: PATHS[series.shape], "fill-rule": "evenodd", fill: ink, stroke: colour("panel"), "stroke-width": 0.8 }));
    group.append(mark.element);
  }
  return group;
}

/**
 * Lets the marks answer to pointer and keyboard. One mark is in the order of tabs; arrows go on from it:
 * left and right along the series, up and down to the next series.
 * @param {{ svg: SVGSVGElement, marks: Mark[] }} drawn
 * @param {HTMLElement} tip
 * @param {HTMLElement} frame
 */
function answer({ svg, marks }, tip, frame) {
  const tell = (/** @type {Mark} */ mark) => {
    const near = marks.filter((other) => Math.abs(other.y - mark.y) <= TOGETHER && other.point.x === mark.point.x);
    showTip(tip, frame, mark, near);
    bringForward(svg, mark.series.name);
  };
  const leave = () => {
    tip.hidden = true;
    bringForward(svg, null);
  };
  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    const mark = nearest(marks, event.clientX - box.left, event.clientY - box.top);
    if (mark) tell(mark);
    else leave();
  });
  svg.addEventListener("pointerleave", leave);
  for (const mark of marks) {
    mark.element.setAttribute("tabindex", mark === marks[0] ? "0" : "-1");
    mark.element.addEventListener("focus", () => tell(mark));
    mark.element.addEventListener("blur", leave);
    mark.element.addEventListener("keydown", (event) => {
      const next = neighbour(marks, mark, event.key);
      if (!next) return;
      event.preventDefault();
      mark.element.setAttribute("tabindex", "-1");
      next.element.setAttribute("tabindex", "0");
      next.element.focus();
    });
  }
}

/**
 * @param {Mark[]} marks
 * @param {number} x
 * @param {number} y
 */
function nearest(marks, x, y) {
  let best;
  let least = REACH;
  for (const mark of marks) {
    const distance = Math.hypot(mark.x - x, mark.y - y);
    if (distance < least) [best, least] = [mark, distance];
  }
  return best;
}

/**
 * @param {Mark[]} marks
 * @param {Mark} mark
 * @param {string} key
 */
function neighbour(marks, mark, key) {
  const own = marks.filter((other) => other.series === mark.series);
  const column = marks.filter((other) => other.point.x === mark.point.x);
  const step = (/** @type {Mark[]} */ among, /** @type {number} */ by) => among[among.indexOf(mark) + by];
  switch (key) {
    case "ArrowLeft": return step(own, -1);
    case "ArrowRight": return step(own, 1);
    case "ArrowUp": return step(column, -1);
    case "ArrowDown": return step(column, 1);
    case "Home": return own[0];
    case "End": return own.at(-1);
    default: return undefined;
  }
}

/**
 * @param {HTMLElement} tip
 * @param {HTMLElement} frame
 * @param {Mark} mark
 * @param {Mark[]} near
 */
function showTip(tip, frame, mark, near) {
  const others = near.filter((other) => other !== mark);
  clear(tip);
  for (const { series, point } of [mark, ...others.slice(0, 5)]) {
    tip.append(h("div", { class: "plot-tip-line" }, symbol(series), h("span", {}, point.text)));
  }
  if (others.length > 5) tip.append(h("div", { class: "muted" }, say("and {more} more", { more: others.length - 5 })));
  tip.hidden = false;
  const left = Math.max(4, Math.min(mark.x + 14, frame.clientWidth - tip.offsetWidth - 4));
  const above = mark.y - tip.offsetHeight - 12;
  tip.style.left = `${left}px`;
  tip.style.top = `${above >= 0 ? above : mark.y + 14}px`;
}

/**
 * @param {SVGSVGElement} svg
 * @param {string | null} name
 */
function bringForward(svg, name) {
  svg.classList.toggle("plot-pointed", name !== null);
  for (const part of svg.querySelectorAll("[data-series]")) {
    part.classList.toggle("lit", part.getAttribute("data-series") === name);
  }
}

/**
 * The series in lines that are not wider than the picture.
 * @param {Series[]} series
 * @param {number} width
 */
function legendLines(series, width) {
  /** @type {{ x: number, series: Series }[][]} */
  const lines = [[]];
  let x = MARGIN.left;
  for (const one of series) {
    const wide = 36 + one.name.length * 7;
    if (x + wide > width && x > MARGIN.left) {
      lines.push([]);
      x = MARGIN.left;
    }
    lines[lines.length - 1].push({ x, series: one });
    x += wide;
  }
  return lines;
}

/**
 * @param {ReturnType<typeof legendLines>} lines
 * @param {number} top
 * @param {(name: string) => string} colour
 */
function drawnLegend(lines, top, colour) {
  return s("g", {}, lines.flatMap((line, i) => line.map(({ x, series }) =>
    s("g", { transform: `translate(${x} ${top + i * 20})` },
      s("path", { d: PATHS[series.shape], "fill-rule": "evenodd", fill: colour(series.colour) }),
      s("text", { x: 11, y: 4, fill: colour("ink") }, series.name)))));
}
