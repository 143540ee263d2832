// Who waits for whom, found in what the nodes know; and whether somebody waits in a circle.
import { say } from "../lib/language.js";
import { countedIn, dataOf, nodeName, numbersOf, rowOf, rowsOf, stampsOf } from "./values.js";

/** @typedef {import("../wire.js").NodeState} NodeState */
/**
 * `via` is the arbiter who has to choose between the two; `silent`: no answer is on its way or held back.
 * @typedef {{ from: number, to: number, via?: number, silent?: boolean }} Wait
 */

/** Where the phase of a node is told. */
const PHASES = ["phase", "candidate.phase"];
/** Whose answers a node lacks, and to whom it gives none before its exit. */
const LACKING = ["awaiting", "missing", "owed", "request_set"];
const DEFERRING = ["deferred", "inform_set"];
/** Whose requests an arbiter has granted. */
const GRANTED = ["arbiter.grant", "arbiter.lock"];
/** Where a node has all requests that it knows, the oldest first. */
const QUEUES = ["queue", "lrq"];

/**
 * Who waits for whom at a position.
 * @param {import("./model.js").RunModel} model
 * @param {number} position
 * @param {NodeState[]} states
 * @returns {Wait[]}
 */
export function waitsOf(model, position, states) {
  const waiting = states.map((state) => PHASES.some((field) => dataOf(state, field) === "waiting"));
  const found = [
    ...forAnswers(model, position, states, waiting), ...forArbiters(states), ...forTheHead(states, waiting),
    ...inQueues(model, states),
  ];
  const known = new Set();
  return found.filter(({ from, to }) => {
    const isNew = from !== to && waiting[from] && !known.has(`${from} ${to}`);
    known.add(`${from} ${to}`);
    return isNew;
  });
}

/**
 * For whoever defers an answer, and for whoever will never give one.
 * @param {import("./model.js").RunModel} model
 * @param {number} position
 * @param {NodeState[]} states
 * @param {boolean[]} waiting
 * @returns {Wait[]}
 */
function forAnswers(model, position, states, waiting) {
  const known = (/** @type {string} */ name) => states.some((state) => dataOf(state, name) !== undefined);
  const [field, deferring] = [LACKING.find(known), DEFERRING.find(known) ?? ""];
  if (!field) return [];
  const flying = new Set(model.inFlight(position, Infinity).map((message) => way(model.messages.from[message], model.messages.to[message])));
  return states.flatMap((state, from) => {
    if (!waiting[from]) return [];
    return countedIn(dataOf(state, field)).flatMap((to) => {
      if (countedIn(dataOf(states[to], deferring)).includes(from)) return [{ from, to }];
      const isUnderWay = flying.has(way(from, to)) || flying.has(way(to, from));
      return isUnderWay ? [] : [{ from, to, silent: true }];
    });
  });
}

/** @param {number} from @param {number} to */
const way = (from, to) => `${from} ${to}`;

/**
 * Who is queued at an arbiter waits for whoever has its grant.
 * @param {NodeState[]} states
 * @returns {Wait[]}
 */
function forArbiters(states) {
  return states.flatMap((state, via) => {
    const granted = [...GRANTED.map((field) => rowOf(dataOf(state, field))).filter((to) => to >= 0), ...rowsOf(dataOf(state, "arbiter.granted"))];
    return rowsOf(dataOf(state, "arbiter.queue")).flatMap((from) => granted.map((to) => ({ from, to, via })));
  });
}

/**
 * Lamport, Lodha and Kshemkalyani: for the oldest request that a node knows, until that is its own.
 * @param {NodeState[]} states
 * @param {boolean[]} waiting
 * @returns {Wait[]}
 */
function forTheHead(states, waiting) {
  return states.flatMap((state, from) => {
    const head = QUEUES.flatMap((field) => stampsOf(dataOf(state, field)))[0];
    return waiting[from] && head ? [{ from, to: head.row }] : [];
  });
}

/**
 * Where one node or the token has a queue: each for the one before.
 * @param {import("./model.js").RunModel} model
 * @param {NodeState[]} states
 * @returns {Wait[]}
 */
function inQueues({ header }, states) {
  return states.flatMap((state, row) => {
    const next = Math.max(rowOf(dataOf(state, "next")), rowOf(dataOf(state, "follow")));
    const chained = [...chain(row, rowsOf(dataOf(state, "token.queue"))), ...(next >= 0 ? [{ from: next, to: row }] : [])];
    const served = numbersOf(dataOf(state, "token.served"));
    const unserved = numbersOf(dataOf(state, "request")).flatMap((number, from) => (number > (served[from] ?? Infinity) ? [from] : []));
    const requesting = [...rowsOf(dataOf(state, "token.requesting")), ...unserved].map((from) => ({ from, to: row }));
    const holder = rowOf(dataOf(state, "holder"));
    const coordinated = header.topology.coordinator !== null && holder >= 0 ? chain(holder, rowsOf(dataOf(state, "queue"))) : [];
    return [...chained, ...requesting, ...coordinated];
  });
}

/**
 * @param {number} first
 * @param {number[]} queue
 * @returns {Wait[]}
 */
function chain(first, queue) {
  return queue.map((from, k) => ({ from, to: k === 0 ? first : queue[k - 1] }));
}

/**
 * Nodes that wait for each other in a circle, in that order; none if nobody does.
 * @param {Wait[]} waits
 * @returns {number[]}
 */
export function circleIn(waits) {
  /** @type {Map<number, number[]>} */
  const after = new Map();
  for (const { from, to } of waits) after.set(from, [...(after.get(from) ?? []), to]);
  const done = new Set();
  /** @param {number} node @param {number[]} path @returns {number[]} */
  const search = (node, path) => {
    if (path.includes(node)) return path.slice(path.indexOf(node));
    if (done.has(node)) return [];
    for (const next of after.get(node) ?? []) {
      const found = search(next, [...path, node]);
      if (found.length > 0) return found;
    }
    done.add(node);
    return [];
  };
  for (const node of after.keys()) {
    const found = search(node, []);
    if (found.length > 0) return found;
  }
  return [];
}

/**
 * What a circle means.
 * @param {number[]} circle
 * @param {boolean} atRest whether no message is under way that could break it
 * @returns {string}
 */
export function inWords(circle, atRest) {
  const names = [...circle, circle[0]].map(nodeName).join(" → ");
  return atRest ? say("Deadlock: {names} wait for each other", { names }) : say("{names} wait for each other, but messages are still under way", { names });
}
