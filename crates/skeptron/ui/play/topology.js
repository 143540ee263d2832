// The picture of the topology: who is linked to whom, where the token is, what is under way.
import { h, s, clear } from "../lib/dom.js";
import { layoutOf } from "./layout.js";
import { stateWord } from "./hand.js";

const SIZE = 100;
/** More messages than this are not shown flying. */
const MOST_FLYING = 80;
const MOST_NAMED = 3;
/** With more nodes than this, what they are is told by their discs alone. */
const MOST_SIGNED = 9;
/** With more nodes than this, whom they point to is not drawn. */
const MOST_POINTERS = 60;
/** The variable of the node that knows where the token is, and those that name a node above. */
const HOLDER = "holder";
const FATHER = "father";
const POINTERS = new Set([HOLDER, FATHER, "parent"]);
const NOBODY = "–";
/** Values that say that the token is elsewhere. */
const ABSENT = new Set(["", "no", "none", "false", "–", "-", "∅", "0"]);

/** The picture beside the diagram. */
export class Topology {
  /** @param {{ select: (row: number) => void, menu: (row: number, place: { x: number, y: number }) => void }} wanted */
  constructor(wanted) {
    this.wanted = wanted;
    this.edges = s("g", { class: "topo-edges" });
    this.pointers = s("g", { class: "topo-pointers" });
    this.chosen = s("g", { class: "topo-chosen" });
    this.flying = s("g", { class: "topo-flying" });
    this.points = s("g", { class: "topo-points" });
    this.svg = s("svg", { class: "play-topology-svg", role: "group", "aria-label": "Topology" },
      s("defs", {}, tip("topo-tip"), tip("topo-tip-strong")), this.edges, this.pointers, this.chosen, this.points, this.flying);
    this.caption = h("figcaption", { class: "small muted" });
    this.cuts = h("p", { class: "chip bad", hidden: true, "data-test": "play-cuts" });
    this.element = h("figure", { class: "play-topology", "data-test": "play-topology" }, this.svg, this.caption, this.cuts);
    /** @type {import("./layout.js").Layout | null} */
    this.layout = null;
    /** @type {import("../wire.js").RunHeader | null} */
    this.header = null;
    /** @type {{ group: SVGGElement, token: SVGElement, sign: SVGElement }[]} */
    this.marks = [];
    /** The variable that says whether the token is there. @type {string | null} */
    this.tokenField = null;
    /** The variable that names another node: where the token is, or who is above. @type {import("../wire.js").VariableInfo | null} */
    this.pointer = null;
  }

  /**
   * Draws what does not change in a run.
   * @param {import("../wire.js").RunHeader} header
   * @param {import("../wire.js").AlgorithmInfo | undefined} info
   */
  lay(header, info) {
    this.header = header;
    this.layout = layoutOf(header);
    this.tokenField = info?.variables.find((variable) => variable.symbol === "token")?.field ?? null;
    this.pointer = info?.variables.find((variable) => POINTERS.has(variable.field) && header.topology.coordinator === null) ?? null;
    const moves = this.pointer && !header.topology.tree && !header.topology.links;
    if (moves) this.layout = { ...this.layout, edges: [], name: `Arrows: ${this.pointer?.symbol}` };
    this.caption.textContent = this.layout.name;
    for (const group of [this.edges, this.pointers, this.chosen, this.flying, this.points]) clear(group);
    this.#frame(header.nodes);
    for (const { from, to, directed } of this.layout.edges) this.edges.append(this.#edge(from, to, directed ? "topo-tip" : null));
    this.layout.lines?.forEach((_, line) => { if (header.nodes <= 7) this.edges.append(this.#line(line)); });
    this.marks = this.layout.places.map((place, row) => this.#disc(place, row, header.nodes));
  }

  /** Lets the picture fill its place: the nodes, and their signs above and below them. @param {number} nodes */
  #frame(nodes) {
    const { places } = /** @type {import("./layout.js").Layout} */ (this.layout);
    const spare = this.#radius(nodes) + (nodes <= MOST_SIGNED ? 15 : 5);
    const top = Math.min(...places.map(({ y }) => y)) * SIZE - spare;
    const bottom = Math.max(...places.map(({ y }) => y)) * SIZE + spare;
    this.svg.setAttribute("viewBox", `-130 ${top} 260 ${bottom - top}`);
  }

  /** @param {number} nodes */
  #radius(nodes) {
    return Math.max(2.5, Math.min(19, 190 / nodes));
  }

  /**
   * @param {import("./layout.js").Place} place
   * @param {number} row
   * @param {number} nodes
   */
  #disc({ x, y }, row, nodes) {
    const radius = this.#radius(nodes);
    const named = radius >= 6;
    const token = s("circle", { class: "topo-token", cx: radius * 0.85, cy: -radius * 0.85, r: Math.max(2.5, radius * 0.45), visibility: "hidden" });
    // Most links of an upper node go down: its sign stands above it.
    const sign = s("text", { class: "topo-sign", y: y < -0.1 ? -radius - 4 : radius + 12 });
    const name = s("text", { class: "topo-name", dy: "0.35em" }, radius < 11 ? row + 1 : `P${row + 1}`);
    name.style.fontSize = `${radius < 11 ? radius * 0.95 : Math.min(13, radius * 0.75)}px`;
    const group = s("g", { class: "topo-point", transform: `translate(${x * SIZE} ${y * SIZE})`, tabindex: named ? 0 : -1, role: "button", "aria-label": `P${row + 1}`, "data-test": `topo-${row + 1}`,
      onclick: () => this.wanted.select(row),
      onkeydown: (/** @type {KeyboardEvent} */ event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        event.stopPropagation();
        this.wanted.select(row);
      },
      oncontextmenu: (/** @type {MouseEvent} */ event) => {
        event.preventDefault();
        this.wanted.menu(row, { x: event.clientX, y: event.clientY });
      } },
    s("title", {}, `P${row + 1}`), s("circle", { class: "topo-disc", r: radius }), named ? name : null, nodes <= MOST_SIGNED ? sign : null, token);
    this.points.append(group);
    return { group, token, sign };
  }

  /**
   * @param {number} from
   * @param {number} to
   * @param {string | null} head
   */
  #edge(from, to, head) {
    return s("line", { ...this.#ends(from, to, head ? 2 : 0), "marker-end": head ? `url(#${head})` : undefined });
  }

  /**
   * Where an edge begins and ends: at the rims of the nodes.
   * @param {number} from
   * @param {number} to
   * @param {number} spare
   */
  #ends(from, to, spare) {
    const { places } = /** @type {import("./layout.js").Layout} */ (this.layout);
    const radius = this.#radius(places.length) + spare;
    const a = places[from];
    const b = places[to];
    const dx = (b.x - a.x) * SIZE;
    const dy = (b.y - a.y) * SIZE;
    const length = Math.hypot(dx, dy) || 1;
    const ux = dx / length;
    const uy = dy / length;
    return { x1: a.x * SIZE + ux * radius, y1: a.y * SIZE + uy * radius, x2: b.x * SIZE - ux * radius, y2: b.y * SIZE - uy * radius };
  }

  /** @param {number} line */
  #line(line) {
    const { places, lines, round } = /** @type {import("./layout.js").Layout} */ (this.layout);
    const points = (lines ?? [])[line].map((point) => places[point]);
    if (line === round) {
      const cx = points.reduce((sum, point) => sum + point.x, 0) / points.length;
      const cy = points.reduce((sum, point) => sum + point.y, 0) / points.length;
      return s("circle", { class: "topo-line", cx: cx * SIZE, cy: cy * SIZE, r: Math.hypot(points[0].x - cx, points[0].y - cy) * SIZE });
    }
    return s("polyline", { class: "topo-line", points: points.map(({ x, y }) => `${x * SIZE},${y * SIZE}`).join(" ") });
  }

  /**
   * Shows a position: what the nodes are, who has the token, what belongs to the selected node.
   * @param {import("./model.js").RunModel} model
   * @param {number} position
   * @param {import("../wire.js").NodeState[] | null} states
   * @param {number} selected
   * @param {ReadonlySet<number>} related
   */
  show(model, position, states, selected, related) {
    const election = model.header.kind === "election";
    this.marks.forEach(({ group, token, sign }, row) => {
      const phase = model.phase(row, position);
      const paused = model.isPaused(row, position);
      const word = paused ? "paused" : stateWord(phase, election);
      group.setAttribute("class", `topo-point ${phase}${row === selected ? " selected" : ""}${related.has(row) ? " related" : ""}`);
      group.setAttribute("aria-label", `P${row + 1}, ${word}`);
      sign.textContent = word === "idle" ? "" : word;
      token.setAttribute("visibility", this.#hasToken(states?.[row]) ? "visible" : "hidden");
    });
    this.#point(states);
    this.#choose(selected);
  }

  /** Draws whom each node points to. @param {import("../wire.js").NodeState[] | null} states */
  #point(states) {
    if (!this.pointer || !states || states.length > MOST_POINTERS) return;
    clear(this.pointers);
    states.forEach((state, row) => {
      const to = Number(/^P(\d+)$/.exec(valueOf(state, this.pointer?.field) ?? "")?.[1]);
      if (to >= 1 && to <= states.length && to - 1 !== row) this.pointers.append(this.#edge(row, to - 1, "topo-tip-strong"));
    });
  }

  /**
   * Says which cuts there are.
   * @param {{ from: number[], to: number[], both_ways: boolean }[]} cuts
   */
  tellCuts(cuts) {
    this.cuts.textContent = cuts.map(({ from, to, both_ways }) => `Cut: ${list(from)} ${both_ways ? "|" : ">"} ${list(to)}`).join("; ");
    this.cuts.hidden = cuts.length === 0;
  }

  /** @param {import("../wire.js").NodeState | undefined} state */
  #hasToken(state) {
    if (!state || !state.up) return false;
    if (!this.tokenField) return this.#pointsToNobody(state);
    const value = valueOf(state, this.tokenField);
    return value !== undefined && !ABSENT.has(value.trim().toLowerCase());
  }

  /**
   * Whether the token is here by what the node points to: Raymond's holder points to nobody, and so does the
   * idle root of Naimi and Tréhel, whose token is else with who is inside.
   * @param {import("../wire.js").NodeState} state
   */
  #pointsToNobody(state) {
    const field = this.pointer?.field;
    const nobody = field !== undefined && valueOf(state, field) === NOBODY;
    if (field === HOLDER) return nobody;
    if (field !== FATHER) return false;
    const phase = valueOf(state, "phase");
    return phase === "inside" || (nobody && phase === "idle");
  }

  /** @param {number} selected */
  #choose(selected) {
    clear(this.chosen);
    if (!this.header || !this.layout) return;
    const { quorums, request, inform } = this.header.topology;
    this.caption.textContent = selected < 0 ? this.layout.name : ofSelected(selected, this.header.topology) || this.layout.name;
    if (selected < 0) return;
    if (this.layout.lines && quorums) {
      this.layout.lines.forEach((points, line) => {
        if (!points.includes(selected) && line !== selected) return;
        const drawn = this.#line(line);
        drawn.classList.add(line === selected ? "own" : "other");
        this.chosen.append(drawn);
      });
      return;
    }
    const arrows = (/** @type {number[] | undefined} */ nodes, /** @type {string} */ kind) => {
      for (const node of nodes ?? []) {
        if (node - 1 === selected) continue;
        const edge = this.#edge(selected, node - 1, "topo-tip-strong");
        edge.setAttribute("class", kind);
        this.chosen.append(edge);
      }
    };
    arrows(quorums?.[selected], "own");
    arrows(request?.[selected], "own");
    arrows(inform?.[selected], "inform");
  }

  /**
   * Lets what is under way move to where it is at a time.
   * @param {import("./model.js").RunModel} model
   * @param {number} position
   * @param {number} now
   */
  fly(model, position, now) {
    if (!this.layout) return;
    const flying = model.inFlight(position, MOST_FLYING);
    while (this.flying.children.length < flying.length) this.flying.append(s("g", {}, s("circle", { r: 4.5 }), s("text", { y: 4 })));
    while (this.flying.children.length > flying.length) this.flying.lastElementChild?.remove();
    const { messages } = model;
    flying.forEach((message, k) => {
      const part = model.progress(message, now);
      const { x1, y1, x2, y2 } = this.#ends(messages.from[message], messages.to[message], 4);
      const group = /** @type {SVGGElement} */ (this.flying.children[k]);
      const x = x1 + (x2 - x1) * part;
      group.setAttribute("transform", `translate(${x} ${y1 + (y2 - y1) * part})`);
      group.style.fill = `var(--series-${(messages.label[message] % 8) + 1})`;
      const name = flying.length <= MOST_NAMED ? messages.labels[messages.label[message]] : "";
      const text = /** @type {SVGTextElement} */ (group.lastElementChild);
      if (text.textContent !== name) text.textContent = name;
      // Away from the nearer node, whose name it would hide.
      const leftwards = part < 0.5 ? x2 < x1 : x1 < x2;
      text.setAttribute("x", leftwards ? "-8" : "8");
      text.style.textAnchor = leftwards ? "end" : "start";
    });
  }
}

/**
 * What belongs to a node, in words.
 * @param {number} row
 * @param {import("../wire.js").Topology} topology
 */
function ofSelected(row, { quorums, request, inform }) {
  if (quorums) return `The quorum of P${row + 1}: ${list(quorums[row])}`;
  if (request && inform) return `P${row + 1} asks ${list(request[row])}, informs (dashed) ${list(inform[row])}`;
  return "";
}

/**
 * @param {import("../wire.js").NodeState} state
 * @param {string | undefined} name
 */
function valueOf(state, name) {
  return state.vars.find(({ field }) => field === name)?.value;
}

/** @param {number[]} nodes */
function list(nodes) {
  return nodes.map((node) => `P${node}`).join(", ") || "nobody";
}

/** @param {string} id */
function tip(id) {
  return s("marker", { id, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto-start-reverse" }, s("path", { d: "M0 0 8 4 0 8z" }));
}
