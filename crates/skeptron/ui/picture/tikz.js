// A picture as TikZ: a document of its own, which the package `standalone` also lets others \input.
import { short } from "./shapes.js";

/** Pixels are a ninety-sixth of an inch, TeX's big points a seventy-second. */
const BP = 0.75;

/** What TeX takes for something else, and signs that its fonts have as formulas. @type {Record<string, string>} */
const SIGNS = {
  "\\": "\\textbackslash{}", "{": "\\{", "}": "\\}", $: "\\$", "&": "\\&", "#": "\\#", "^": "\\textasciicircum{}", _: "\\_", "~": "\\textasciitilde{}", "%": "\\%",
  "→": "$\\to$", "⟶": "$\\longrightarrow$", "←": "$\\leftarrow$", "★": "$\\star$", "◆": "$\\diamond$", "↻": "$\\circlearrowright$", "⊘": "$\\oslash$", "‖": "$\\|$",
  "▸": "$\\triangleright$", "✕": "$\\times$", "✗": "$\\times$", "✓": "$\\checkmark$", "∅": "$\\emptyset$", "⊥": "$\\bot$", "≤": "$\\le$", "≥": "$\\ge$", "∞": "$\\infty$",
  "·": "$\\cdot$", "•": "\\textbullet{}", "…": "\\dots{}", "–": "--", "—": "---", "’": "'", "<": "$<$", ">": "$>$", "|": "$|$", "×": "$\\times$", "−": "$-$", "▼": "$\\blacktriangledown$", "∈": "$\\in$", "∉": "$\\notin$",
};

/**
 * @param {import("./shapes.js").Picture} picture
 * @returns {string}
 */
export function toTikz({ width, height, ground, shapes }) {
  /** @type {Map<string, string>} */
  const names = new Map();
  const colour = (/** @type {string} */ hex) => {
    if (!names.has(hex)) names.set(hex, `sk${String.fromCharCode(97 + Math.floor(names.size / 26))}${String.fromCharCode(97 + (names.size % 26))}`);
    return /** @type {string} */ (names.get(hex));
  };
  const fill = `\\fill[${colour(ground)}] (0,0) rectangle (${short(width)},${short(height)});`;
  const lines = shapes.map((shape) => (shape.kind === "path" ? pathOf(shape, colour) : textOf(shape, colour)));
  const colours = [...names].map(([hex, name]) => `\\definecolor{${name}}{HTML}{${hex.slice(1).toUpperCase()}}`);
  return ["\\documentclass[tikz]{standalone}", "\\usepackage{fix-cm}", "\\usepackage[utf8]{inputenc}", "\\usepackage{amssymb}", "\\renewcommand{\\familydefault}{\\sfdefault}", "\\begin{document}",
    ...colours, `\\begin{tikzpicture}[x=${BP}bp,y=-${BP}bp,every node/.style={inner sep=0pt}]`,
    `\\clip (0,0) rectangle (${short(width)},${short(height)});`, fill, ...lines, "\\end{tikzpicture}", "\\end{document}", ""].join("\n");
}

/**
 * @param {import("./shapes.js").Path} path
 * @param {(hex: string) => string} colour
 */
function pathOf({ d, fill, stroke, width, dash, alpha }, colour) {
  const options = [];
  if (fill) options.push(`fill=${colour(fill)}`);
  if (stroke) options.push(`draw=${colour(stroke)}`, `line width=${short(width * BP)}bp`);
  if (stroke && dash.length > 0) options.push(`dash pattern=${dash.map((length, k) => `${k % 2 === 0 ? "on" : "off"} ${short(length * BP)}bp`).join(" ")}`);
  if (alpha < 1) options.push(`opacity=${short(alpha)}`);
  const at = (/** @type {number} */ x, /** @type {number} */ y) => `(${short(x)},${short(y)})`;
  const way = d.map((segment) => {
    if (segment[0] === "Z") return "--cycle";
    if (segment[0] === "C") return `..controls${at(segment[1], segment[2])}and${at(segment[3], segment[4])}..${at(segment[5], segment[6])}`;
    return `${segment[0] === "M" ? " " : "--"}${at(segment[1], segment[2])}`;
  });
  return `\\path[${options.join(",")}]${way.join("")};`;
}

/**
 * @param {import("./shapes.js").Text} text
 * @param {(hex: string) => string} colour
 */
function textOf({ text, x, y, angle, anchor, size, bold, fill, halo, alpha }, colour) {
  const side = { start: "base west", middle: "base", end: "base east" }[anchor];
  const options = [`anchor=${side}`, `text=${colour(fill)}`];
  if (Math.abs(angle) > 0.001) options.push(`rotate=${short((-angle * 180) / Math.PI)}`);
  if (halo) options.push(`fill=${colour(halo)}`, "fill opacity=0.8", "text opacity=1");
  if (alpha < 1) options.push(`opacity=${short(alpha)}`, `text opacity=${short(alpha)}`);
  const points = size * BP;
  return `\\node[${options.join(",")}] at (${short(x)},${short(y)}) {\\fontsize{${short(points)}bp}{${short(points * 1.2)}bp}\\selectfont${bold ? "\\bfseries" : ""} ${escaped(text)}};`;
}

/** @param {string} text */
function escaped(text) {
  return [...text].map((sign) => SIGNS[sign] ?? sign).join("");
}
