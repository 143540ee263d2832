// What is known of a quorum system, each fact with a sentence that says what it is good for.
import { h } from "../lib/dom.js";
import { braced, figure, probability } from "./numbers.js";

/** @typedef {import("../wire.js").QuorumReport} QuorumReport */

/**
 * @param {QuorumReport} report
 * @returns {HTMLElement}
 */
export function facts(report) {
  const rows = conditions(report);
  if (report.load !== null) {
    rows.push(...form(report), load(report, report.load), resilience(report), ...failure(report), ...performance(report));
  }
  if (report.notes.length > 0) rows.push(fact("Notes", h("ul", { class: "small notes" }, report.notes.map((note) => h("li", {}, note)))));
  return h("dl", { class: "facts", "data-test": "facts" }, rows.flat());
}

/**
 * @param {string} name
 * @param {Node | string} value
 * @param {string} [why]
 */
function fact(name, value, why) {
  return [h("dt", {}, name), h("dd", {}, value, why ? h("span", { class: "small muted why" }, why) : null)];
}

/**
 * @param {boolean} holds
 * @param {string} [instead] what is said if it does not
 */
function mark(holds, instead = "no") {
  return h("span", { class: holds ? "chip good" : "chip bad" }, holds ? "✓ yes" : `✗ ${instead}`);
}

/** @param {QuorumReport} report */
function conditions({ conditions: { intersecting, contains_self, equal_size, equal_degree, violation }, size, assignment }) {
  const sizes = !equal_size ? "Some ask more nodes than others: their entries cost more."
    : `Everybody pays the same for an entry.${size.min < size.max ? " Those that the nodes ask are equal; others differ." : ""}`;
  return [
    fact("1 · Any two meet", mark(intersecting), violation ?? "Whoever two nodes ask, somebody is asked by both and lets in only one: this alone makes it safe."),
    fact("2 · Own node in it", mark(contains_self), contains_self ? "Asking oneself is free: one message less." : "Some nodes are not in their own quorum: they ask only others."),
    fact("3 · Equal sizes", mark(equal_size), sizes),
    fact("4 · Equal degrees", mark(equal_degree), degrees(assignment)),
  ];
}

/** @param {number[][]} assignment */
function degrees(assignment) {
  if (assignment.length === 0) return "";
  const counts = assignment.map(() => 0);
  for (const node of assignment.flat()) counts[node - 1] += 1;
  const [least, most] = [Math.min(...counts), Math.max(...counts)];
  return least === most ? `Each node is in the quorums of ${least} nodes: everybody works the same.` : `Nodes are in the quorums of ${least} to ${most} nodes: some work more than others.`;
}

/** @param {QuorumReport} report */
function form({ size, quorum_count, coterie, dominated, could_be_added }) {
  const mean = size.min === size.max || size.mean === null ? "" : ` (${figure(size.mean)} in the mean)`;
  const sizes = `${size.min === size.max ? size.min : `${size.min} to ${size.max}`} ${size.max === 1 ? "node" : "nodes"}${mean}`;
  const count = quorum_count === null ? "too many to count" : quorum_count.length > 12 ? probability(Number(quorum_count)) : quorum_count;
  const domination = {
    true: ["yes", could_be_added ? `${braced(could_be_added)} meets every quorum and contains none, so it could be one, too.` : "Another system is better in every respect."],
    false: ["no", "Nothing is better in every respect: no quorum can be added or made smaller."],
    null: ["not known", ""],
  }[String(dominated)] ?? ["not known", ""];
  return [
    fact("Quorums", `${count}, of ${sizes}`, coterie ? "None contains another: it is a coterie." : "Some contain others: these are never needed."),
    fact("Dominated", domination[0], domination[1]),
  ];
}

/**
 * @param {QuorumReport} report
 * @param {number} value
 */
function load({ load_fraction, load_bounds }, value) {
  const fraction = load_fraction?.includes("/") ? `${load_fraction} = ` : "";
  const bounds = load_bounds ? ` Nothing with quorums of this size is below 1/c and c/N: ${figure(load_bounds[0])} and ${figure(load_bounds[1])}.` : "";
  return fact("Load", `${fraction}${figure(value)}`,
    `The busiest node is asked for this share of all entries, if quorums are chosen as well as possible; together they serve ${figure(1 / value)} times what one node can.${bounds}`);
}

/** @param {QuorumReport} report */
function resilience({ resilience: exact, resilience_bounds, fatal }) {
  const bounds = resilience_bounds ?? [0, 0];
  const value = exact === null ? `${bounds[0]} to ${bounds[1]}` : String(exact);
  const least = exact ?? bounds[0];
  const survived = least === 0 ? "" : `Any ${least === 1 ? "node" : least} may crash. `;
  return fact("Resilience", value, `${survived}No quorum is left if ${braced(fatal)} ${fatal.length === 1 ? "crashes" : "all crash"}.`);
}

/** @param {QuorumReport} report */
function failure({ failure_probability: failure }) {
  if (!failure) return [];
  const interval = failure.interval ? `, between ${probability(failure.interval[0])} and ${probability(failure.interval[1])}` : "";
  return [fact("Failure", `${probability(failure.value)}${interval}`,
    `The probability that no quorum is left if each node has failed with p = ${figure(failure.p)}. (${failure.method})`)];
}

/** @param {QuorumReport} report */
function performance({ performance }) {
  if (!performance) return [];
  const latency = performance.latency === null ? [] : [fact("Latency", figure(performance.latency),
    `Until a quorum has answered, in the mean at that capacity${performance.latency_is_least ? "; nothing is faster there" : ""}. The fastest is ${braced(performance.fastest_quorum)}: ${figure(performance.fastest)}.`)];
  return [fact("Capacity", figure(performance.capacity), `Entries in a unit of time that nodes of these capacities can serve (${performance.method}).`), ...latency];
}
