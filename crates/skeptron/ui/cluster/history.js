// What has happened to one lock, as far as it was told: messages, and who waited or was inside when.
import { wholeFence } from "../lib/fence.js";
import { numeral, say } from "../lib/language.js";

/**
 * A message; an end that was not seen is null. One is missed whose other end may be among events that are missing.
 * @typedef {{ key: string, from: number, to: number, label: string, sent: number | null, received: number | null, missed: boolean }} Arrow
 */

/**
 * A stretch of time in which a node waited or was inside; one that lasts has no end. One that no event told
 * of, only a list of locks, is known by its ends roughly.
 * @typedef {{ node: number, kind: "waiting" | "inside", from: number, to: number | null, fence: string | null, listed: boolean }} Bar
 */

/** So much is remembered; whoever wants more records a run in Play. */
const MOST_ARROWS = 4000;
const MOST_BARS = 4000;
const MOST_GAPS = 200;

/** What has happened to one lock since the stream began. Times are milliseconds. */
export class History {
  constructor() {
    /** @type {Arrow[]} */
    this.arrows = [];
    /** @type {Bar[]} */
    this.bars = [];
    /** Where something is missing. @type {{ at: number, missed: number }[]} */
    this.gaps = [];
    /** When something happened, in order. @type {number[]} */
    this.moments = [];
    /** How often the history was told to change, for whoever draws it. */
    this.changes = 0;
    /** @type {Map<string, Arrow>} */
    this.known = new Map();
    /** Those who wait or are inside now, and when that was last told. @type {Map<number, { waiters: number, waiting: Bar | null, inside: Bar | null, last: number }>} */
    this.now = new Map();
    /** Whether what is known of the present has holes, which the next list of locks fills. */
    this.blank = true;
  }

  /** @param {number} node */
  #at(node) {
    let state = this.now.get(node);
    if (!state) {
      state = { waiters: 0, waiting: null, inside: null, last: -Infinity };
      this.now.set(node, state);
    }
    return state;
  }

  /**
   * One end of a message was seen.
   * @param {import("../wire.js").MessageEvent} event
   */
  message({ at, number, from, to, label, received }) {
    const key = `${from}>${to}:${number}`;
    let arrow = this.known.get(key);
    if (!arrow) {
      arrow = { key, from, to, label, sent: null, received: null, missed: false };
      this.known.set(key, arrow);
      this.arrows.push(arrow);
    }
    if (received) arrow.received = at;
    else arrow.sent = at;
    this.#noted(at);
  }

  /**
   * Something happened to the lock at a node.
   * @param {import("../wire.js").LockEvent} event
   */
  lock({ at, node, what, fence }) {
    const state = this.#at(node);
    state.last = at;
    if (what === "requested") {
      state.waiters += 1;
      state.waiting ??= this.#begin(node, "waiting", at, null);
    } else if (what === "granted") {
      this.#served(state, at);
      if (state.inside) state.inside.to = at;
      state.inside = this.#begin(node, "inside", at, fence);
    } else if (what === "withdrawn") {
      this.#served(state, at);
    } else if (state.inside) {
      state.inside.to = at;
      state.inside = null;
    }
    this.#noted(at);
  }

  /**
   * One of those who wait here waits no longer.
   * @param {{ waiters: number, waiting: Bar | null }} state
   * @param {number} at
   */
  #served(state, at) {
    state.waiters = Math.max(0, state.waiters - 1);
    if (state.waiting && state.waiters === 0) {
      state.waiting.to = at;
      state.waiting = null;
    }
  }

  /**
   * @param {number} node
   * @param {"waiting" | "inside"} kind
   * @param {number} from
   * @param {string | null} fence
   * @returns {Bar}
   */
  #begin(node, kind, from, fence) {
    /** @type {Bar} */
    const bar = { node, kind, from, to: null, fence, listed: false };
    this.bars.push(bar);
    return bar;
  }

  /**
   * Events are missing before `at`: nothing that lasted until then is sure to last.
   * @param {import("../wire.js").Lagged} lagged
   */
  lagged({ at, missed }) {
    const last = this.moments.at(-1) ?? at;
    for (const state of this.now.values()) {
      for (const bar of [state.waiting, state.inside]) if (bar) bar.to = Math.max(bar.from, last);
    }
    this.now.clear();
    for (const arrow of this.arrows) if (arrow.received === null) arrow.missed = true;
    this.gaps.push({ at, missed });
    this.blank = true;
    this.#noted(at);
  }

  /**
   * The list of locks says who waits and who is inside; used where events do not say it: at first, after
   * a gap, and always of nodes that cannot be looked into.
   * @param {number} at
   * @param {import("../wire.js").ClusterLock | undefined} lock
   * @param {(node: number) => boolean} isFar
   */
  present(at, lock, isFar) {
    const queues = new Map(lock?.waiting.map(({ node, waiters }) => [node, waiters]));
    const holder = lock?.holder ?? null;
    for (const [node, state] of this.now) {
      const { waiting, inside } = state;
      if (state.last > at) continue;
      // Of a far node only what two lists say alike is sure to have lasted from one to the other.
      if (waiting?.listed && !queues.has(node)) {
        waiting.to ??= at;
        [state.waiting, state.waiters] = [null, 0];
      } else if (waiting?.listed && isFar(node)) {
        waiting.to = at;
      }
      if (inside?.listed && inside.fence !== holder?.fence) {
        inside.to ??= at;
        state.inside = null;
      } else if (inside?.listed && isFar(node)) {
        inside.to = at;
      }
    }
    for (const [node, waiters] of queues) {
      const state = this.#at(node);
      if (state.waiting || state.last > at || !(this.blank || isFar(node))) continue;
      state.waiters = waiters;
      state.waiting = this.#begin(node, "waiting", at, null);
      state.waiting.listed = true;
      if (isFar(node)) state.waiting.to = at;
      this.#noted(at);
    }
    const own = holder && this.#at(holder.node);
    if (own && !own.inside && own.last <= at && (this.blank || isFar(holder.node))) {
      const from = Math.max(at - holder.held, this.gaps.at(-1)?.at ?? -Infinity);
      const inside = this.#begin(holder.node, "inside", from, holder.fence);
      inside.listed = true;
      if (isFar(holder.node)) inside.to = at;
      own.inside = inside;
      this.#noted(from);
    }
    this.blank = false;
    this.changes += 1;
  }

  /**
   * Keeps the moments in order; events of different nodes may come in a slightly different one.
   * @param {number} at
   */
  #noted(at) {
    let place = this.moments.length;
    while (place > 0 && this.moments[place - 1] > at) place -= 1;
    if (this.moments[place - 1] !== at) this.moments.splice(place, 0, at);
    this.changes += 1;
    if (this.arrows.length > MOST_ARROWS || this.bars.length > MOST_BARS || this.gaps.length > MOST_GAPS) this.#forget();
  }

  /** Forgets the older half of everything. */
  #forget() {
    const since = this.moments[this.moments.length >> 1] ?? 0;
    this.moments = this.moments.filter((moment) => moment >= since);
    this.arrows = this.arrows.filter((arrow) => (arrow.received ?? arrow.sent ?? since) >= since);
    this.bars = this.bars.filter((bar) => bar.to === null || bar.to >= since);
    this.gaps = this.gaps.filter((gap) => gap.at >= since);
    this.known = new Map(this.arrows.map((arrow) => [arrow.key, arrow]));
  }
}

/**
 * The latest events in words, the last one first.
 * @param {History} history
 * @param {number} most
 * @returns {string[]}
 */
export function inWords(history, most) {
  /** @type {{ at: number, text: string }[]} */
  const lines = [];
  for (const { from, to, label, sent, received } of history.arrows.slice(-most)) {
    if (sent !== null) lines.push({ at: sent, text: say("P{from} sends {label} to P{to}", { from, label, to }) });
    if (received !== null) lines.push({ at: received, text: say("P{to} takes {label} from P{from}", { to, label, from }) });
  }
  for (const { node, kind, from, to, fence } of history.bars.slice(-most)) {
    const inside = kind === "inside";
    lines.push({ at: from, text: inside ? say("P{node} is inside, fence {fence}", { node, fence: fence === null ? say("unknown") : wholeFence(fence) }) : say("P{node} asks", { node }) });
    if (to !== null && inside) lines.push({ at: to, text: say("P{node} is out again", { node }) });
  }
  for (const { at, missed } of history.gaps.slice(-most)) lines.push({ at, text: say("{n} events are missing here", { n: missed }) });
  lines.sort((a, b) => b.at - a.at);
  return lines.slice(0, most).map(({ at, text }) => `${milliseconds(at)}  ${text}`);
}

/**
 * A time with as many digits as tell something.
 * @param {number} ms
 * @param {number} [digits]
 * @returns {string}
 */
export function milliseconds(ms, digits = 1) {
  return `${numeral(ms, digits)} ms`;
}
