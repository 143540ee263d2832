// What the checker judges, in words.

/** @type {Record<string, { title: string, meaning: string, broken: string }>} */
const PROPERTIES = {
  exclusion: { title: "Exclusion", meaning: "at most one node is inside (GA1, EM1)", broken: "two nodes are inside" },
  progress: { title: "Progress", meaning: "no deadlock: these requests are all served (GA2)", broken: "somebody waits for ever" },
  order: { title: "Order", meaning: "requests are served in the order of happened-before (EM3)", broken: "a later request is served first" },
  fence: { title: "Fence", meaning: "fences rise from entry to entry", broken: "a fence does not rise" },
  messages: { title: "Messages", meaning: "no more messages per entry than published", broken: "an entry takes more messages than published" },
  rest: { title: "Rest", meaning: "at the end channels are empty and nodes idle", broken: "the system does not come to rest" },
  refused: { title: "Nothing refused", meaning: "no correct peer’s message is refused", broken: "a message is refused" },
  starvation: { title: "No starvation", meaning: "nobody waits for ever, though others ask on (GA2′, EM2)", broken: "somebody waits for ever while others are served" },
  agreement: { title: "Agreement", meaning: "one leader in one epoch", broken: "two leaders in one epoch" },
  validity: { title: "Validity", meaning: "the leader was alive, and the highest where that is claimed", broken: "the wrong leader is elected" },
  termination: { title: "Termination", meaning: "every election ends with a live leader", broken: "an election ends without a leader, or never" },
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
  return PROPERTIES[name] ?? { title: name, meaning: "", broken: `${name} is violated` };
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

/**
 * A number of steps in words, as in “ after 7 steps”.
 * @param {"in" | "after"} word
 * @param {number | null} steps
 * @returns {string}
 */
export function steps(word, steps) {
  return steps === null ? "" : ` ${word} ${steps} ${steps === 1 ? "step" : "steps"}`;
}
