// The clocks of the lectures at the events of a run, and how two events stand to each other.
import { h } from "../lib/dom.js";
import { getJson } from "../lib/api.js";
import { choice } from "../lib/form.js";
import { say, translated } from "../lib/language.js";
import { recordedAnswer, standalone } from "../lib/recorded.js";
import { AXIS, GUTTER } from "./camera.js";

/** @typedef {import("../wire.js").ClockStamp} ClockStamp */
/** @typedef {"" | "lamport" | "vector"} Kind */

/** Records whose clocks come at once. */
const CHUNK = 256;
/** With more records in sight there is no room for clocks. */
const MOST_RECORDS = 1500;
/** How far below its line a clock stands. */
const BELOW = 19;
/** Rows must be so high for clocks below them, and for two lines of these, so far apart. */
const LEAST_ROOM = 34;
const TWO_LINES = 60;
const LINE = 13;
const FONT = "11px ui-monospace, 'DejaVu Sans Mono', monospace";

/** The switch below the diagram, and what it lets appear. */
export class Clocks {
  /**
   * @param {import("./diagram.js").Scene} scene
   * @param {{ session: () => import("./session.js").Session | null, redraw: () => void, failed: (error: unknown) => void }} given
   */
  constructor(scene, given) {
    this.scene = scene;
    this.given = given;
    /** What is shown; nothing is asked for and nothing drawn as long as that is empty. @type {Kind} */
    this.kind = "";
    /** The records of the two chosen events, or -1. */
    this.chosen = [-1, -1];
    /** Those that a link names, until the run is known. @type {number[] | null} */
    this.wanted = null;
    /** Which of the two is chosen next. */
    this.turn = 0;
    /** @type {Map<number, (ClockStamp | null)[]>} */
    this.chunks = new Map();
    /** What is written of them, and where. @type {{ words: string, x: number, y: number, width: number }[]} */
    this.written = [];
    /** Of which history of which run they are. */
    this.of = "";
    this.choices = [{ value: "", title: say("off") }, { value: "lamport", title: "Lamport" }, { value: "vector", title: say("vector") }];
    this.switch = choice(this.choices, "", (value) => this.#switch(/** @type {Kind} */ (value)), { "data-test": "clocks-kind" });
    const take = (/** @type {number} */ which) => h("button", { type: "button", class: "quiet", "data-test": `clocks-take-${"ab"[which]}`, onclick: () => this.#take(which) }, `${"AB"[which]}: ${say("this step")}`);
    this.told = h("output", { class: "grow small", "data-test": "clocks-told" });
    this.question = h("span", { class: "toolbar grow", hidden: true }, take(0), take(1), this.told);
    this.element = h("div", { class: "toolbar play-clocks" },
      h("label", { class: "tick", title: say("The clocks of the lectures at every event, whatever clock the algorithm has itself") }, say("Clocks"), this.switch), this.question);
  }

  /** Offers the clocks of a run that is known, if they are told: not of a live cluster, nor in every page without a server. */
  offer() {
    const session = this.given.session();
    this.element.hidden = !session || session.id === "" || (standalone && recordedAnswer(path(session, 0)) === undefined);
  }

  /** What a link carries of it. @returns {string | null} */
  get noted() {
    return this.kind && [this.kind, ...(this.chosen.some((at) => at >= 0) ? this.chosen : [])].join(" ") || null;
  }

  /** Shows what a link carries. @param {string} noted */
  open(noted) {
    const [kind, ...chosen] = noted.split(" ");
    if (!this.choices.some(({ value }) => value === kind)) return;
    if (chosen.length === 2) this.wanted = chosen.map((at) => Number.parseInt(at, 10) || 0);
    this.switch.value = kind;
    this.#switch(/** @type {Kind} */ (kind));
  }

  /** Shows the next kind of clocks; after the last one none. */
  next() {
    if (this.element.hidden) return;
    const at = this.choices.findIndex(({ value }) => value === this.kind);
    this.switch.value = this.choices[(at + 1) % this.choices.length].value;
    this.#switch(/** @type {Kind} */ (this.switch.value));
  }

  /** @param {Kind} kind */
  #switch(kind) {
    this.kind = kind;
    this.question.hidden = kind === "";
    this.element.classList.toggle("on", kind !== "");
    this.#tell();
    this.given.redraw();
  }

  /** Forgets what belongs to another run, or to another history of it. @returns {import("./session.js").Session | null} */
  #session() {
    const session = this.given.session();
    const of = `${session?.id} ${session?.history} ${session?.model?.end ? "ended" : ""}`;
    if (of !== this.of) {
      const another = !of.startsWith(`${this.of.split(" ")[0]} `);
      this.of = of;
      this.chunks.clear();
      if (another || this.chosen.some((at) => at >= this.scene.model.length)) this.chosen = [-1, -1];
      if (this.wanted && session?.model?.end) [this.chosen, this.wanted] = [this.wanted, null];
      this.#tell();
    }
    return session;
  }

  /**
   * The clocks after a record: null if it is no event, undefined until the server has told them.
   * @param {number} at
   * @returns {ClockStamp | null | undefined}
   */
  #stamp(at) {
    const session = this.#session();
    const number = Math.floor(at / CHUNK);
    const known = this.chunks.get(number);
    // While the run is still being told, the last chunk grows.
    if (known || !session?.model?.end) return known?.[at % CHUNK];
    const of = this.of;
    this.chunks.set(number, []);
    getJson(path(session, number), session.stop.signal)
      .then((/** @type {import("../wire.js").ClockChunk} */ { stamps }) => {
        if (of !== this.of) return;
        this.chunks.set(number, stamps);
        this.#tell();
        this.given.redraw();
      })
      .catch((error) => { if (!session.stop.signal.aborted) this.given.failed(error); });
    return undefined;
  }

  /**
   * The events in sight, by node and moment, in the order of time.
   * @param {import("./diagram.js").Scene} scene
   * @returns {number[][]}
   */
  #moments({ model, camera, position, future }) {
    const first = model.positionAt(camera.t(GUTTER - 30) - 1);
    const last = Math.min(model.positionAt(camera.t(camera.width)), future ? Infinity : position);
    if (last - first > MOST_RECORDS) return [];
    /** @type {Map<string, number[]>} */
    const moments = new Map();
    for (let at = first; at < last; at++) {
      if (!this.#stamp(at)) continue;
      const { node, t } = model.records[at];
      const key = `${node} ${t}`;
      moments.set(key, [...(moments.get(key) ?? []), at]);
    }
    return [...moments.values()];
  }

  /**
   * Finds room for the clocks in sight.
   * @param {CanvasRenderingContext2D} ink
   * @param {import("./diagram.js").Scene} scene of the page, or of a picture
   */
  look(ink, scene) {
    const { model, camera } = scene;
    this.written = [];
    if (!this.kind || this.element.hidden || camera.rowHeight < LEAST_ROOM) return this.written;
    ink.font = FONT;
    /** Where the last clock of each line below each row ends. @type {number[][]} */
    const ends = Array.from({ length: camera.rows }, () => new Array(camera.rowHeight < TWO_LINES ? 1 : 2).fill(-Infinity));
    for (const events of this.#moments(scene)) {
      const { node, t } = model.records[events[0]];
      const words = this.#written(events);
      const { width } = ink.measureText(words);
      // The names of the nodes stand at the left.
      const x = Math.max(camera.x(t) - width / 2, GUTTER - 6);
      const line = ends[node - 1].findIndex((end) => x >= end + 5);
      if (line < 0 || camera.x(t) < GUTTER - 8) continue;
      ends[node - 1][line] = x + width;
      this.written.push({ words, x, y: camera.y(node - 1) + BELOW + line * LINE, width });
    }
    return this.written;
  }

  /**
   * @param {CanvasRenderingContext2D} ink
   * @param {import("./diagram.js").Scene} scene
   */
  draw(ink, scene) {
    const { colour } = scene;
    ink.font = FONT;
    ink.textAlign = "left";
    ink.lineWidth = 3;
    for (const { words, x, y } of this.written) {
      ink.strokeStyle = colour("panel");
      ink.strokeText(words, x, y);
      ink.fillStyle = colour("accent");
      ink.fillText(words, x, y);
    }
    if (this.kind && !this.element.hidden) this.chosen.forEach((at, which) => this.#mark(ink, scene, at, "AB"[which]));
  }

  /**
   * What the clocks say of the events of one moment.
   * @param {number[]} events
   */
  #written(events) {
    const first = /** @type {ClockStamp} */ (this.#stamp(events[0]));
    const last = /** @type {ClockStamp} */ (this.#stamp(events[events.length - 1]));
    if (this.kind === "vector") return `(${last.vector.join(",")})`;
    return first === last ? `${last.lamport}` : `${first.lamport}–${last.lamport}`;
  }

  /**
   * @param {CanvasRenderingContext2D} ink
   * @param {import("./diagram.js").Scene} scene
   * @param {number} at
   * @param {string} name
   */
  #mark(ink, { model, camera, colour }, at, name) {
    const record = model.records[at];
    if (!record) return;
    const x = camera.x(record.t);
    const y = camera.y(record.node - 1);
    ink.strokeStyle = colour("accent");
    ink.lineWidth = 2.5;
    ink.strokeRect(x - 7, y - 7, 14, 14);
    ink.fillStyle = colour("accent");
    ink.textAlign = "center";
    ink.fillText(name, x, y - 11);
  }

  /**
   * Chooses the event at a place, and another one of the same moment each time; says whether there is one.
   * @param {number} x
   * @param {number} y
   * @returns {boolean}
   */
  choose(x, y) {
    if (!this.kind || this.element.hidden || y < AXIS) return false;
    const { model, camera } = this.scene;
    const near = (/** @type {number[]} */ events) => {
      const { node, t } = model.records[events[0]];
      return Math.hypot(camera.x(t) - x, camera.y(node - 1) - y);
    };
    const moments = this.#moments(this.scene).filter((events) => near(events) < 9);
    const events = moments.sort((a, b) => near(a) - near(b))[0];
    if (!events) return false;
    const last = 1 - this.turn;
    const place = events.indexOf(this.chosen[last]);
    if (place >= 0 && events.length > 1) this.chosen[last] = events[(place + 1) % events.length];
    else {
      this.chosen[this.turn] = events[0];
      this.turn = last;
    }
    this.#tell();
    this.given.redraw();
    return true;
  }

  /** Chooses the event with which the present step begins. @param {number} which */
  #take(which) {
    const { model, position } = this.scene;
    const step = model.stepsBefore(position) - 1;
    if (step < 0) return;
    this.chosen[which] = model.steps[step];
    this.turn = 1 - which;
    this.#tell();
    this.given.redraw();
  }

  /** Says how the two chosen events stand to each other. */
  #tell() {
    if (!this.kind) return;
    const [a, b] = this.chosen;
    this.told.textContent = a < 0 || b < 0 ? say("Click two points of the diagram, or choose two steps, to see which happened before the other.") : this.#relation(a, b);
  }

  /**
   * @param {number} a
   * @param {number} b
   * @returns {string}
   */
  #relation(a, b) {
    const { records } = this.scene.model;
    const [one, other] = [this.#stamp(a), this.#stamp(b)];
    if (one === undefined || other === undefined) return "…";
    if (!one || !other) return say("What the network does to a message is no event of a node.");
    const own = (/** @type {number} */ at, /** @type {ClockStamp} */ stamp) => stamp.vector[records[at].node - 1];
    const name = (/** @type {number} */ at, /** @type {ClockStamp} */ stamp) => `P${records[at].node}.${own(at, stamp)} (${translated(records[at].text)}; ${stamp.lamport}; ${stamp.vector.join(",")})`;
    const names = [name(a, one), name(b, other)];
    if (a === b) return say("A and B are one event: {event}.", { event: names[0] });
    if (own(a, one) <= own(a, other)) return say("A happened before B: {events}.", { events: names.join(" → ") });
    if (own(b, other) <= own(b, one)) return say("B happened before A: {events}.", { events: names.reverse().join(" → ") });
    return say("A and B are concurrent: {events}.", { events: names.join(" ∥ ") });
  }
}

/**
 * @param {import("./session.js").Session} session
 * @param {number} chunk
 */
function path(session, chunk) {
  return session.path(`/clocks?chunk=${chunk}`);
}
