// A picture of whom one node asks and tells: the nodes on a circle, arrows from the chosen one.
import { h, s } from "../lib/dom.js";
import { say } from "../lib/language.js";

/** @typedef {import("../wire.js").StructureReport} StructureReport */

/** More nodes are not told apart on a circle. */
export const MOST_DRAWN = 40;

const SIZE = 400;

/**
 * @param {Pick<StructureReport, "nodes" | "request" | "inform">} structure
 * @param {number} of
 * @param {(node: number) => void} chosen
 * @returns {HTMLElement}
 */
export function sets({ nodes, request, inform }, of, chosen) {
  const asked = new Set(request[of - 1] ?? []);
  const told = new Set(inform[of - 1] ?? []);
  const radius = Math.max(9, Math.min(22, 420 / nodes));
  const everyone = Array.from({ length: nodes }, (_, i) => i + 1);
  const links = everyone.filter((node) => node !== of).flatMap((node) => {
    const isAsking = request[node - 1]?.includes(of);
    const out = told.has(node) || asked.has(node) ? [link(of, node, nodes, radius, told.has(node) ? "link told" : "link")] : [];
    return isAsking && out.length === 0 ? [link(node, of, nodes, radius, "link asking")] : out;
  });
  const circles = everyone.map((node) => {
    const { x, y } = place(node, nodes);
    const kinds = ["node", asked.has(node) && "asked", told.has(node) && "told", node === of && "self"].filter(Boolean).join(" ");
    const does = node === of ? say("chosen") : told.has(node) ? say("asked and told") : asked.has(node) ? say("asked") : say("neither asked nor told");
    return s("g", {
      class: kinds, role: "button", tabindex: 0, "aria-label": `P${node}, ${does}`, "aria-pressed": String(node === of),
      onclick: () => chosen(node),
      onkeydown: (/** @type {KeyboardEvent} */ event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        chosen(node);
      },
    }, s("circle", { class: "face", cx: x, cy: y, r: radius }), s("text", { x, y }, node));
  });
  const arrow = s("marker", { id: "sets-arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 8, markerHeight: 8, markerUnits: "userSpaceOnUse", orient: "auto" },
    s("path", { d: "M0 0L8 4L0 8z", fill: "context-stroke" }));
  return h("div", {},
    s("svg", { class: "sets", viewBox: `0 0 ${SIZE} ${SIZE}`, role: "group", "aria-label": say("Request and inform set of P{of}", { of }), "data-test": "sets" }, s("defs", {}, arrow), links, circles),
    h("ul", { class: "key small" }, key("link", say("asks (R)")), key("link told", say("asks and tells (R and I)")), key("link asking", say("is asked by")),
      h("li", { class: "muted" }, say("Click a node to see its sets."))));
}

/**
 * @param {number} node
 * @param {number} nodes
 */
function place(node, nodes) {
  const angle = (2 * Math.PI * (node - 1)) / nodes - Math.PI / 2;
  const far = nodes === 1 ? 0 : SIZE / 2 - 34;
  return { x: SIZE / 2 + far * Math.cos(angle), y: SIZE / 2 + far * Math.sin(angle) };
}

/**
 * From rim to rim.
 * @param {number} from
 * @param {number} to
 * @param {number} nodes
 * @param {number} radius
 * @param {string} kind
 */
function link(from, to, nodes, radius, kind) {
  const [a, b] = [place(from, nodes), place(to, nodes)];
  const length = Math.hypot(b.x - a.x, b.y - a.y) || 1;
  const [dx, dy] = [(b.x - a.x) / length, (b.y - a.y) / length];
  const gap = radius + 4;
  return s("line", { class: kind, x1: a.x + dx * gap, y1: a.y + dy * gap, x2: b.x - dx * gap, y2: b.y - dy * gap, "marker-end": "url(#sets-arrow)" });
}

/**
 * @param {string} kind
 * @param {string} meaning
 */
function key(kind, meaning) {
  return h("li", {}, s("svg", { class: "key-line", viewBox: "0 0 34 10", width: 34, height: 10, "aria-hidden": "true" },
    s("g", { class: "sets" }, s("line", { class: kind, x1: 1, y1: 5, x2: 33, y2: 5 }))), meaning);
}
