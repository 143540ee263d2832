// The picture of the topology: who is linked to whom, what each node knows, who waits for whom, what is under way.
import { h, s, clear } from "../lib/dom.js";
import { say } from "../lib/language.js";
import { badgesOf, mostBadges } from "./badges.js";
import { inWords as cutsInWords, isCut } from "./cuts.js";
import { Flying } from "./flying.js";
import { drawGrid, gridFor } from "./grids.js";
import { layoutOf } from "./layout.js";
import { overlap, stacked, Taken } from "./places.js";
import { stateWord } from "./hand.js";
import { lettersWide, rims, tip, tokenMark, waitArrow } from "./shapes.js";
import { dataOf, nodeName, rowOf } from "./values.js";
import { circleIn, inWords as circleInWords, waitsOf } from "./waits.js";

/** @typedef {import("../wire.js").NodeState} NodeState */

const SIZE = 100;
/** With more nodes than this, what they are is told by their discs alone. */
const MOST_SIGNED = 9;
/** With more nodes than this they wear no badges. */
const MOST_BADGED = 16;
/** With more nodes than this, whom they point to and wait for is not drawn. */
const MOST_POINTERS = 60;
/** With more than this, only those who wait for each other in a circle are drawn, and whom the selected node waits for. */
const MOST_WAITS = 24;
/** More links than this would be a red carpet. */
const MOST_CUT_LINKS = 40;
/** The quorums of so many who ask can be told apart. */
const MOST_QUORUMS = 4;
/** With more nodes than this, only the quorums that matter are drawn. */
const MOST_POLYGONS = 31;
/** How high letters are on a page, and how high a badge is, in letters. */
const LETTERS = 11;
const BADGE = 1.3;
/** Smaller than this, in pixels, few nodes' letters never are, however little room the picture has. */
const LEAST_PIXELS = 10;
/** Where a word ends that leaves room to the token, in radii of the disc from its middle. */
const ASIDE = 0.3;
/** The variable of the node that knows where the token is, and those that name a node above. */
const HOLDER = "holder";
const FATHER = "father";
const POINTERS = new Set([HOLDER, FATHER, "parent", "last"]);

/** The picture beside the diagram. */
export class Topology {
  /** @param {{ select: (row: number) => void, menu: (row: number, place: { x: number, y: number }) => void, resized: () => void }} wanted `resized`: what is shown must be shown again */
  constructor(wanted) {
    this.wanted = wanted;
    const layer = (/** @type {string} */ name) => s("g", { class: `topo-${name}` });
    this.edges = layer("edges");
    this.cutLinks = layer("cut-links");
    this.asking = layer("asking");
    this.pointers = layer("pointers");
    this.waits = layer("waits");
    this.chosen = layer("chosen");
    this.points = layer("points");
    this.flying = new Flying();
    this.svg = s("svg", { class: "play-topology-svg", role: "group", "aria-label": say("Topology"), "data-test": "topo-svg" },
      s("defs", {}, ["topo-tip", "topo-tip-strong", "topo-tip-wait", "topo-tip-circle"].map(tip)),
      this.edges, this.asking, this.cutLinks, this.pointers, this.chosen, this.waits, this.points, this.flying.element);
    this.caption = h("figcaption", { class: "small muted" });
    this.cuts = h("p", { class: "chip bad", "data-test": "play-cuts", hidden: true });
    this.circle = h("p", { class: "chip bad", "data-test": "play-circle", role: "status", hidden: true });
    this.grid = s("svg", { class: "play-grid", role: "img", "data-test": "play-grid" });
    this.gridCaption = h("p", { class: "small muted" });
    this.gridPlace = h("div", { class: "play-grid-place", hidden: true }, this.grid, this.gridCaption);
    this.element = h("figure", { class: "play-topology", "data-test": "play-topology" }, this.svg, this.caption, this.circle, this.cuts, this.gridPlace);
    /** @type {import("./layout.js").Layout | null} */
    this.layout = null;
    /** @type {import("../wire.js").RunHeader | null} */
    this.header = null;
    /** @type {{ group: SVGGElement, name: SVGElement, token: SVGElement, sign: SVGElement, badges: SVGGElement }[]} */
    this.marks = [];
    /** @type {import("../wire.js").VariableInfo[]} */
    this.variables = [];
    /** The variable that says whether the token is there. @type {string | null} */
    this.tokenField = null;
    /** The variable that names another node: where the token is, or who is above. @type {import("../wire.js").VariableInfo | null} */
    this.pointer = null;
    /** @type {ReturnType<typeof gridFor>} */
    this.gridOf = null;
    /** @type {import("./cuts.js").Cut[]} */
    this.cutNow = [];
    /** How high letters are, as the picture counts, and how high they must be at least, in heights of the window. */
    this.letters = LETTERS;
    this.least = 0;
    /** What the nodes wear, to be drawn anew only if it changes. */
    this.worn = "";
    /** What is in the way of what is written: badges, and with them what stands at arrows. @type {Taken | null} */
    this.taken = null;
    /** @type {Taken | null} */
    this.written = null;
    /** What is under way, as it was shown last. @type {{ model: import("./model.js").RunModel, position: number, now: number } | null} */
    this.flight = null;
    new ResizeObserver(() => this.#size()).observe(this.svg);
  }

  /** Lets letters be legible from afar: at least so high, in heights of the window. @param {number} least */
  magnify(least) {
    this.least = least;
    this.#name();
    this.#size();
  }

  /** Chooses the letters for the size that the picture has now. */
  #size() {
    const { width, height } = this.svg.viewBox.baseVal;
    const scale = Math.min(this.svg.clientWidth / width, this.svg.clientHeight / height);
    if (!this.header || !(scale > 0)) return;
    const least = this.header.nodes <= MOST_SIGNED ? LEAST_PIXELS : 0;
    const letters = Math.max(LETTERS, Math.max(this.least * innerHeight, least) / scale);
    if (Math.abs(letters - this.letters) < 0.2) return;
    this.letters = letters;
    this.#frame(this.header.nodes);
    this.#name();
    this.worn = "";
    this.wanted.resized();
  }

  /**
   * Draws what does not change in a run.
   * @param {import("../wire.js").RunHeader} header
   * @param {import("../wire.js").AlgorithmInfo | undefined} info
   */
  lay(header, info) {
    this.header = header;
    this.layout = layoutOf(header);
    this.variables = info?.variables ?? [];
    this.tokenField = this.variables.find((variable) => variable.symbol === "token")?.field ?? null;
    this.pointer = this.variables.find((variable) => POINTERS.has(variable.field) && header.topology.coordinator === null) ?? null;
    this.gridOf = gridFor(info, header.nodes);
    this.gridPlace.hidden = this.gridOf === null;
    this.element.classList.toggle("wide", this.isWide);
    const moves = this.pointer && !header.topology.tree && !header.topology.links;
    if (moves) this.layout = { ...this.layout, edges: [], name: say("Arrows: {symbol}", { symbol: this.pointer?.symbol }) };
    this.worn = "";
    this.flight = this.written = this.taken = null;
    for (const group of [this.edges, this.cutLinks, this.asking, this.pointers, this.waits, this.chosen, this.flying.element, this.points]) clear(group);
    this.cuts.textContent = "";
    this.cutNow = [];
    this.#frame(header.nodes);
    for (const { from, to, directed } of this.layout.edges) this.edges.append(this.#edge(from, to, directed ? "topo-tip" : null));
    if (header.nodes <= MOST_POLYGONS) this.layout.lines?.forEach((_, line) => this.edges.append(this.#line(line)));
    this.marks = this.layout.places.map((place, row) => this.#disc(place, row, header.nodes));
    this.#name();
    this.#say(-1);
  }

  /** Whether there is a grid that has no room beside the topology on a stage. */
  get isWide() {
    return this.gridOf?.isWide ?? false;
  }

  /** The grid as it is shown, if it is. @returns {{ svg: SVGSVGElement, caption: string } | null} */
  get gridShown() {
    return this.gridPlace.hidden ? null : { svg: this.grid, caption: this.gridCaption.textContent ?? "" };
  }

  get #badged() {
    return (this.header?.nodes ?? 0) <= MOST_BADGED ? mostBadges(this.variables, this.#drawn, this.#coordinated) : 0;
  }

  /** Fields that the grid shows. @returns {ReadonlySet<string>} */
  get #drawn() {
    return this.gridOf?.fields ?? new Set();
  }

  get #coordinated() {
    return this.header?.topology.coordinator !== null;
  }

  /** Lets the picture fill its place: the nodes, and what stands beside them. @param {number} nodes */
  #frame(nodes) {
    const { places } = /** @type {import("./layout.js").Layout} */ (this.layout);
    const beside = Math.min(this.#badged, 2) * BADGE * this.letters;
    const spare = this.#radius(nodes) + Math.max(nodes <= MOST_SIGNED ? 16 : 5, beside + 5);
    const top = Math.min(...places.map(({ y }) => y)) * SIZE - spare;
    const bottom = Math.max(...places.map(({ y }) => y)) * SIZE + spare;
    const half = this.#badged > 0 ? 190 : 130;
    this.svg.setAttribute("viewBox", `${-half} ${top} ${2 * half} ${bottom - top}`);
    this.svg.style.setProperty("--letters", `${this.letters}px`);
  }

  /** Names are as large as their discs allow, and as the letters if these must be read from afar. */
  #name() {
    const radius = this.#radius(this.marks.length);
    const fits = radius < 11 ? radius * 0.95 : Math.min(13, radius * 0.75);
    for (const { name } of this.marks) name.style.fontSize = `${this.least > 0 ? Math.max(fits, this.letters) : fits}px`;
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
    const token = tokenMark(radius);
    // Most links of an upper node go down: its sign stands above it.
    const sign = s("text", { class: "topo-sign", y: y < -0.1 ? -radius - 4 : radius + 3, dy: y < -0.1 ? 0 : "0.8em" });
    const badges = s("g", { class: "topo-badges" });
    const name = s("text", { class: "topo-name", dy: "0.35em" }, radius < 11 ? row + 1 : `P${row + 1}`);
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
    s("title", {}, `P${row + 1}`), s("circle", { class: "topo-disc", r: radius }), named ? name : null, nodes <= MOST_SIGNED ? sign : null, token, badges);
    this.points.append(group);
    return { group, name, token, sign, badges };
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
    return rims(this.#at(from), this.#at(to), this.#radius(this.header?.nodes ?? 1) + spare);
  }

  /** @param {number} row */
  #at(row) {
    const { x, y } = /** @type {import("./layout.js").Layout} */ (this.layout).places[row];
    return { x: x * SIZE, y: y * SIZE };
  }

  /** A quorum: a line of the plane, or a polygon. @param {number} line */
  #line(line) {
    const { lines, round } = /** @type {import("./layout.js").Layout} */ (this.layout);
    const points = (lines ?? [])[line];
    if (line !== round) return this.#polygon(points);
    const places = points.map((point) => /** @type {import("./layout.js").Layout} */ (this.layout).places[point]);
    const cx = places.reduce((sum, point) => sum + point.x, 0) / places.length;
    const cy = places.reduce((sum, point) => sum + point.y, 0) / places.length;
    return s("circle", { class: "topo-line", cx: cx * SIZE, cy: cy * SIZE, r: Math.hypot(places[0].x - cx, places[0].y - cy) * SIZE });
  }

  /** @param {number[]} rows */
  #polygon(rows) {
    const { places, round } = /** @type {import("./layout.js").Layout} */ (this.layout);
    return s("polygon", { class: round < 0 ? "topo-line faint" : "topo-line", points: rows.map((row) => `${places[row].x * SIZE},${places[row].y * SIZE}`).join(" ") });
  }

  /**
   * Shows a position: what the nodes are and know, who has the token, who waits for whom, what belongs to the selected node.
   * @param {import("./model.js").RunModel} model
   * @param {number} position
   * @param {NodeState[] | null} states
   * @param {NodeState[] | null} before as they were before the last step
   * @param {number} selected
   * @param {ReadonlySet<number>} related
   */
  show(model, position, states, before, selected, related) {
    const election = model.header.kind === "election";
    /** @type {import("./badges.js").Badge[][]} */
    const allWorn = [];
    this.marks.forEach(({ group, token, sign }, row) => {
      const phase = model.phase(row, position);
      const paused = model.isPaused(row, position);
      const word = paused ? say("paused") : stateWord(phase, election);
      group.setAttribute("class", `topo-point ${phase}${row === selected ? " selected" : ""}${related.has(row) ? " related" : ""}${this.#isApart(row) ? " apart" : ""}`);
      const worn = this.#badged > 0 && states ? badgesOf(states[row], phase === "waiting" || phase === "inside", { variables: this.variables, coordinated: this.#coordinated, drawn: this.#drawn }) : [];
      group.setAttribute("aria-label", [`P${row + 1}, ${word}`, ...worn.map(({ text, title }) => `${title}: ${text}`)].join("; "));
      allWorn.push(worn);
      sign.textContent = (phase === "idle" && !paused) || worn.length > 0 ? "" : word;
      const hasToken = this.#hasToken(states?.[row]);
      token.setAttribute("visibility", hasToken ? "visible" : "hidden");
      // Above its node a word leaves the right corner to the token.
      const isAside = hasToken && sign.getAttribute("dy") === "0";
      sign.style.textAnchor = isAside ? "end" : "";
      sign.setAttribute("x", String(isAside ? ASIDE * this.#radius(this.marks.length) : 0));
    });
    // What the last step changed is written first: it has the best place.
    this.#wear(allWorn, (row) => Number(row === selected) * 2 + Number(before !== null && states !== null && states[row] !== before[row]));
    this.#point(states);
    this.#wait(model, position, states, selected);
    this.#ask(model, position, selected);
    this.#choose(selected);
    // What is written beside the nodes leaves other room to what is under way.
    if (this.flight) this.fly(this.flight.model, this.flight.position, this.flight.now);
    // Of a live cluster it is not known what the nodes know.
    this.gridPlace.hidden = !this.gridOf || (states !== null && states.every(({ vars }) => vars.length === 0));
    if (!this.gridOf || !states) return;
    const grid = this.gridOf.of(states);
    drawGrid(this.grid, grid, before ? this.gridOf.of(before) : null);
    this.gridCaption.textContent = grid.caption;
  }

  /**
   * Puts badges beside their nodes, as far as they have room.
   * @param {import("./badges.js").Badge[][]} worn by each node
   * @param {(row: number) => number} weight of a node: the heaviest are first
   */
  #wear(worn, weight) {
    const rows = [...worn.keys()].filter((row) => worn[row].length > 0).sort((a, b) => weight(b) - weight(a) || a - b);
    const key = `${this.letters} ${rows.map((row) => `${row}:${worn[row].map(({ text }) => text).join("|")}`).join(" ")}`;
    if (this.worn === key) return;
    this.worn = key;
    const { letters } = this;
    const high = BADGE * letters;
    this.taken = this.#free();
    for (const { badges } of this.marks) clear(badges);
    for (const row of rows) {
      const at = this.#at(row);
      const badges = worn[row].map((badge) => ({ ...badge, width: lettersWide(badge.text, letters) + 8 }));
      for (const { badge: { text, kind, title, width }, box } of stacked(at, badges, high, this.taken)) {
        this.marks[row].badges.append(s("g", { class: `topo-badge ${kind}`, transform: `translate(${box.x - at.x} ${box.y - at.y})` }, s("title", {}, title),
          s("rect", { width, height: box.height, rx: 3 }), s("text", { x: width / 2, y: high / 2 + letters * 0.33 }, text)));
      }
    }
  }

  /** The room between the nodes. */
  #free() {
    const { x, y, width, height } = this.svg.viewBox.baseVal;
    return new Taken([...this.marks.keys()].map((row) => this.#at(row)), this.#radius(this.marks.length), { x, y, width, height });
  }

  /** The room that nodes, badges and words leave. */
  #unwritten() {
    const free = Object.assign(this.#free(), { boxes: [...(this.written?.boxes ?? []), ...this.#signs().map(({ box }) => box)] });
    // Where nodes have no names, nothing is hidden; from afar their names are larger than their discs.
    if (!this.marks[0]?.name.isConnected) free.discs = [];
    else free.radius = Math.max(free.radius, lettersWide(nodeName(this.marks.length - 1), this.letters) / 2);
    return free;
  }

  /** What is written below or above nodes, and where. @returns {{ sign: SVGElement, box: import("./places.js").Box }[]} */
  #signs() {
    const off = this.#radius(this.marks.length) + 3;
    return this.marks.flatMap(({ sign }, row) => {
      if (!sign.isConnected || !sign.textContent) return [];
      const { x, y } = this.#at(row);
      const [width, height] = [lettersWide(sign.textContent, this.letters + 1), this.letters * 1.2];
      const left = x + Number(sign.getAttribute("x")) - (sign.style.textAnchor === "end" ? width : width / 2);
      return [{ sign, box: { x: left, y: sign.getAttribute("dy") !== "0" ? y + off : y - off - height, width, height } }];
    });
  }

  /** Draws whom each node points to. @param {NodeState[] | null} states */
  #point(states) {
    const { pointer } = this;
    if (!pointer || !states || states.length > MOST_POINTERS) return;
    clear(this.pointers);
    states.forEach((state, row) => {
      const to = rowOf(dataOf(state, pointer.field));
      if (to >= 0 && to < states.length && to !== row) this.pointers.append(this.#edge(row, to, "topo-tip-strong"));
    });
  }

  /**
   * Draws who waits for whom; those who do so in a circle stand out.
   * @param {import("./model.js").RunModel} model
   * @param {number} position
   * @param {NodeState[] | null} states
   * @param {number} selected
   */
  #wait(model, position, states, selected) {
    clear(this.waits);
    const waits = states && states.length <= MOST_POINTERS ? waitsOf(model, position, states) : [];
    const circle = circleIn(waits);
    const inCircle = new Set(circle.map((row, k) => `${row} ${circle[(k + 1) % circle.length]}`));
    const isInCircle = (/** @type {import("./waits.js").Wait} */ { from, to }) => inCircle.has(`${from} ${to}`);
    // Of many only those are drawn that stand in each other's way, and the selected node's.
    const shown = waits.length <= MOST_WAITS ? waits : waits.filter((wait) => isInCircle(wait) || wait.from === selected || wait.to === selected);
    const written = Object.assign(this.#free(), { boxes: [...(this.taken?.boxes ?? [])] });
    this.written = written;
    for (const wait of shown.toSorted((a, b) => Number(isInCircle(b)) - Number(isInCircle(a)))) this.waits.prepend(this.#waiting(wait, isInCircle(wait), written));
    this.circle.hidden = circle.length === 0;
    this.circle.textContent = circle.length === 0 ? "" : circleInWords(circle, model.inFlight(position, 1).length === 0);
  }

  /**
   * @param {import("./waits.js").Wait} wait
   * @param {boolean} isInCircle
   * @param {Taken} written
   */
  #waiting({ from, to, via, silent }, isInCircle, written) {
    const arbiter = via === undefined ? undefined : nodeName(via);
    const words = `${say("{one} waits for {other}", { one: nodeName(from), other: nodeName(to) })}${arbiter ? say(", which has the grant of {arbiter}", { arbiter }) : ""}${silent ? say(", whose answer will not come") : ""}`;
    const drawn = waitArrow(this.#at(from), this.#at(to), this.#radius(this.marks.length) + 3, {
      words, via: arbiter, hasRoom: (at) => written.take([{ x: at.x - lettersWide(arbiter ?? "", this.letters) / 2, y: at.y - this.letters / 2, width: lettersWide(arbiter ?? "", this.letters), height: this.letters }]), look: `${isInCircle ? "circle " : ""}${silent ? "silent" : ""}`, head: isInCircle ? "topo-tip-circle" : "topo-tip-wait", around: this.#coordinated,
    });
    drawn.dataset.wait = `${from + 1} ${to + 1}`;
    return drawn;
  }

  /**
   * Shows the quorums of those who wait or are inside, unless a node is selected.
   * @param {import("./model.js").RunModel} model
   * @param {number} position
   * @param {number} selected
   */
  #ask(model, position, selected) {
    clear(this.asking);
    const { quorums } = model.header.topology;
    if (!quorums || selected >= 0) return;
    const asking = quorums.flatMap((quorum, row) => {
      const phase = model.phase(row, position);
      return phase === "waiting" || phase === "inside" ? [{ quorum, row, phase }] : [];
    });
    if (asking.length > MOST_QUORUMS) return;
    for (const { quorum, row, phase } of asking) {
      const drawn = this.layout?.lines ? this.#line(row) : this.#polygon(quorum.map((node) => node - 1));
      drawn.classList.add(phase);
      drawn.append(s("title", {}, say("The quorum of P{node}", { node: row + 1 })));
      this.asking.append(drawn);
    }
  }

  /**
   * Shows where the network is cut.
   * @param {import("./cuts.js").Cut[]} cuts
   */
  cut(cuts) {
    const words = cutsInWords(cuts);
    if (this.cuts.textContent === words) return;
    this.cutNow = cuts;
    this.cuts.textContent = words;
    this.cuts.hidden = cuts.length === 0;
    clear(this.cutLinks);
    const rows = [...this.marks.keys()];
    const edges = this.layout?.edges ?? [];
    const links = (edges.length > 0 ? edges : rows.flatMap((from) => rows.slice(from + 1).map((to) => ({ from, to })))).filter(({ from, to }) => isCut(cuts, from, to) || isCut(cuts, to, from));
    for (const { from, to } of links.length > MOST_CUT_LINKS ? [] : links) {
      const { x1, y1, x2, y2 } = this.#ends(from, to, 0);
      const [x, y] = [(x1 + x2) / 2, (y1 + y2) / 2];
      this.cutLinks.append(s("line", { x1, y1, x2, y2 }), s("path", { d: `M${x - 5} ${y - 5}l10 10m0 -10l-10 10` }));
    }
    this.marks.forEach(({ group }, row) => group.classList.toggle("apart", this.#isApart(row)));
    this.#say(-1);
  }

  /** Whether a node is on the smaller side of a cut. @param {number} row */
  #isApart(row) {
    return this.cutNow.some(({ from, to }) => (from.length <= to.length ? from : to).includes(row + 1));
  }

  /** @param {NodeState | undefined} state */
  #hasToken(state) {
    if (!state || !state.up) return false;
    // Neilsen and Mizuno's variable is false while its node is inside.
    const holding = dataOf(state, "holding");
    if (holding !== undefined) return holding === true || dataOf(state, "phase") === "inside";
    return this.tokenField ? dataOf(state, this.tokenField) === true : this.#pointsToNobody(state);
  }

  /**
   * Whether the token is here by what the node points to: Raymond's holder points to nobody, and so does the
   * idle root of Naimi and Tréhel, whose token is else with who is inside.
   * @param {NodeState} state
   */
  #pointsToNobody(state) {
    const field = this.pointer?.field;
    const nobody = field !== undefined && dataOf(state, field) === null;
    if (field === HOLDER) return nobody;
    if (field !== FATHER) return false;
    const phase = dataOf(state, "phase");
    return phase === "inside" || (nobody && phase === "idle");
  }

  /** Says what is shown. @param {number} selected */
  #say(selected) {
    if (!this.header || !this.layout) return;
    const { name, whole } = this.layout;
    const shown = whole && this.cutNow.length > 0 ? say("Some nodes do not reach others") : name;
    this.caption.textContent = selected < 0 ? shown : ofSelected(selected, this.header.topology) || shown;
  }

  /** @param {number} selected */
  #choose(selected) {
    clear(this.chosen);
    this.#say(selected);
    if (!this.header || !this.layout || selected < 0) return;
    const { quorums, request, inform } = this.header.topology;
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
    this.flight = { model, position, now };
    if (!this.layout) return;
    this.flying.show(model, position, now, (from, to) => this.#ends(from, to, 4), this.letters, () => this.#unwritten());
    // Half a word tells less than the look of its node.
    for (const { sign } of this.marks) sign.removeAttribute("visibility");
    for (const { sign, box } of this.#signs()) if (this.flying.boxes.some((pill) => overlap(pill, box))) sign.setAttribute("visibility", "hidden");
  }
}

/**
 * What belongs to a node, in words.
 * @param {number} row
 * @param {import("../wire.js").Topology} topology
 */
function ofSelected(row, { quorums, request, inform }) {
  if (quorums) return say("The quorum of P{node}: {members}", { node: row + 1, members: list(quorums[row]) });
  if (request && inform) return say("P{node} asks {asked}, informs (dashed) {told}", { node: row + 1, asked: list(request[row]), told: list(inform[row]) });
  return "";
}

/** @param {number[]} nodes */
function list(nodes) {
  return nodes.map((node) => `P${node}`).join(", ") || say("nobody");
}
