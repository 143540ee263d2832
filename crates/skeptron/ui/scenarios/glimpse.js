// A small still picture of a run: the lines of the nodes, the messages between them, who waits and who is
// inside. It is drawn when its card is first seen, because every picture is a run of the server.
import { s } from "../lib/dom.js";
import { kindColour } from "../lib/theme.js";
import { postJson, stream } from "../lib/api.js";

/** @typedef {import("../wire.js").RunHeader} RunHeader */
/** @typedef {import("../wire.js").RunRecord} RunRecord */

/** Runs that are asked for at the same time. */
const AT_ONCE = 3;
/** What is drawn of a long run: more would be a grey carpet. */
const MOST_RECORDS = 600;
const WIDTH = 320;
const HEIGHT = 132;
const MARGIN = 10;
/** Where the lines begin if they have names. */
const NAMES = 30;

/**
 * Draws pictures into places once they are seen.
 * @returns {{ watch: (place: HTMLElement, scenario: string) => void, end: () => void }}
 */
export function glimpses() {
  const ending = new AbortController();
  /** @type {WeakMap<Element, string>} */
  const scenarios = new WeakMap();
  /** @type {HTMLElement[]} */
  const waiting = [];
  let busy = 0;
  const next = () => {
    if (busy >= AT_ONCE || ending.signal.aborted) return;
    const place = waiting.shift();
    if (!place) return;
    busy += 1;
    draw(place, scenarios.get(place) ?? "", ending.signal).finally(() => {
      busy -= 1;
      next();
    });
    next();
  };
  const observer = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      observer.unobserve(target);
      waiting.push(/** @type {HTMLElement} */ (target));
    }
    next();
  }, { rootMargin: "100px" });
  return {
    watch: (place, scenario) => {
      scenarios.set(place, scenario);
      observer.observe(place);
    },
    end: () => {
      ending.abort();
      observer.disconnect();
    },
  };
}

/**
 * A picture is an ornament: without it the card still says everything, so failing is not an error.
 * @param {HTMLElement} place
 * @param {string} scenario
 * @param {AbortSignal} signal
 */
async function draw(place, scenario, signal) {
  try {
    const { header, records } = await beginningOf(scenario, signal);
    if (header && !signal.aborted) place.replaceChildren(picture(header, records));
  } catch {
    place.classList.add("empty");
  }
}

/**
 * @param {string} scenario
 * @param {AbortSignal} signal
 * @returns {Promise<{ header: RunHeader | null, records: RunRecord[] }>}
 */
async function beginningOf(scenario, signal) {
  /** @type {import("../wire.js").RunMade} */
  const made = await postJson("/lab/runs", { scenario }, { signal });
  const enough = new AbortController();
  const stop = () => enough.abort();
  signal.addEventListener("abort", stop, { once: true });
  /** @type {RunHeader | null} */
  let header = null;
  /** @type {RunRecord[]} */
  const records = [];
  await stream(`/lab/runs/${made.id}`, { signal: enough.signal, on: {
    run: (/** @type {RunHeader} */ run) => { header = run; },
    records: (/** @type {import("../wire.js").RecordBatch} */ batch) => {
      records.push(...batch.records.slice(0, MOST_RECORDS - records.length));
      if (records.length >= MOST_RECORDS) stop();
    },
    end: stop,
  } });
  signal.removeEventListener("abort", stop);
  return { header, records };
}

/**
 * Some records of a run, drawn.
 * @param {RunHeader} header
 * @param {RunRecord[]} records
 * @param {boolean} [named] whether the lines of the nodes have their names
 * @returns {SVGSVGElement}
 */
export function picture(header, records, named = false) {
  const last = Math.max(1, records.at(-1)?.t ?? 1);
  const left = named ? NAMES : MARGIN;
  const x = (/** @type {number} */ t) => left + (t / last) * (WIDTH - MARGIN - left);
  const gap = (HEIGHT - 2 * MARGIN) / Math.max(1, header.nodes - 1);
  const y = (/** @type {number} */ node) => (header.nodes === 1 ? HEIGHT / 2 : MARGIN + (node - 1) * gap);
  const nodes = Array.from({ length: header.nodes }, (_, index) => index + 1);
  const thick = Math.min(8, gap * 0.6);
  const marks = new Marks(x, y, thick, last);
  for (const record of records) marks.take(record);
  return s("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "glimpse-picture" },
    nodes.map((node) => s("line", { class: "life", x1: left, x2: WIDTH - MARGIN, y1: y(node), y2: y(node) })),
    named ? nodes.map((node) => s("text", { class: "name", x: left - 6, y: y(node), dy: "0.35em" }, `P${node}`)) : null,
    marks.finished());
}

/** What lies on the lines of the nodes, gathered record by record. */
class Marks {
  /** @type {SVGElement[]} */
  #bars = [];
  /** @type {SVGElement[]} */
  #arrows = [];
  /** @type {SVGElement[]} */
  #points = [];
  /** Since when a node is as its class says. @type {Map<number, { from: number, state: string }>} */
  #since = new Map();
  /** Messages on their way. @type {Map<number, RunRecord>} */
  #flying = new Map();
  #x;
  #y;
  #thick;
  #last;

  /**
   * @param {(t: number) => number} x
   * @param {(node: number) => number} y
   * @param {number} thick
   * @param {number} last
   */
  constructor(x, y, thick, last) {
    this.#x = x;
    this.#y = y;
    this.#thick = thick;
    this.#last = last;
  }

  /** @param {RunRecord} record */
  take(record) {
    const { t, node, kind, message } = record;
    if (kind === "request") this.#becomes(node, t, "waiting");
    else if (kind === "enter") this.#becomes(node, t, "inside");
    else if (kind === "release" || kind === "restart") this.#becomes(node, t, null);
    else if (kind === "crash") this.#crashes(node, t);
    else if (kind === "send" && message !== undefined) this.#flying.set(message, record);
    else if (kind === "deliver" && message !== undefined) this.#arrives(message, t, node);
    else if (kind === "lose" && message !== undefined) this.#isLost(message);
    else if (kind === "violation") this.#cross("violated", node, t);
    else if (kind === "elect" && record.leader === node) {
      this.#points.push(s("circle", { class: "leads", cx: this.#x(t), cy: this.#y(node), r: 4 }));
    }
  }

  /** Everything in the order of painting. @returns {SVGElement[]} */
  finished() {
    for (const node of [...this.#since.keys()]) this.#becomes(node, this.#last, null);
    for (const message of [...this.#flying.keys()]) this.#isLost(message);
    return [...this.#arrows, ...this.#bars, ...this.#points];
  }

  /** @param {number} node @param {number} t @param {string | null} state */
  #becomes(node, t, state) {
    const before = this.#since.get(node);
    if (before) {
      const [x, width] = [this.#x(before.from), Math.max(2, this.#x(t) - this.#x(before.from))];
      const y = this.#y(node) - this.#thick / 2;
      this.#bars.push(s("rect", { class: before.state, x, width, y, height: this.#thick, rx: 1 }));
    }
    if (state) this.#since.set(node, { from: t, state });
    else this.#since.delete(node);
  }

  /** @param {number} node @param {number} t */
  #crashes(node, t) {
    this.#becomes(node, t, "down");
    this.#cross("crashed", node, t);
  }

  /** @param {string} what @param {number} node @param {number} t */
  #cross(what, node, t) {
    const [x, y] = [this.#x(t), this.#y(node)];
    this.#points.push(s("path", { class: what, d: `M${x - 4} ${y - 4}l8 8m0 -8l-8 8` }));
  }

  /** @param {number} message @param {number} t @param {number} node */
  #arrives(message, t, node) {
    const sent = this.#flying.get(message);
    if (!sent) return;
    this.#flying.delete(message);
    this.#line(sent, this.#x(t), this.#y(node), "message");
  }

  /** What never arrives ends midway. @param {number} message */
  #isLost(message) {
    const sent = this.#flying.get(message);
    if (!sent || sent.to === undefined) return;
    this.#flying.delete(message);
    this.#line(sent, this.#x(sent.t) + 6, (this.#y(sent.node) + this.#y(sent.to)) / 2, "message lost");
  }

  /** @param {RunRecord} sent @param {number} x2 @param {number} y2 @param {string} what */
  #line(sent, x2, y2, what) {
    const line = s("line", { class: what, x1: this.#x(sent.t), y1: this.#y(sent.node), x2, y2 });
    line.style.stroke = `var(--${kindColour(sent.label ?? "")})`;
    this.#arrows.push(line);
  }
}
