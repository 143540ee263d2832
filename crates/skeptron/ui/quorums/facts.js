// What is known of a quorum system, each fact with a sentence that says what it is good for.
import { h, english } from "../lib/dom.js";
import { say } from "../lib/language.js";
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
  if (report.notes.length > 0) rows.push(fact(say("Notes"), h("ul", { class: "small notes" }, report.notes.map((note) => h("li", {}, english(note))))));
  return h("dl", { class: "facts", "data-test": "facts" }, rows.flat());
}

/**
 * @param {string} name
 * @param {Node | string} value
 * @param {...(Node | string)} why
 */
function fact(name, value, ...why) {
  return [h("dt", {}, name), h("dd", {}, value, why.some(Boolean) ? h("span", { class: "small muted why" }, why) : null)];
}

/**
 * @param {boolean} holds
 */
function mark(holds) {
  return h("span", { class: holds ? "chip good" : "chip bad" }, holds ? say("✓ yes") : say("✗ no"));
}

/** @param {QuorumReport} report */
function conditions({ conditions: { intersecting, contains_self, equal_size, equal_degree, violation }, size, assignment }) {
  const sizes = !equal_size ? say("Some ask more nodes than others: their entries cost more.")
    : `${say("Everybody pays the same for an entry.")}${size.min < size.max ? ` ${say("Those that the nodes ask are equal; others differ.")}` : ""}`;
  return [
    fact(say("1 · Any two meet"), mark(intersecting), violation ? english(violation) : say("Whoever two nodes ask, somebody is asked by both and lets in only one: this alone makes it safe.")),
    fact(say("2 · Own node in it"), mark(contains_self), contains_self ? say("Asking oneself is free: one message less.") : say("Some nodes are not in their own quorum: they ask only others.")),
    fact(say("3 · Equal sizes"), mark(equal_size), sizes),
    fact(say("4 · Equal degrees"), mark(equal_degree), degrees(assignment)),
  ];
}

/** @param {number[][]} assignment */
function degrees(assignment) {
  if (assignment.length === 0) return "";
  const counts = assignment.map(() => 0);
  for (const node of assignment.flat()) counts[node - 1] += 1;
  const [least, most] = [Math.min(...counts), Math.max(...counts)];
  return least === most ? say("Each node is in the quorums of {n} nodes: everybody works the same.", { n: least }) : say("Nodes are in the quorums of {least} to {most} nodes: some work more than others.", { least, most });
}

/** @param {QuorumReport} report */
function form({ size, quorum_count, coterie, dominated, could_be_added }) {
  const mean = size.min === size.max || size.mean === null ? "" : ` ${say("({mean} in the mean)", { mean: figure(size.mean) })}`;
  const sizes = `${say("{size} nodes", { n: size.max, size: size.min === size.max ? size.min : say("{least} to {most}", { least: size.min, most: size.max }) })}${mean}`;
  const count = quorum_count === null ? say("too many to count") : quorum_count.length > 12 ? probability(Number(quorum_count)) : quorum_count;
  const domination = {
    true: [say("yes"), could_be_added ? say("{set} meets every quorum and contains none, so it could be one, too.", { set: braced(could_be_added) }) : say("Another system is better in every respect.")],
    false: [say("no"), say("Nothing is better in every respect: no quorum can be added or made smaller.")],
    null: [say("not known"), ""],
  }[String(dominated)] ?? [say("not known"), ""];
  return [
    fact(say("Quorums"), say("{count}, of {sizes}", { count, sizes }), coterie ? say("None contains another: it is a coterie.") : say("Some contain others: these are never needed.")),
    fact(say("Dominated"), domination[0], domination[1]),
  ];
}

/**
 * @param {QuorumReport} report
 * @param {number} value
 */
function load({ load_fraction, load_bounds }, value) {
  const fraction = load_fraction?.includes("/") ? `${load_fraction} = ` : "";
  const bounds = load_bounds ? ` ${say("Nothing with quorums of this size is below 1/c and c/N: {one} and {other}.", { one: figure(load_bounds[0]), other: figure(load_bounds[1]) })}` : "";
  return fact(say("Load"), `${fraction}${figure(value)}`,
    `${say("The busiest node is asked for this share of all entries, if quorums are chosen as well as possible; together they serve {times} times what one node can.", { times: figure(1 / value) })}${bounds}`);
}

/** @param {QuorumReport} report */
function resilience({ resilience: exact, resilience_bounds, fatal }) {
  const bounds = resilience_bounds ?? [0, 0];
  const value = exact === null ? say("{least} to {most}", { least: bounds[0], most: bounds[1] }) : String(exact);
  const least = exact ?? bounds[0];
  const survived = least === 0 ? "" : `${say("Any {n} may crash.", { n: least })} `;
  return fact(say("Resilience"), value, `${survived}${say("No quorum is left if {nodes} all crash.", { n: fatal.length, nodes: braced(fatal) })}`);
}

/** @param {QuorumReport} report */
function failure({ failure_probability: failure }) {
  if (!failure) return [];
  const interval = failure.interval ? say(", between {low} and {high}", { low: probability(failure.interval[0]), high: probability(failure.interval[1]) }) : "";
  return [fact(say("Failure"), `${probability(failure.value)}${interval}`,
    say("The probability that no quorum is left if each node has failed with p = {p}.", { p: figure(failure.p) }), " (", english(failure.method), ")")];
}

/** @param {QuorumReport} report */
function performance({ performance }) {
  if (!performance) return [];
  const latency = performance.latency === null ? [] : [fact(say("Latency"), figure(performance.latency),
    say("Until a quorum has answered, in the mean at that capacity{least}. The fastest is {quorum}: {fastest}.", { least: performance.latency_is_least ? say("; nothing is faster there") : "", quorum: braced(performance.fastest_quorum), fastest: figure(performance.fastest) }))];
  return [fact(say("Capacity"), figure(performance.capacity), say("Entries in a unit of time that nodes of these capacities can serve."), " (", english(performance.method), ")"), ...latency];
}
