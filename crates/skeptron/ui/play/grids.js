// What the nodes know as a grid beside the topology: Singhal's staircase and sets, Lamport's queues, the numbers of tokens.
import { s, clear } from "../lib/dom.js";
import { say } from "../lib/language.js";
import { lettersWide } from "./shapes.js";
import { dataOf, nodeName, numbersOf, rowsOf, stampsOf } from "./values.js";

/** @typedef {import("../wire.js").NodeState} NodeState */
/** @typedef {{ text: string, look?: string }} Cell */
/** @typedef {{ caption: string, stairs?: boolean, head: string[], rows: { name: string, cells: Cell[] }[] }} Grid */

/** More nodes have no room. */
const MOST_NODES = 16;
const ROW = 19;
const NARROW = 27;
/** How high letters are, and what a cell or the name of a row has besides: the widest text must fit. */
const LETTERS = 11;
const IN_CELL = { few: 6, many: 1 };
const BESIDE = 4;
/** With more nodes than this, the entries of a queue are as short as can be. */
const MOST_WORDY = 8;

/**
 * Which grid tells an algorithm, by the variables that its nodes have.
 * @type {{ fields: string[], of: (states: NodeState[]) => Grid, beside: number }[]} `beside`: of so many nodes it is legible from afar beside their topology
 */
const GRIDS = [
  { fields: ["ask", "sn"], of: staircase, beside: 6 },
  { fields: ["queue", "heard"], of: (states) => queues(states, "queue"), beside: 4 },
  { fields: ["lrq", "heard"], of: (states) => queues(states, "lrq"), beside: 4 },
  { fields: ["rn", "token.ln"], of: numbers, beside: 6 },
  { fields: ["request", "token.served"], of: turns, beside: 6 },
  { fields: ["request_set", "inform_set"], of: sets, beside: 6 },
];

/**
 * What a grid shows of the algorithm's variables; null if there is none.
 * @param {import("../wire.js").AlgorithmInfo | undefined} info
 * @param {number} nodes
 * @returns {{ fields: ReadonlySet<string>, of: (states: NodeState[]) => Grid, isWide: boolean } | null} `isWide`: it has no room beside the topology on a stage
 */
export function gridFor(info, nodes) {
  const known = new Set(info?.variables.map(({ field }) => field));
  const found = nodes <= MOST_NODES ? GRIDS.find(({ fields }) => fields.every((field) => known.has(field))) : undefined;
  return found ? { fields: new Set(found.fields), of: found.of, isWide: nodes > found.beside } : null;
}

/** R, E, H and N, what each node believes of each: at the start of Singhal's algorithm a staircase. @param {NodeState[]} states @returns {Grid} */
function staircase(states) {
  const rows = states.map((state, row) => {
    const asks = new Set(rowsOf(dataOf(state, "ask")));
    const cells = states.map((_, column) => (column === row ? ownState(state) : asks.has(column) ? "R" : "N")).map((text) => ({ text, look: text.toLowerCase() }));
    return { name: nodeName(row), cells: state.up ? cells : cells.map(() => ({ text: "" })) };
  });
  return { caption: say("SV of each node: R requests, E executes, H holds the token, N neither"), stairs: true, head: states.map((_, row) => nodeName(row)), rows };
}

/** @param {NodeState} state */
function ownState(state) {
  const phase = dataOf(state, "phase");
  if (phase === "inside") return "E";
  if (phase === "waiting") return "R";
  return dataOf(state, "token") === true ? "H" : "N";
}

/** The request queues of Lamport, or of Lodha and Kshemkalyani, side by side, the oldest request on top. @param {NodeState[]} states @param {string} field @returns {Grid} */
function queues(states, field) {
  const all = states.map((state) => stampsOf(dataOf(state, field)));
  const entry = (/** @type {{ clock: number, row: number }} */ { clock, row }) => (states.length <= MOST_WORDY ? `${clock} ${nodeName(row)}` : `${clock},${row + 1}`);
  const longest = Math.max(1, ...all.map((queue) => queue.length));
  const rows = Array.from({ length: longest }, (_, place) => ({
    name: `${place + 1}.`,
    cells: all.map((queue, row) => (queue[place] ? { text: entry(queue[place]), look: queue[place].row === row ? "own" : "full" } : { text: "" })),
  }));
  const caption = states.length <= MOST_WORDY ? say("The request queue of each node") : say("The request queue of each node: stamp, node");
  return { caption, head: states.map((_, row) => nodeName(row)), rows };
}

/** RN of each node, and LN of the token; a request that the token has not served is one more than LN. @param {NodeState[]} states @returns {Grid} */
function numbers(states) {
  const holder = states.find((state) => dataOf(state, "token") === true);
  const waiting = rowsOf(dataOf(holder, "token.queue")).map(nodeName).join(", ");
  const caption = holder ? say("Marked: RN above LN, not yet served; Q = [{waiting}]", { waiting }) : say("The token and its LN are under way");
  return { caption, ...counted(states, holder, { seen: "rn", served: "token.ln" }, { seen: (node) => `RN ${node}`, served: "LN" }) };
}

/** Ricart and Agrawala with a token: the requests that each node has seen, and those that the token has served. @param {NodeState[]} states @returns {Grid} */
function turns(states) {
  const holder = states.find((state) => dataOf(state, "token") === true);
  const caption = holder ? say("Request of each node, and the token’s numbers. Marked: not yet served") : say("Request of each node; the token is under way");
  return { caption, ...counted(states, holder, { seen: "request", served: "token.served" }, { seen: (node) => nodeName(node - 1), served: say("token") }) };
}

/**
 * What each node has seen of each, and what the token has served.
 * @param {NodeState[]} states
 * @param {NodeState | undefined} holder of the token
 * @param {{ seen: string, served: string }} fields
 * @param {{ seen: (node: number) => string, served: string }} names
 */
function counted(states, holder, fields, names) {
  const served = numbersOf(dataOf(holder, fields.served));
  const rows = states.map((state, row) => ({
    name: names.seen(row + 1),
    cells: fill(numbersOf(dataOf(state, fields.seen)), states.length).map((text, column) => ({ text, look: served.length > 0 && Number(text) > served[column] ? "due" : "n" })),
  }));
  rows.push({ name: names.served, cells: fill(served, states.length).map((text) => ({ text: text || "·", look: "h" })) });
  return { head: states.map((_, row) => nodeName(row)), rows };
}

/** Singhal's dynamic information structure: whom each node asks and whom it informs. @param {NodeState[]} states @returns {Grid} */
function sets(states) {
  const rows = states.map((state, row) => {
    const [asks, informs] = ["request_set", "inform_set"].map((field) => new Set(rowsOf(dataOf(state, field))));
    const cells = states.map((_, column) => (asks.has(column) ? { text: informs.has(column) ? "R I" : "R", look: "r" } : informs.has(column) ? { text: "I", look: "h" } : { text: column === row ? "·" : "", look: "n" }));
    return { name: nodeName(row), cells };
  });
  return { caption: say("R: whom each node must ask. I: whom it tells at its exit"), head: states.map((_, row) => nodeName(row)), rows };
}

/** @param {number[]} values @param {number} length */
function fill(values, length) {
  return Array.from({ length }, (_, k) => (values[k] === undefined ? "" : String(values[k])));
}

/**
 * Draws a grid; cells that differ from the one before stand out.
 * @param {SVGSVGElement} svg
 * @param {Grid} grid
 * @param {Grid | null} before
 */
export function drawGrid(svg, grid, before) {
  clear(svg);
  const widest = (/** @type {string[]} */ texts) => Math.max(...texts.map((text) => lettersWide(text, LETTERS)));
  const inCell = grid.head.length > MOST_WORDY ? IN_CELL.many : IN_CELL.few;
  const width = Math.max(NARROW, widest(grid.rows.flatMap(({ cells }) => cells.map(({ text }) => text))) + inCell);
  const names = widest(grid.rows.map(({ name }) => name)) + BESIDE;
  const size = { width: names + width * grid.head.length, height: ROW * (grid.rows.length + 1) + 2 };
  svg.setAttribute("viewBox", `0 0 ${size.width} ${size.height}`);
  svg.style.maxWidth = `${size.width * 1.25}px`;
  svg.setAttribute("aria-label", `${grid.caption}. ${grid.rows.map(({ name, cells }) => `${name}: ${cells.map(({ text }) => text || "–").join(", ")}`).join("; ")}`);
  const middle = (/** @type {number} */ column) => names + width * (column + 0.5);
  grid.head.forEach((name, column) => svg.append(s("text", { class: "grid-head", x: middle(column), y: ROW * 0.7 }, name)));
  grid.rows.forEach(({ name, cells }, row) => {
    const y = ROW * (row + 1);
    svg.append(s("text", { class: "grid-head", x: names / 2 - 2, y: y + ROW * 0.7 }, name));
    cells.forEach(({ text, look }, column) => {
      const changed = before !== null && (before.rows[row]?.cells[column]?.text ?? "") !== text;
      svg.append(
        s("rect", { class: `grid-cell ${look ?? "empty"}${changed ? " changed" : ""}`, x: middle(column) - width / 2 + 1, y: y + 1, width: width - 2, height: ROW - 2, rx: 2 }),
        s("text", { class: `grid-text${changed ? " changed" : ""}`, x: middle(column), y: y + ROW * 0.7 }, text));
    });
  });
  if (grid.stairs) svg.append(s("path", { class: "grid-stairs", d: stairs(grid, width, names) }));
}

/**
 * The line between those whom a node asks and those whom it does not: at the start of Singhal's algorithm a staircase.
 * @param {Grid} grid
 * @param {number} width of a cell
 * @param {number} names how wide the names of the rows are
 */
function stairs({ rows }, width, names) {
  const asks = (/** @type {number} */ row, /** @type {number} */ column) => rows[row]?.cells[column]?.look === "r";
  const parts = [];
  for (let row = 0; row < rows.length; row++) {
    for (let column = 0; column < rows.length; column++) {
      const [x, y] = [names + width * column, ROW * (row + 1)];
      if (column > 0 && asks(row, column) !== asks(row, column - 1)) parts.push(`M${x} ${y}L${x} ${y + ROW}`);
      if (row > 0 && asks(row, column) !== asks(row - 1, column)) parts.push(`M${x} ${y}L${x + width} ${y}`);
    }
  }
  return parts.join("");
}
