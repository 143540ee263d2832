// The constructions: what each one is, in a sentence, and which parameters it has.
import { say } from "../lib/language.js";

/** @typedef {"nodes" | "rows" | "weights" | "height" | "order" | "text"} Parameter */
/** @typedef {{ name: string, title: string, group: string, takes: Parameter[], says: string }} Construction */

/** @type {Construction[]} */
export const CONSTRUCTIONS = [
  { name: "projective", title: say("projective plane"), group: say("Small quorums"), takes: ["nodes", "order"],
    says: say("Nodes are the points of a finite plane, quorums its lines: any two lines meet in one point. About √N nodes in each, the fewest possible.") },
  { name: "fano", title: say("Fano plane (7 nodes)"), group: say("Small quorums"), takes: [], says: say("The smallest projective plane: 7 points, 7 lines of 3 points.") },
  { name: "maekawa-13", title: say("Maekawa’s 13 nodes"), group: say("Small quorums"), takes: [], says: say("The plane of order 3 as Maekawa printed it.") },
  { name: "cyclic", title: say("cyclic (difference cover)"), group: say("Small quorums"), takes: ["nodes"],
    says: say("One set of differences, turned around a circle: every node’s quorum looks alike, for every N.") },
  { name: "grid", title: say("grid"), group: say("Small quorums"), takes: ["nodes"], says: say("Nodes in a square; a quorum is a row and a column, about 2√N nodes.") },
  { name: "triangle", title: say("triangle"), group: say("Small quorums"), takes: ["nodes"],
    says: say("Nodes are the edges of a complete graph, quorums the edges at one corner: about √(2N) nodes.") },
  { name: "wall", title: say("crumbling wall"), group: say("Small quorums"), takes: ["nodes", "rows"],
    says: say("Nodes in rows; a quorum is one full row and one node of each row below it.") },
  { name: "tree", title: say("tree"), group: say("Hierarchies"), takes: ["nodes", "height"],
    says: say("A path from the root to a leaf; a node that failed is replaced by paths from both its children. As few as log N nodes.") },
  { name: "hierarchical", title: say("hierarchical majority"), group: say("Hierarchies"), takes: ["nodes", "height"],
    says: say("Two of three groups, in each two of three groups, and so on: N to the power of 0.63 nodes.") },
  { name: "majority", title: say("majority"), group: say("Votes"), takes: ["nodes"], says: say("More than half of the nodes: the most crashes are survived, but half of all nodes are asked.") },
  { name: "weighted", title: say("weighted votes"), group: say("Votes"), takes: ["weights"], says: say("More than half of all votes; nodes have different numbers of them.") },
  { name: "singleton", title: say("singleton"), group: say("Extremes"), takes: ["nodes"], says: say("One node decides for all: the fewest messages, and everything ends with that node.") },
  { name: "all", title: say("all"), group: say("Extremes"), takes: ["nodes"], says: say("Everybody is asked, as Ricart and Agrawala do: one crash stops everything.") },
  { name: "best", title: say("best: all side by side"), group: say("Compare"), takes: ["nodes"], says: say("Every construction that exists for N nodes, compared; the first picture shows the smallest one that shares the work equally.") },
  { name: "file", title: say("your own (paste)"), group: say("Compare"), takes: ["text"], says: say("Any system: a line of members for each node, as in `1: 1 2 4`; or a line `nodes 7` and then quorums, a line each; or JSON, as in [[1,2],[2,3],[1,3]].") },
];

/** Pictures that can be asked for. */
export const PICTURES = ["matrix", "circle", "plane", "grid", "wall", "tree", "hierarchy", "triangle", "votes"];

/**
 * @param {string} name
 * @returns {Construction}
 */
export function construction(name) {
  return CONSTRUCTIONS.find((known) => known.name === name) ?? CONSTRUCTIONS[0];
}

/**
 * So many nodes as the construction exists for, next to `nodes`.
 * @param {string} name
 * @param {number} nodes
 * @returns {number}
 */
export function suitable(name, nodes) {
  const sizes = { tree: [3, 7, 15, 31, 63, 127], hierarchical: [3, 9, 27, 81] }[name];
  if (!sizes) return nodes;
  return sizes.reduce((best, size) => (Math.abs(size - nodes) < Math.abs(best - nodes) ? size : best));
}
