// The bar that chooses what is run.
import { h, clear } from "../lib/dom.js";
import { field, choice, entry, algorithmChoices } from "../lib/form.js";
import { say } from "../lib/language.js";

/** @typedef {import("../wire.js").SimOptions} SimOptions */
/** @typedef {import("../wire.js").AlgorithmInfo} AlgorithmInfo */
/** @typedef {Exclude<{ [K in keyof SimOptions]-?: NonNullable<SimOptions[K]> extends string ? K : never }[keyof SimOptions], "algorithm">} TextOption */
/** The first preset is what the server takes if nothing is said. */
/** @typedef {{ label: string, presets: [string, string][], hint: string }} Choice */

const DETECTOR = { label: say("Failure detector"), hint: say("What nodes are told of crashes"), presets: /** @type {[string, string][]} */ ([["perfect:2", say("tells after 2 units")], ["perfect:0.5", say("tells after 0.5 units")], ["perfect:10", say("tells after 10 units")], ["imperfect:2,0.05,5", say("errs now and then")]]) };

/** What a layout can be; what is not among these is written by hand. */
const LAYOUTS = /** @type {Record<string, Choice & { option: TextOption }>} */ ({
  coordinator: { option: "coordinator", label: say("Coordinator"), presets: [["P1", "P1"], ["P2", "P2"]], hint: say("Who coordinates, as in P2") },
  quorums: {
    option: "quorum", label: say("Quorums"), hint: say("A construction of quorums, as `--quorum` takes it"),
    presets: [["cyclic", say("cyclic")], ["maekawa-13", say("13-node plane")], ["fano", say("Fano plane (7)")], ["projective", say("projective plane")], ["grid", say("grid")], ["majority", say("majority")],
      ["triangle", say("triangle")], ["wall", say("wall")], ["tree", say("tree")], ["hierarchical", say("hierarchical")], ["all", say("all nodes")], ["singleton", say("one node")]],
  },
  structure: {
    option: "structure", label: say("Structure"), hint: say("Whom a node asks and informs, as `--structure` takes it"),
    presets: [["maekawa", say("Maekawa's")], ["sanders-4", say("Sanders' four nodes")], ["lamport", say("Lamport's")], ["ricart-agrawala", say("Ricart–Agrawala's")], ["star", say("a star")]],
  },
  tree: { option: "tree", label: say("Tree"), presets: [["balanced:2", say("binary")], ["balanced:3", say("ternary")], ["star", say("star")], ["line", say("line")], ["elected", say("elected by spanning-tree")]], hint: say("The tree, as `--tree` takes it") },
  arbitration: { option: "arbitration", label: say("Arbitration"), presets: [["round-robin", say("round robin")], ["smallest-sequence", say("smallest sequence number")], ["nearest", say("nearest")]], hint: say("How the holder of the token chooses") },
  capacity: { option: "capacity", label: say("Inside at once"), presets: [["2", "2"], ["3", "3"], ["1", "1"]], hint: say("How many may be inside at once: fewer than all") },
  readwrite: { option: "read_quorums", label: say("Quorums"), presets: [["grid", say("grid")], ["majority", say("majority")], ["read-one", say("read one, write all")]], hint: say("Whom readers and writers ask; all nodes read but the last one") },
  beginning: { option: "begin", label: say("Begins in"), presets: [["initial", say("its initial state")], ["random", say("any state at all")]], hint: say("The state in which nodes and channels begin, as `--begin` takes it; which one is any, the seed decides") },
  ring: { option: "ring", label: say("Ring"), presets: [["ascending", say("ascending")], ["descending", say("descending")], ["random:1", say("at random")]], hint: say("The order of the ring, or a list like P3,P1,P2") },
  graph: { option: "graph", label: say("Network"), presets: [["complete", say("complete")], ["ring", say("ring")], ["line", say("line")], ["star", say("star")], ["grid", say("grid")], ["hypercube", say("hypercube")]], hint: say("Who is linked to whom") },
  clusters: { option: "clusters", label: say("Clusters"), presets: [["square", say("about √N")], ["latency", say("by latency")]], hint: say("Sizes as in 3,3,2, or `latency`: who reaches whom fast") },
  detector: { option: "detector", ...DETECTOR },
});

/** Layouts of one number of nodes. */
const ONE_SIZE = new Set(["maekawa-13", "fano", "sanders-4"]);

const LATENCY = { label: say("Latency"), hint: say("How long a message takes, in units: 1, uniform:0.5..1.5, exp:1, normal:1,0.2, pareto:1,1.5, three-dc"), presets: /** @type {[string, string][]} */ ([["1", say("always 1")], ["uniform:0.5..1.5", say("0.5 to 1.5")], ["exp:1", say("exponential, mean 1")], ["pareto:0.5,1.5", say("heavy tail")], ["three-dc", say("three data centres")]]) };
const WORKLOAD = { label: say("Who asks when"), hint: say("When nodes ask for the section; by hand, nobody does before you click a node"), presets: /** @type {[string, string][]} */ ([["closed", say("everybody, always")], ["none", say("nobody: by hand")], ["sequential", say("one at a time")], ["poisson:0.1", say("now and then")], ["bursts:3,10", say("in bursts of three")], ["hot:1,0.8,0.2", say("one node mostly")]]) };
const SECTION = { label: say("Stay inside"), hint: say("How long a node stays in the critical section"), presets: /** @type {[string, string][]} */ ([["1", say("1 unit")], ["hand", say("until I release it")], ["0.2", say("0.2 units")], ["3", say("3 units")], ["exp:1", say("exponential, mean 1")]]) };

/** The controls of a run: shows the options, and says when the user wants others. */
export class Controls {
  /** @type {AlgorithmInfo[]} */
  infos = [];
  nodes = 0;
  /** Whether it was recorded: then the system is known, and not what made it do what it did. */
  recorded = false;
  /** Whether a scenario's script asks for the nodes: it ends with the first change, and everybody asks instead. */
  scripted = false;

  /** @param {(sim: SimOptions) => void} wanted */
  constructor(wanted) {
    this.wanted = wanted;
    /** @type {SimOptions} */
    this.sim = { algorithm: "" };
    this.basic = h("div", { class: "fields play-basic" });
    this.more = h("div", { class: "fields play-more" });
    this.details = h("details", { class: "play-details", "data-test": "play-options" }, h("summary", {}, say("More options")), this.more);
    this.element = h("div", { class: "play-controls", "data-test": "play-controls" }, this.basic, this.details);
  }

  /**
   * Shows these options.
   * @param {SimOptions} sim
   * @param {number} nodes how many nodes the run really has
   * @param {{ scripted?: boolean, recorded?: boolean }} [kind]
   */
  show(sim, nodes, { scripted = false, recorded = false } = {}) {
    this.sim = { ...sim };
    this.nodes = nodes;
    this.scripted = scripted;
    this.recorded = recorded;
    const focus = document.activeElement instanceof HTMLElement && this.element.contains(document.activeElement) ? document.activeElement.dataset.test : undefined;
    const info = this.infos.find((info) => info.name === sim.algorithm);
    clear(this.basic);
    clear(this.more);
    this.basic.append(...this.#basics(info));
    this.more.append(...(recorded ? [this.#order()] : [...(info?.kind === "election" ? this.#elections() : this.#requests()), ...this.#network()]));
    if (focus) /** @type {HTMLElement | null} */ (this.element.querySelector(`[data-test="${focus}"]`))?.focus();
  }

  /** @param {AlgorithmInfo | undefined} info */
  #basics(info) {
    const algorithm = choice(algorithmChoices(this.infos), this.sim.algorithm, (name) => this.#algorithm(name), { "data-test": "play-algorithm" });
    const nodes = entry(String(this.sim.nodes ?? this.nodes), (value) => this.#number("nodes", value), { type: "number", min: 1, "data-test": "play-nodes" });
    nodes.classList.add("play-narrow");
    const parts = [field(say("Algorithm"), algorithm, info?.idea), field(say("Nodes"), nodes)];
    for (const layout of this.#layouts(info)) parts.push(this.#presets(layout, layout.option));
    if (this.recorded) return [...parts, h("p", { class: "small muted play-recorded", "data-test": "play-recorded" }, say("Recorded. A change here begins a run of your own."))];
    if (info?.kind !== "election") parts.push(this.#presets(WORKLOAD, "workload"), this.#presets(SECTION, "section"));
    parts.push(this.#presets(LATENCY, "latency"));
    return parts;
  }

  /** @param {AlgorithmInfo | undefined} info */
  #layouts(info) {
    const layout = info && LAYOUTS[info.layout];
    if (!layout) return [];
    // Of Sanders' structures only Maekawa's is made of quorums.
    return info.layout === "structure" && (this.sim.structure ?? "maekawa") === "maekawa" ? [layout, LAYOUTS.quorums] : [layout];
  }

  #requests() {
    return [
      this.#text("requesters", say("Who asks"), say("How many of the nodes, or a list like P1,P3"), "all"),
      this.#text("think", say("Think"), say("From an exit to the next request, as in 0, 5 or exp:5"), "0"),
      this.#numeric("entries", say("Entries"), say("After how many entries the run ends"), { min: 1 }),
      this.#text("clocks", say("Clocks begin at"), say("Where the logical clocks of the nodes begin, as in 40,0,33"), "0"),
    ];
  }

  #elections() {
    return [
      this.#text("initiators", say("Who calls"), say("all, or a list like 1,3@2.5: node 1, and node 3 at time 2.5"), say("as needed")),
      this.#presets(DETECTOR, "detector"),
      this.#text("bound", say("Bound"), say("How long a message takes at most, as the alarms assume"), say("longest latency")),
    ];
  }

  #order() {
    const order = choice([{ value: "fifo", title: say("as sent (FIFO)") }, { value: "any", title: say("any order") }], this.sim.order ?? "fifo", (value) => this.#set("order", value), { "data-test": "play-order" });
    return field(say("Messages arrive"), order, say("Whether messages between two nodes may overtake each other"));
  }

  #network() {
    return [
      this.#order(),
      this.#numeric("loss", say("Loss"), say("Probability that a message is lost"), { min: 0, max: 1, step: 0.01 }),
      this.#numeric("duplicate", say("Copies"), say("Probability that a message arrives twice"), { min: 0, max: 1, step: 0.01 }),
      this.#list("crash", say("Crashes"), say("P3@5 crashes P3 at time 5; P3@5..9 restarts it at 9; several with spaces")),
      this.#list("pause", say("Pauses"), say("P2@5..8 lets P2 stand still; several with spaces")),
      this.#list("partition", say("Cuts"), say("1,2|3,4@10..20 cuts both ways, 1,2>3@10..20 one way; several with spaces")),
      this.#seed(),
    ];
  }

  #seed() {
    const roll = h("button", { type: "button", class: "icon", title: say("Another seed"), "aria-label": say("Another seed"), "data-test": "play-dice",
      onclick: () => this.#set("seed", Math.floor(Math.random() * 100_000)) }, "⚄");
    const seed = entry(String(this.sim.seed ?? 1), (value) => this.#number("seed", value), { type: "number", min: 0, "data-test": "play-seed" });
    seed.classList.add("play-narrow");
    return h("div", { class: "play-seed" }, field(say("Seed"), seed, say("Determines all chance: the same seed, the same run")), roll);
  }

  /**
   * A choice among presets, or a text of one's own.
   * @param {Choice} what
   * @param {TextOption} option
   */
  #presets({ label, presets, hint }, option) {
    const value = this.sim[option] ?? presets[0][0];
    if (!presets.some(([preset]) => preset === value)) return this.#own(label, hint, option, value);
    const choices = presets.map(([value, title]) => ({ value, title }));
    choices.push({ value: "…", title: say("other …") });
    const select = choice(choices, value, (chosen) => {
      if (chosen === "…") {
        const own = this.#own(label, hint, option, value);
        holder.replaceWith(own);
        own.querySelector("input")?.focus();
      } else this.#set(option, chosen);
    }, { "data-test": `play-${option}` });
    const holder = field(label, select, hint);
    return holder;
  }

  /**
   * @param {string} label
   * @param {string} hint
   * @param {TextOption} option
   * @param {string} value
   */
  #own(label, hint, option, value) {
    const input = entry(value, (text) => this.#set(option, text), { "data-test": `play-${option}`, placeholder: say("empty: default") });
    return field(label, input, hint);
  }

  /**
   * @param {TextOption} option
   * @param {string} label
   * @param {string} hint
   * @param {string} placeholder
   */
  #text(option, label, hint, placeholder) {
    const input = entry(this.sim[option] ?? "", (text) => this.#set(option, text), { placeholder, "data-test": `play-${option}` });
    input.classList.add("play-short");
    return field(label, input, hint);
  }

  /**
   * @param {"entries" | "loss" | "duplicate"} option
   * @param {string} label
   * @param {string} hint
   * @param {Record<string, unknown>} bounds
   */
  #numeric(option, label, hint, bounds) {
    const input = entry(String(this.sim[option] ?? ""), (text) => this.#number(option, text), { type: "number", placeholder: option === "entries" ? "20" : "0", "data-test": `play-${option}`, ...bounds });
    input.classList.add("play-narrow");
    return field(label, input, hint);
  }

  /**
   * @param {"crash" | "pause" | "partition"} option
   * @param {string} label
   * @param {string} hint
   */
  #list(option, label, hint) {
    const input = entry((this.sim[option] ?? []).join(" "), (text) => this.#set(option, text.split(/\s+/).filter(Boolean)), { placeholder: say("none"), "data-test": `play-${option}` });
    input.classList.add("play-short");
    return field(label, input, hint);
  }

  /** @param {string} name */
  #algorithm(name) {
    // Layouts and workloads of one algorithm mean nothing to another.
    const { nodes, latency, order, seed } = this.sim;
    this.wanted({ algorithm: name, nodes, latency, order, seed });
  }

  /**
   * @param {"nodes" | "entries" | "loss" | "duplicate" | "seed"} option
   * @param {string} text
   */
  #number(option, text) {
    this.#set(option, text === "" || !Number.isFinite(Number(text)) ? undefined : Number(text));
  }

  /**
   * @param {keyof SimOptions} option
   * @param {string | string[] | number | undefined} value
   */
  #set(option, value) {
    const empty = value === undefined || value === "" || (Array.isArray(value) && value.length === 0);
    const sim = option === "nodes" ? ofAnySize(this.sim) : { ...this.sim };
    if (this.scripted) delete sim.workload;
    this.wanted({ ...sim, [option]: empty ? undefined : value });
  }
}

/**
 * The options without those that fit one number of nodes only.
 * @param {SimOptions} sim
 * @returns {SimOptions}
 */
function ofAnySize({ clocks, quorum, structure, ring, ...others }) {
  const any = (/** @type {string | undefined} */ value) => (value && (ONE_SIZE.has(value) || value.includes(",")) ? undefined : value);
  return { ...others, quorum: any(quorum), structure: any(structure), ring: any(ring) };
}
