// Where the nodes stand in the picture of the topology: on a circle, a ring, a tree, a star, or in a plane. Planes
// are drawn as the server draws them among the quorums.
import { say } from "../lib/language.js";

/** @typedef {{ x: number, y: number }} Place */
/**
 * @typedef {object} Layout
 * @property {Place[]} places of the nodes, from -1 to 1
 * @property {{ from: number, to: number, directed: boolean }[]} edges that are always there
 * @property {number[][] | null} lines of a plane: the points of each, in order along the line
 * @property {number} round which line of the plane is drawn as a circle, or -1
 * @property {string} name what is shown, in words
 * @property {boolean} [whole] whether it says that all reach all
 */

/** With more nodes than this, links between all of them would hide everything. */
const MOST_COMPLETE = 9;

/**
 * Where the nodes of a run stand.
 * @param {import("../wire.js").RunHeader} header
 * @returns {Layout}
 */
export function layoutOf({ nodes, topology }) {
  if (topology.tree) return tree(topology.tree);
  if (topology.ring) return ring(topology.ring, nodes);
  // No links are named where everybody is linked to everybody.
  if (topology.links?.length) return network(topology.links, nodes);
  if (topology.coordinator !== null && !topology.quorums && !topology.request) return star(topology.coordinator - 1, nodes);
  const plane = topology.quorums && linesOfPlane(topology.quorums, nodes);
  if (plane) return plane[0].length === 3 ? fano(plane) : { ...plain(circle(nodes)), lines: plane, name: say("The plane of {nodes} points: any two quorums share one", { nodes }) };
  const edges = topology.request || topology.quorums || nodes > MOST_COMPLETE ? [] : complete(nodes);
  return { ...plain(circle(nodes)), edges, name: topology.request ? say("Whom a node asks and informs: select one") : topology.quorums ? say("Quorums: select a node to see its own") : say("Every node reaches every other"), whole: !topology.request && !topology.quorums };
}

/** @param {number} nodes */
function complete(nodes) {
  const edges = [];
  for (let from = 0; from < nodes; from++) for (let to = from + 1; to < nodes; to++) edges.push({ from, to, directed: false });
  return edges;
}

/** @param {Place[]} places @returns {Layout} */
function plain(places) {
  return { places, edges: [], lines: null, round: -1, name: "" };
}

/** @param {number} nodes @returns {Place[]} */
function circle(nodes) {
  return Array.from({ length: nodes }, (_, row) => {
    // Two stand side by side: the picture is wider than high.
    const angle = (2 * Math.PI * row) / nodes - (nodes === 2 ? Math.PI : Math.PI / 2);
    return nodes === 1 ? { x: 0, y: 0 } : { x: Math.cos(angle), y: Math.sin(angle) };
  });
}

/**
 * @param {number[]} order
 * @param {number} nodes
 * @returns {Layout}
 */
function ring(order, nodes) {
  const around = circle(nodes);
  const places = around.slice();
  order.forEach((node, k) => { places[node - 1] = around[k]; });
  const edges = order.map((node, k) => ({ from: node - 1, to: order[(k + 1) % order.length] - 1, directed: true }));
  return { ...plain(places), edges, name: say("The ring") };
}

/**
 * @param {[number, number][]} links
 * @param {number} nodes
 * @returns {Layout}
 */
function network(links, nodes) {
  const edges = links.map(([from, to]) => ({ from: from - 1, to: to - 1, directed: false }));
  return { ...plain(circle(nodes)), edges, name: say("The network") };
}

/**
 * @param {number} centre
 * @param {number} nodes
 * @returns {Layout}
 */
function star(centre, nodes) {
  const around = circle(Math.max(1, nodes - 1));
  const places = Array.from({ length: nodes }, (_, row) => (row === centre ? { x: 0, y: 0 } : around[row < centre ? row : row - 1]));
  if (nodes === 2) places[1 - centre] = { x: 0, y: -1 };
  const edges = places.flatMap((_, row) => (row === centre ? [] : [{ from: row, to: centre, directed: false }]));
  return { ...plain(places), edges, name: say("P{node} coordinates", { node: centre + 1 }) };
}

/**
 * Leaves side by side, each parent above the middle of its children.
 * @param {(number | null)[]} parents
 * @returns {Layout}
 */
function tree(parents) {
  /** @type {number[][]} */
  const children = parents.map(() => []);
  parents.forEach((parent, row) => { if (parent !== null) children[parent - 1]?.push(row); });
  /** @type {Place[]} */
  const places = parents.map(() => ({ x: 0, y: 0 }));
  let leaves = 0;
  let deepest = 0;
  // Children before parents, without recursion: a line of a thousand nodes is a tree, too.
  /** @type {{ row: number, depth: number }[]} */
  const order = [];
  const open = parents.flatMap((parent, row) => (parent === null ? [{ row, depth: 0 }] : []));
  while (open.length > 0) {
    const next = /** @type {{ row: number, depth: number }} */ (open.pop());
    order.push(next);
    deepest = Math.max(deepest, next.depth);
    for (const row of children[next.row].toReversed()) open.push({ row, depth: next.depth + 1 });
  }
  for (const { row, depth } of order) places[row] = { x: children[row].length === 0 ? leaves++ : 0, y: depth };
  for (const { row } of order.toReversed()) {
    const below = children[row];
    if (below.length > 0) places[row].x = (places[below[0]].x + places[below[below.length - 1]].x) / 2;
  }
  const across = Math.max(1, leaves - 1);
  for (const place of places) {
    place.x = leaves === 1 ? 0 : (place.x / across) * 2 - 1;
    place.y = deepest === 0 ? 0 : (place.y / deepest) * 1.9 - 0.95;
  }
  const edges = parents.flatMap((parent, row) => (parent === null ? [] : [{ from: row, to: parent - 1, directed: false }]));
  return { ...plain(places), edges, name: say("The tree; arrows point towards the token") };
}

/**
 * The quorums as lines of a projective plane, if that is what they are: as many lines as points, any two
 * of which meet in exactly one.
 * @param {number[][]} quorums
 * @param {number} nodes
 * @returns {number[][] | null}
 */
function linesOfPlane(quorums, nodes) {
  const size = quorums[0]?.length ?? 0;
  if (size < 3 || nodes !== size * size - size + 1 || quorums.length !== nodes) return null;
  const sets = quorums.map((quorum) => new Set(quorum.map((node) => node - 1)));
  for (let a = 0; a < nodes; a++) {
    if (sets[a].size !== size) return null;
    for (let b = a + 1; b < nodes; b++) {
      let common = 0;
      for (const point of sets[a]) if (sets[b].has(point)) common++;
      if (common !== 1) return null;
    }
  }
  return sets.map((set) => [...set].sort((a, b) => a - b));
}

/**
 * The plane of seven points as it is always drawn: a triangle, the middles of its sides, its centre.
 * @param {number[][]} lines
 * @returns {Layout}
 */
function fano(lines) {
  const through = (/** @type {number} */ a, /** @type {number} */ b) => lines.findIndex((line) => line.includes(a) && line.includes(b));
  const third = (/** @type {number} */ a, /** @type {number} */ b) => /** @type {number} */ (lines[through(a, b)].find((point) => point !== a && point !== b));
  const a = 0;
  const b = 1;
  const c = /** @type {number} */ ([2, 3].find((point) => point !== third(a, b)));
  const ab = third(a, b);
  const bc = third(b, c);
  const ca = third(c, a);
  const centre = third(a, bc);
  /** @type {Place[]} */
  const places = [];
  const corner = (/** @type {number} */ turn) => ({ x: -Math.sin((turn * 2 * Math.PI) / 3) * 1.12, y: 0.3 - Math.cos((turn * 2 * Math.PI) / 3) * 1.12 });
  const middle = (/** @type {number} */ p, /** @type {number} */ q) => ({ x: (places[p].x + places[q].x) / 2, y: (places[p].y + places[q].y) / 2 });
  places[a] = corner(0);
  places[b] = corner(1);
  places[c] = corner(2);
  places[ab] = middle(a, b);
  places[bc] = middle(b, c);
  places[ca] = middle(c, a);
  places[centre] = { x: 0, y: 0.3 };
  return { places, edges: [], lines: sorted(lines, places), round: through(ab, bc), name: say("The plane of seven points: each line is a quorum") };
}

/**
 * @param {number[][]} lines
 * @param {Place[]} places
 */
function sorted(lines, places) {
  return lines.map((line) => line.toSorted((p, q) => places[p].x - places[q].x || places[p].y - places[q].y));
}
