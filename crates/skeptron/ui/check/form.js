// The form of a question. Which fields it has depends on the algorithm.
import { h, clear } from "../lib/dom.js";
import { field, choice, entry, algorithmChoices } from "../lib/form.js";
import { say } from "../lib/language.js";
import { fitting, fromOptions } from "./question.js";

/** @typedef {import("../wire.js").CheckRequest} CheckRequest */
/** @typedef {import("../wire.js").AlgorithmInfo} AlgorithmInfo */

const QUORUMS = ["cyclic", "singleton", "all", "majority", "grid", "projective", "triangle", "wall", "tree", "hierarchical", "fano", "maekawa-13"];

/**
 * What each layout is asked for.
 * @type {Record<string, { name: "coordinator" | "quorum" | "structure" | "tree" | "arbitration" | "capacity" | "readers" | "read_quorums" | "begin" | "ring" | "graph" | "clusters",
 *   label: string, usual: string, known: string[], hint: string }[]>}
 */
const LAYOUTS = {
  coordinator: [{ name: "coordinator", label: say("Coordinator"), usual: "P1", known: [], hint: say("Who coordinates, as in P2.") }],
  quorums: [{ name: "quorum", label: say("Quorums"), usual: "cyclic", known: QUORUMS, hint: say("A construction, as in grid or wall:1,2. The Quorums view tells all about them.") }],
  structure: [
    { name: "structure", label: say("Structure"), usual: "maekawa", known: ["maekawa", "lamport", "ricart-agrawala", "sanders-4", "star"], hint: say("Who asks and tells whom. The Quorums view judges structures.") },
    { name: "quorum", label: say("Quorums of it"), usual: "cyclic", known: QUORUMS, hint: say("Of the structure maekawa: from which quorums it is derived.") },
  ],
  tree: [{ name: "tree", label: say("Tree"), usual: "balanced:2", known: ["balanced:2", "star", "line", "elected"], hint: say("Who is whose parent at the start.") }],
  arbitration: [{ name: "arbitration", label: say("Who is next"), usual: "round-robin", known: ["round-robin", "smallest-sequence", "nearest"], hint: say("How the holder of the token chooses among those who wait.") }],
  capacity: [{ name: "capacity", label: say("Inside at once"), usual: "2", known: ["1", "2", "3"], hint: say("How many may be inside at once: fewer than all.") }],
  readwrite: [
    { name: "readers", label: say("Readers"), usual: "", known: [], hint: say("Who reads, as in P1,P2; the others write. All but the last one if empty.") },
    { name: "read_quorums", label: say("Quorums"), usual: "grid", known: ["grid", "majority", "read-one"], hint: say("Whom readers and writers ask.") },
  ],
  beginning: [{ name: "begin", label: say("Begins in"), usual: "", known: ["initial"], hint: say("Every state if empty; initial, or a number for each node, as a counterexample has them.") }],
  ring: [{ name: "ring", label: say("Ring"), usual: "ascending", known: ["ascending", "descending"], hint: say("The order of the nodes around the ring, as in P3,P1,P2.") }],
  graph: [{ name: "graph", label: say("Network"), usual: "complete", known: ["complete", "ring", "line", "star", "grid", "hypercube"], hint: say("Which nodes are linked.") }],
  clusters: [{ name: "clusters", label: say("Clusters"), usual: "square", known: ["square"], hint: say("Sizes of the clusters, as in 2,1; square makes about √N of them.") }],
};

/**
 * The form.
 * @param {AlgorithmInfo[]} infos
 * @param {CheckRequest} first
 * @param {{ changed: (request: CheckRequest) => void, run: (request: CheckRequest) => void }} does
 * @returns {HTMLElement}
 */
export function questionForm(infos, first, does) {
  let request = first;
  const fields = h("div", { class: "question-fields" });
  const about = h("div", { class: "about-algorithm" });
  const button = h("button", { type: "submit", class: "primary", "data-test": "run-check" }, say("Check"));
  const element = h("form", { class: "panel question", "data-test": "check-form", onsubmit: (/** @type {Event} */ event) => {
    event.preventDefault();
    does.run(request);
  } }, h("div", { class: "toolbar" }, h("h2", { class: "grow" }, say("Question")), button), fields, about);

  /** @param {CheckRequest} changed */
  const set = (changed) => {
    request = changed;
    does.changed(request);
  };
  const info = () => infos.find((info) => info.name === request.algorithm);
  const build = () => {
    clear(fields);
    fields.append(...controls(infos, info(), request, {
      set: (part) => set(/** @type {CheckRequest} */ (without({ ...request, ...part }))),
      algorithm(name) {
        const chosen = infos.find((info) => info.name === name);
        if (!chosen) return;
        // A broken variant comes with the question that refutes it.
        set(chosen.broken ? fromOptions(name, chosen.broken.refuted_by) : fitting(request, chosen));
        build();
        fields.querySelector("select")?.focus();
      },
    }));
    about.replaceChildren(...aboutAlgorithm(info()));
  };
  build();
  return element;
}

/**
 * @param {AlgorithmInfo[]} infos
 * @param {AlgorithmInfo | undefined} info
 * @param {CheckRequest} request
 * @param {{ set: (part: Partial<CheckRequest>) => void, algorithm: (name: string) => void }} does
 */
function controls(infos, info, request, does) {
  const isMutex = info?.kind !== "election";
  const algorithm = choice(algorithmChoices(infos), request.algorithm, does.algorithm, { "data-test": "algorithm" });
  return [
    h("div", { class: "fields" }, field(say("Algorithm"), algorithm),
      field(say("Nodes"), count(request, "nodes", does.set, { min: 1, max: 13, "data-test": "nodes" }), say("How many; each one more multiplies the work.")),
      ...(LAYOUTS[info?.layout ?? ""] ?? []).map((layout) => field(layout.label, suggested(layout, request, does.set), layout.hint))),
    group(say("What users do"), isMutex ? [
      field(say("Requests"), text(request, "requests", "1", does.set), say("How often each node asks: a number, or one for each node, as in 1,1,2.")),
      field(say("Who asks"), text(request, "requesters", say("everybody"), does.set), say("How many of them, or a list like P1,P3.")),
    ] : [
      field(say("Who calls"), text(request, "initiators", say("everybody"), does.set), say("Who calls elections, once at any time or never, and whenever it suspects its leader: a list like P1,P3.")),
      field(say("Calls"), count(request, "calls", does.set, { min: 0, placeholder: say("all") }), say("How many of them call of their own accord at most.")),
      field(say("Detectors"), text(request, "detector", "1", does.set), say("Within how many bounds a failure detector tells of a crash or a return.")),
    ]),
    group(say("What the network does"), [
      field(say("Order"), choice([
        { value: "fifo", title: say("FIFO: as sent") },
        { value: "any", title: say("any: messages overtake") },
      ], request.order ?? "fifo", (order) => does.set({ order: order === "fifo" ? undefined : order }), { "data-test": "order" })),
      field(say("Losses"), count(request, "loss", does.set), say("How many messages may be lost.")),
      field(say("Duplicates"), count(request, "duplicate", does.set), say("How many messages may be delivered twice.")),
    ]),
    group(say("What nodes do"), crashes(request, isMutex, does.set)),
    h("label", { class: "tick" }, keepGoing(request, does.set), say("Decide every property instead of ending at the first violation")),
  ];
}

/**
 * @param {CheckRequest} request
 * @param {boolean} isMutex
 * @param {(part: Partial<CheckRequest>) => void} set
 */
function crashes(request, isMutex, set) {
  const details = [
    isMutex && field(say("When"), choice([
      { value: "any", title: say("at any time") }, { value: "idle", title: say("while idle") },
      { value: "waiting", title: say("while waiting") }, { value: "holding", title: say("while holding") },
    ], request.crash_when ?? "any", (when) => set({ crash_when: when === "any" ? undefined : when }))),
    field(say("Who may crash"), text(request, "victims", say("everybody"), set), say("A list like P1,P3.")),
    !isMutex && field(say("Returns"), count(request, "restarts", set), say("How many nodes that crashed may come back.")),
  ].filter((field) => field instanceof HTMLElement);
  const show = (/** @type {boolean} */ shown) => details.forEach((field) => { field.hidden = !shown; });
  show((request.crashes ?? 0) > 0);
  const number = count(request, "crashes", (part) => {
    const some = (part.crashes ?? 0) > 0;
    show(some);
    set(some ? part : { crashes: undefined, crash_when: undefined, victims: undefined, restarts: undefined });
  });
  return [
    field(say("Crashes"), number, say("How many nodes may stop.")),
    ...details,
    ...(isMutex ? [] : [
      field(say("Early alarms"), count(request, "premature", set), say("How many alarms may ring before their time.")),
      field(say("False suspicions"), count(request, "suspicions", set), say("How many times a failure detector may suspect a live node for a while.")),
    ]),
  ];
}

/**
 * @param {string} title
 * @param {HTMLElement[]} members
 */
function group(title, members) {
  return h("fieldset", {}, h("legend", {}, title), h("div", { class: "fields" }, members));
}

/**
 * @param {CheckRequest} request
 * @param {"nodes" | "calls" | "loss" | "duplicate" | "crashes" | "restarts" | "premature" | "suspicions"} name
 * @param {(part: Partial<CheckRequest>) => void} set
 * @param {Record<string, unknown>} [properties]
 */
function count(request, name, set, properties = {}) {
  const change = (/** @type {string} */ value) => set({ [name]: value === "" ? undefined : Math.max(0, Math.floor(Number(value))) });
  return entry(String(request[name] ?? ""), change, { type: "number", min: 0, max: 9, placeholder: "0", ...properties });
}

/**
 * @param {CheckRequest} request
 * @param {"requests" | "requesters" | "initiators" | "detector" | "victims"} name
 * @param {string} usual
 * @param {(part: Partial<CheckRequest>) => void} set
 */
function text(request, name, usual, set) {
  return entry(request[name] ?? "", (value) => set({ [name]: value || undefined }), { placeholder: usual, size: 10, "data-test": name });
}

/**
 * @param {{ name: "coordinator" | "quorum" | "structure" | "tree" | "arbitration" | "capacity" | "readers" | "read_quorums" | "begin" | "ring" | "graph" | "clusters", usual: string, known: string[] }} layout
 * @param {CheckRequest} request
 * @param {(part: Partial<CheckRequest>) => void} set
 */
function suggested({ name, usual, known }, request, set) {
  const id = `known-${name}`;
  const input = entry(request[name] ?? "", (value) => set({ [name]: value || undefined }), {
    placeholder: usual, size: 14, list: id, "data-test": name,
  });
  return h("span", { class: "suggested" }, h("datalist", { id }, known.map((value) => h("option", { value }))), input);
}

/**
 * @param {CheckRequest} request
 * @param {(part: Partial<CheckRequest>) => void} set
 */
function keepGoing(request, set) {
  const box = h("input", { type: "checkbox", checked: request.keep_going === true, "data-test": "keep-going",
    onchange: () => set({ keep_going: box.checked || undefined }) });
  return box;
}

/** @param {AlgorithmInfo | undefined} info */
function aboutAlgorithm(info) {
  if (!info) return [h("p", { class: "notice bad" }, say("There is no such algorithm; choose one of the list."))];
  if (!info.broken) {
    const channel = info.channel === "fifo" ? say("It is published for FIFO channels.") : say("It claims to need no FIFO channels.");
    return [h("p", { class: "small muted" }, info.idea, " ", channel)];
  }
  const { of, flaw, breaks } = info.broken;
  return [h("div", { class: "notice unsure small", "data-test": "flaw" },
    h("strong", {}, say("Broken on purpose.")), " ", say("A variant of {of}: {flaw}. That breaks its {breaks}. The fields above ask the question that refutes it.", { of, flaw, breaks }))];
}

/**
 * Without what is not given.
 * @param {Partial<CheckRequest>} request
 */
function without(request) {
  return Object.fromEntries(Object.entries(request).filter(([, value]) => value !== undefined));
}
