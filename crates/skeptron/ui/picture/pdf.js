// Pictures as a PDF, one on each page: vectors, in the fonts that every reader of PDF has.
import { short, widthOf } from "./shapes.js";

/** Pixels are a ninety-sixth of an inch, points a seventy-second. */
const POINT = 0.75;
const FONTS = /** @type {const} */ ({ F1: "Helvetica", F2: "Helvetica-Bold", F3: "Symbol", F4: "ZapfDingbats" });

/** Signs beyond Latin 1, by the font that has them. @type {Record<string, [keyof typeof FONTS | "", number]>} */
const SIGNS = {
  "–": ["", 0x96], "—": ["", 0x97], "‘": ["", 0x91], "’": ["", 0x92], "“": ["", 0x93], "”": ["", 0x94], "•": ["", 0x95], "…": ["", 0x85],
  "→": ["F3", 0xae], "⟶": ["F3", 0xae], "←": ["F3", 0xac], "≤": ["F3", 0xa3], "≥": ["F3", 0xb3], "∞": ["F3", 0xa5], "∅": ["F3", 0xc6], "⊥": ["F3", 0x5e], "∈": ["F3", 0xce], "∉": ["F3", 0xcf], "−": ["F3", 0x2d], "⊘": ["F3", 0xc6],
  "★": ["F4", 0x48], "◆": ["F4", 0x75], "✓": ["F4", 0x33], "✕": ["F4", 0x35], "✗": ["F4", 0x37], "▸": ["F4", 0xe4], "▼": ["F4", 0x74], "↻": ["F3", 0xaf], "‖": ["", 0x7c],
};

/**
 * @param {import("./shapes.js").Picture[]} pictures
 * @returns {Uint8Array<ArrayBuffer>}
 */
export function toPdf(pictures) {
  /** @type {number[]} */
  const alphas = [];
  const contents = pictures.map((picture) => pageOf(picture, alphas));
  const fontNames = /** @type {(keyof typeof FONTS)[]} */ (Object.keys(FONTS));
  // 1 the catalogue, 2 the pages, then the fonts, the states, and two objects for each page.
  const firstState = 3 + fontNames.length;
  const firstPage = firstState + alphas.length;
  const resources = `<< /Font << ${fontNames.map((name, k) => `/${name} ${3 + k} 0 R`).join(" ")} >> /ExtGState << ${alphas.map((_, k) => `/G${k} ${firstState + k} 0 R`).join(" ")} >> >>`;
  const objects = [
    "<< /Type /Catalog /Pages 2 0 R >>",
    `<< /Type /Pages /Count ${pictures.length} /Kids [${pictures.map((_, k) => `${firstPage + 2 * k} 0 R`).join(" ")}] >>`,
    ...fontNames.map((name) => `<< /Type /Font /Subtype /Type1 /BaseFont /${FONTS[name]}${name < "F3" ? " /Encoding /WinAnsiEncoding" : ""} >>`),
    ...alphas.map((alpha) => `<< /Type /ExtGState /ca ${short(alpha)} /CA ${short(alpha)} >>`),
    ...pictures.flatMap(({ width, height }, k) => [
      `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 ${short(Math.ceil(width) * POINT)} ${short(Math.ceil(height) * POINT)}] /Resources ${resources} /Contents ${firstPage + 2 * k + 1} 0 R >>`,
      `<< /Length ${contents[k].length} >>\nstream\n${contents[k]}\nendstream`,
    ]),
  ];
  return written(objects);
}

/**
 * Numbered objects as a file. Every character is one byte.
 * @param {string[]} objects
 */
function written(objects) {
  let file = "%PDF-1.4\n";
  const places = objects.map((object, k) => {
    const place = file.length;
    file += `${k + 1} 0 obj\n${object}\nendobj\n`;
    return place;
  });
  const table = file.length;
  file += `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${places.map((place) => `${String(place).padStart(10, "0")} 00000 n \n`).join("")}`;
  file += `trailer\n<< /Size ${objects.length + 1} /Root 1 0 R >>\nstartxref\n${table}\n%%EOF\n`;
  return Uint8Array.from(file, (character) => character.charCodeAt(0));
}

/**
 * @param {import("./shapes.js").Picture} picture
 * @param {number[]} alphas all that occur, in order
 */
function pageOf({ width, height, ground, shapes }, alphas) {
  // The origin of a page is its lower left corner: from here on it is the upper left one.
  const lines = [`${POINT} 0 0 -${POINT} 0 ${short(Math.ceil(height) * POINT)} cm`, `${rgb(ground)} rg 0 0 ${Math.ceil(width)} ${Math.ceil(height)} re f`];
  for (const shape of shapes) {
    if (!alphas.includes(shape.alpha)) alphas.push(shape.alpha);
    const drawn = shape.kind === "path" ? pathOf(shape) : textOf(shape);
    lines.push(`q /G${alphas.indexOf(shape.alpha)} gs ${drawn} Q`);
  }
  return lines.join("\n");
}

/** @param {import("./shapes.js").Path} path */
function pathOf({ d, fill, stroke, width, dash }) {
  const way = d.map(([command, ...places]) => `${places.map((place) => short(/** @type {number} */ (place))).join(" ")} ${{ M: "m", L: "l", C: "c", Z: "h" }[command]}`).join(" ");
  const paint = fill && stroke ? "B" : fill ? "f" : "S";
  return `${fill ? `${rgb(fill)} rg ` : ""}${stroke ? `${rgb(stroke)} RG ${short(width)} w [${dash.map(short).join(" ")}] 0 d ` : ""}${way} ${paint}`;
}

/** @param {import("./shapes.js").Text} text */
function textOf({ text, x, y, angle, anchor, size, bold, fill, halo }) {
  const runs = runsOf(text, bold ? "F2" : "F1");
  const wide = runs.reduce((sum, { plain }) => sum + widthOf(plain, `${bold ? "bold " : ""}${size}px Helvetica, Arial, "Liberation Sans", sans-serif`), 0);
  const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
  const back = { start: 0, middle: wide / 2, end: wide }[anchor];
  const place = `${short4(cos)} ${short4(sin)} ${short4(sin)} ${short4(-cos)} ${short(x - back * cos)} ${short(y - back * sin)} Tm`;
  const shown = runs.map(({ font, codes }) => `/${font} ${short(size)} Tf <${codes.map((code) => code.toString(16).padStart(2, "0")).join("")}> Tj`).join(" ");
  const ground = halo ? `BT ${rgb(halo)} RG 3 w 1 j 1 Tr ${place} ${shown} ET ` : "";
  return `${ground}BT 0 Tr ${rgb(fill)} rg ${place} ${shown} ET`;
}

/** @param {number} value */
function short4(value) {
  return String(Math.round(value * 10_000) / 10_000);
}

/**
 * A text by the fonts that have its signs.
 * @param {string} text
 * @param {keyof typeof FONTS} usual
 */
function runsOf(text, usual) {
  /** @type {{ font: keyof typeof FONTS, codes: number[], plain: string }[]} */
  const runs = [];
  for (const sign of text) {
    const code = /** @type {number} */ (sign.codePointAt(0));
    const [font, found] = SIGNS[sign] ?? ["", code < 0x100 ? code : 0x3f];
    const wanted = font || usual;
    if (runs.at(-1)?.font !== wanted) runs.push({ font: wanted, codes: [], plain: "" });
    const run = runs[runs.length - 1];
    run.codes.push(found);
    run.plain += sign;
  }
  return runs;
}

/** @param {string} hex */
function rgb(hex) {
  return [1, 3, 5].map((at) => short4(Number.parseInt(hex.slice(at, at + 2), 16) / 255)).join(" ");
}
