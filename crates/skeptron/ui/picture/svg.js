// A picture as SVG: no style sheet and no script, so that every program shows it alike.
import { short } from "./shapes.js";

const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'DejaVu Sans', sans-serif";

/**
 * @param {import("./shapes.js").Picture} picture
 * @returns {string}
 */
export function toSvg({ width, height, ground, shapes }) {
  const [w, h] = [Math.ceil(width), Math.ceil(height)];
  const lines = shapes.map((shape) => (shape.kind === "path" ? pathOf(shape) : textOf(shape)));
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${w}" height="${h}" viewBox="0 0 ${w} ${h}" font-family="${FONT}">\n`
    + `<rect width="${w}" height="${h}" fill="${ground}"/>\n${lines.join("\n")}\n</svg>\n`;
}

/** @param {import("./shapes.js").Path} path */
function pathOf({ d, fill, stroke, width, dash, alpha }) {
  const line = stroke ? ` stroke="${stroke}" stroke-width="${short(width)}"${dash.length > 0 ? ` stroke-dasharray="${dash.map(short).join(" ")}"` : ""}` : "";
  const way = d.map(([command, ...places]) => command + places.map((place) => short(/** @type {number} */ (place))).join(" ")).join("");
  return `<path d="${way}" fill="${fill ?? "none"}"${line}${faint(alpha)}/>`;
}

/** @param {import("./shapes.js").Text} text */
function textOf({ text, x, y, angle, anchor, size, bold, fill, halo, alpha }) {
  const degrees = (angle * 180) / Math.PI;
  const place = Math.abs(degrees) < 0.01 ? `x="${short(x)}" y="${short(y)}"` : `transform="translate(${short(x)} ${short(y)}) rotate(${short(degrees)})"`;
  const ground = halo ? ` stroke="${halo}" stroke-width="3" stroke-linejoin="round" paint-order="stroke"` : "";
  return `<text ${place} font-size="${short(size)}"${bold ? ' font-weight="600"' : ""}${anchor === "start" ? "" : ` text-anchor="${anchor}"`} fill="${fill}"${ground}${faint(alpha)}>${escaped(text)}</text>`;
}

/** @param {number} alpha */
function faint(alpha) {
  return alpha < 1 ? ` opacity="${short(alpha)}"` : "";
}

/** @param {string} text */
function escaped(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/**
 * A picture as the bytes of a PNG.
 * @param {import("./shapes.js").Picture} picture
 * @param {number} dots of the PNG for each pixel
 * @returns {Promise<Uint8Array<ArrayBuffer>>}
 */
export async function toPng(picture, dots) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(toSvg(picture))}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = Math.ceil(picture.width) * dots;
  canvas.height = Math.ceil(picture.height) * dots;
  canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
  const blob = await new Promise((done) => canvas.toBlob(done, "image/png"));
  if (!(blob instanceof Blob)) throw new Error("the picture is too large for a PNG; choose a smaller part, or SVG");
  return new Uint8Array(await blob.arrayBuffer());
}
