// The nodes of an election as they are linked: one clicks a node to crash it or to let it call.
import { h, s, clear } from "../lib/dom.js";
import { say } from "../lib/language.js";

/** @typedef {{ x: number, y: number }} Place in hundredths of the picture */
/** @typedef {"crash" | "call"} Deed */
/** @typedef {{ nodes: number, layout: string, ring: number[] | null, links: [number, number][] | null, graph: string }} Shape */
/** @typedef {{ crashed: number[], initiators: number[], leader: number | null }} Marks */

/**
 * A picture of the nodes as buttons. A click does what `deed` says; on a focused node the keys C and I
 * crash it or let it call, and arrows go to the next node.
 * @param {{ deed: () => Deed, act: (node: number, deed: Deed) => void }} options
 * @returns {{ element: HTMLElement, show: (shape: Shape, marks: Marks) => void }}
 */
export function topology({ deed, act }) {
  const element = h("div", { class: "topology", role: "group", "aria-label": say("Nodes: press one to crash it or to let it call"), "data-test": "topology" });

  // Buttons stay while their number does: one that is pressed must not vanish under the pointer.
  /** @type {HTMLButtonElement[]} */
  let buttons = [];

  const show = (/** @type {Shape} */ shape, /** @type {Marks} */ marks) => {
    const places = placesOf(shape);
    if (buttons.length !== shape.nodes) {
      buttons = places.map((_, i) => nodeButton(i + 1));
      clear(element);
      element.append(...buttons);
    }
    element.querySelector("svg")?.remove();
    element.prepend(linesOf(shape, places));
    buttons.forEach((button, i) => mark(button, i + 1, places[i], marks));
  };
  const nodeButton = (/** @type {number} */ node) => h("button", {
    type: "button", "data-test": `node-${node}`,
    onclick: () => act(node, deed()), onkeydown: (/** @type {KeyboardEvent} */ event) => pressed(event, node),
  });
  const pressed = (/** @type {KeyboardEvent} */ event, /** @type {number} */ node) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (step) buttons.at((node - 1 + step) % buttons.length)?.focus();
    else if (event.key === "c" || event.key === "C") act(node, "crash");
    else if (event.key === "i" || event.key === "I") act(node, "call");
    else return;
    event.preventDefault();
  };

  return { element, show };
}

/**
 * Shows what becomes of a node, in signs and in words.
 * @param {HTMLButtonElement} button
 * @param {number} node
 * @param {Place} place
 * @param {Marks} marks
 */
function mark(button, node, place, { crashed, initiators, leader }) {
  const states = [
    { is: crashed.includes(node), name: "crashed", sign: "✕", said: say("crashes") },
    { is: initiators.includes(node), name: "calls", sign: "⚑", said: say("calls") },
    { is: leader === node, name: "leads", sign: "★", said: say("leads at the end") },
  ].filter((state) => state.is);
  button.className = ["topology-node", ...states.map((state) => state.name)].join(" ");
  button.setAttribute("aria-label", `P${node}: ${states.map((state) => state.said).join(", ") || say("alive")}`);
  button.replaceChildren(h("span", { class: "topology-name" }, `P${node}`),
    h("span", { class: "topology-signs", "aria-hidden": "true" }, states.map((state) => state.sign).join("")));
  button.style.left = `${place.x}%`;
  button.style.top = `${place.y}%`;
}

/**
 * Where the nodes are: on a circle, in the order of the ring; other networks as one draws them.
 * @param {Shape} shape
 * @returns {Place[]}
 */
function placesOf({ nodes, layout, ring, graph }) {
  const count = Array.from({ length: nodes }, (_, i) => i);
  if (layout === "graph" && graph === "grid") {
    const wide = Math.ceil(Math.sqrt(nodes));
    const high = Math.ceil(nodes / wide);
    return count.map((i) => ({ x: 10 + (80 * (i % wide)) / Math.max(1, wide - 1), y: 12 + (76 * Math.floor(i / wide)) / Math.max(1, high - 1) }));
  }
  if (layout === "graph" && graph === "star") return [{ x: 50, y: 50 }, ...circle(nodes - 1)];
  const around = circle(nodes);
  return count.map((i) => around[ring ? Math.max(0, ring.indexOf(i + 1)) : i]);
}

/** @param {number} count @returns {Place[]} */
function circle(count) {
  return Array.from({ length: count }, (_, i) => {
    const angle = (2 * Math.PI * i) / Math.max(1, count) - Math.PI / 2;
    return { x: 50 + 41 * Math.cos(angle), y: 50 + 40 * Math.sin(angle) };
  });
}

/**
 * @param {Shape} shape
 * @param {Place[]} places
 */
function linesOf({ nodes, ring, links }, places) {
  const svg = s("svg", { viewBox: "0 0 100 100", preserveAspectRatio: "none", "aria-hidden": "true" });
  const line = (/** @type {number} */ from, /** @type {number} */ to, /** @type {string} */ look) => {
    const [a, b] = [places[from - 1], places[to - 1]];
    if (a && b) svg.append(s("line", { class: look, x1: a.x, y1: a.y, x2: b.x, y2: b.y, "vector-effect": "non-scaling-stroke" }));
    return a && b ? { x: a.x * 0.42 + b.x * 0.58, y: a.y * 0.42 + b.y * 0.58, angle: Math.atan2(b.y - a.y, b.x - a.x) } : null;
  };
  if (ring) {
    ring.forEach((node, i) => {
      const head = line(node, ring[(i + 1) % ring.length], "ring-line");
      const turned = head && `translate(${head.x} ${head.y}) rotate(${(head.angle * 180) / Math.PI})`;
      if (turned) svg.append(s("path", { class: "ring-head", d: "M-1.8 -1.5L1.4 0L-1.8 1.5z", transform: turned }));
    });
    return svg;
  }
  for (const [from, to] of links ?? everyPair(nodes)) line(from, to, links ? "link-line" : "any-line");
  return svg;
}

/** @param {number} nodes */
function everyPair(nodes) {
  /** @type {[number, number][]} */
  const pairs = [];
  for (let a = 1; a <= nodes; a++) for (let b = a + 1; b <= nodes; b++) pairs.push([a, b]);
  return pairs;
}
