// What the checker judges, in words.
import { say, translated } from "../lib/language.js";

/** @type {Record<string, { title: string, meaning: string, broken: string }>} */
const PROPERTIES = {
  exclusion: { title: say("Exclusion"), meaning: say("at most one node is inside (GA1, EM1), or as many as may be at once"), broken: say("too many nodes are inside") },
  progress: { title: say("Progress"), meaning: say("no deadlock: these requests are all served (GA2)"), broken: say("somebody waits for ever") },
  order: { title: say("Order"), meaning: say("requests are served in the order of happened-before (EM3)"), broken: say("a later request is served first") },
  fence: { title: say("Fence"), meaning: say("fences rise from entry to entry"), broken: say("a fence does not rise") },
  messages: { title: say("Messages"), meaning: say("no more messages per entry than published"), broken: say("an entry takes more messages than published") },
  rest: { title: say("Rest"), meaning: say("at the end channels are empty and nodes idle"), broken: say("the system does not come to rest") },
  refused: { title: say("Nothing refused"), meaning: say("no correct peer’s message is refused"), broken: say("a message is refused") },
  starvation: { title: say("No starvation"), meaning: say("nobody waits for ever, though others ask on (GA2′, EM2)"), broken: say("somebody waits for ever while others are served") },
  closure: { title: say("Closure"), meaning: say("from legitimate states only such are reached"), broken: say("a legitimate state is left") },
  convergence: { title: say("Convergence"), meaning: say("begun in any state, it comes to a legitimate one"), broken: say("the system never recovers") },
  agreement: { title: say("Agreement"), meaning: say("one leader in one epoch"), broken: say("two leaders in one epoch") },
  validity: { title: say("Validity"), meaning: say("the leader was alive, and the highest where that is claimed"), broken: say("the wrong leader is elected") },
  termination: { title: say("Termination"), meaning: say("every election ends with a live leader; where numbers are drawn, with probability 1"), broken: say("an election ends without a leader, or never") },
};

const JUDGED = {
  mutex: ["exclusion", "progress", "order", "fence", "messages", "rest", "refused", "starvation"],
  election: ["agreement", "validity", "termination", "refused"],
};

/**
 * A property in words.
 * @param {string} name
 * @returns {{ title: string, meaning: string, broken: string }}
 */
export function property(name) {
  return PROPERTIES[name] ?? { title: name, meaning: "", broken: say("{name} is violated", { name: translated(name) }) };
}

/**
 * Which properties of its kind of algorithm a search did not judge.
 * @param {"mutex" | "election"} kind
 * @param {import("../wire.js").CheckedProperty[]} judged
 * @returns {string[]}
 */
export function unjudged(kind, judged) {
  return JUDGED[kind].filter((name) => !judged.some((property) => property.name === name));
}
