// What happens to one lock of a cluster, as a run that grows: the diagram of Play draws it, and Play opens it.
import { shortFence } from "../lib/fence.js";
import { RunModel, UNSEEN, named } from "../play/model.js";

/** @typedef {import("../wire.js").RunHeader} RunHeader */
/** @typedef {import("../wire.js").RunRecord} RunRecord */
/** @typedef {Omit<RunRecord, "t">} Untimed */
/** When something happened, in milliseconds since the stream began. @typedef {{ at: number, record: Untimed }} Happened */
/** A message between two rows, and what it says. @typedef {{ sender: number, receiver: number, label: string, payload: string }} Said */
/** How time runs to the right: the same room for each event, or by the clock. @typedef {"events" | "time"} Spacing */

/** Ticks of a unit: of an event, or of a millisecond. */
export const TICKS = 1000;
/** So much is remembered; whoever wants more records a run in Play. */
const MOST_RECORDS = 12_000;
/** How fast the space after the last event grows, in events per second, and how far. */
const IDLE_RATE = 1;
const IDLE_MOST = 3;

/** A lock since the stream began. Nodes are rows here, counted from 1, in the order of the members. */
export class LiveRun {
  /** What was heard and is not yet drawn. @type {{ at: number, key: string, take: () => void }[]} */
  pending = [];
  /** @type {Happened[]} */
  happened = [];
  /** Where events are missing. @type {{ at: number, missed: number }[]} */
  gaps = [];
  /** When something happened, without repetitions. @type {number[]} */
  moments = [];
  /** Who waits how often, who is inside with which fence, and when that was last told. @type {Map<number, { waiters: number, fence: string | null, last: number, listed: boolean }>} */
  now = new Map();
  /** The messages whose sending is known, by their way and number. @type {Map<string, number>} */
  sent = new Map();
  /** Whether what is known of the present has holes, which the next list of locks fills. */
  blank = true;
  messages = 0;

  /**
   * @param {number[]} members
   * @param {string} algorithm
   * @param {Spacing} spacing
   */
  constructor(members, algorithm, spacing) {
    this.members = members;
    this.spacing = spacing;
    this.header = headerOf(algorithm, members.length);
    this.model = new RunModel(this.header, members);
  }

  /** @param {number} member */
  #row(member) {
    return this.members.indexOf(member) + 1;
  }

  /** @param {number} at @param {() => void} take @param {string} [key] */
  #hear(at, take, key = "") {
    this.pending.push({ at, key, take });
  }

  /**
   * One end of a message was seen.
   * @param {import("../wire.js").MessageEvent} event
   * @param {(member: number) => boolean} isFar whether a member cannot be looked into
   */
  message({ at, number, from, to, label, payload, received }, isFar) {
    const [sender, receiver] = [this.#row(from), this.#row(to)];
    if (sender === 0 || receiver === 0) return;
    const way = `${from}>${to}:${number}`;
    if (received) this.#hear(at, () => this.#receive(at, way, { sender, receiver, label, payload }));
    else this.#hear(at, () => this.#send(at, way, { sender, receiver, label, payload }, isFar(to)), way);
  }

  /**
   * @param {number} at
   * @param {string} way
   * @param {Said} said
   * @param {boolean} isLast whether nobody will tell of its arrival
   * @param {string} [cause]
   */
  #send(at, way, { sender, receiver, label, payload }, isLast, cause) {
    const message = this.messages++;
    this.sent.set(way, message);
    this.#add(at, { node: sender, kind: "send", text: `${named(label, payload)} → ${this.model.name(receiver - 1)}`, message, to: receiver, label, payload, ...(cause ? { cause } : {}) });
    if (isLast) this.#add(at, { node: sender, kind: "lose", text: "", message, cause: UNSEEN });
  }

  /**
   * @param {number} at
   * @param {string} way
   * @param {Said} of
   */
  #receive(at, way, of) {
    // Clocks of two nodes may differ by less than a message takes: then its sending is told later.
    const later = this.pending.findIndex(({ key }) => key === way);
    if (later >= 0) this.pending.splice(later, 1)[0].take();
    else if (!this.sent.has(way)) this.#send(at, way, of, false, UNSEEN);
    const message = this.sent.get(way);
    this.sent.delete(way);
    this.#add(at, { node: of.receiver, kind: "deliver", text: `${named(of.label, of.payload)} ← ${this.model.name(of.sender - 1)}`, message });
  }

  /**
   * Something happened to the lock at a node.
   * @param {import("../wire.js").LockEvent} event
   */
  lock({ at, node, what, fence }) {
    const row = this.#row(node);
    if (row > 0) this.#hear(at, () => this.#change(at, row, what, fence));
  }

  /** @param {number} row */
  #at(row) {
    let state = this.now.get(row);
    if (!state) this.now.set(row, state = { waiters: 0, fence: null, last: -Infinity, listed: false });
    return state;
  }

  /**
   * @param {number} at
   * @param {number} row
   * @param {import("../wire.js").LockChange} what
   * @param {string | null} fence
   */
  #change(at, row, what, fence) {
    const state = this.#at(row);
    [state.last, state.listed] = [at, false];
    if (what === "requested") {
      state.waiters += 1;
      if (state.waiters === 1 && state.fence === null) this.#add(at, { node: row, kind: "request", text: "requests" });
    } else if (what === "granted") {
      state.waiters = Math.max(0, state.waiters - 1);
      this.#enter(at, row, fence ?? "");
    } else if (what === "withdrawn") {
      state.waiters = Math.max(0, state.waiters - 1);
      if (state.waiters === 0 && state.fence === null) this.#add(at, { node: row, kind: "release", text: "waits no longer" });
    } else if (state.fence !== null) {
      this.#leave(at, row);
    }
  }

  /** @param {number} at @param {number} row @param {string} fence */
  #enter(at, row, fence) {
    this.#at(row).fence = fence;
    // As it came: a number would lose the last digits of a late epoch.
    const exact = /** @type {number} */ (/** @type {unknown} */ (fence));
    this.#add(at, { node: row, kind: "enter", text: `enters${fence ? `, fence ${shortFence(fence)}` : ""}`, ...(fence ? { fence: exact } : {}) });
  }

  /** Whoever has others waiting goes on waiting. @param {number} at @param {number} row */
  #leave(at, row) {
    const state = this.#at(row);
    state.fence = null;
    this.#add(at, { node: row, kind: "release", text: "leaves" });
    if (state.waiters > 0) this.#add(at, { node: row, kind: "request", text: "requests" });
  }

  /**
   * Events are missing before `at`: nothing that lasted until then is sure to last.
   * @param {import("../wire.js").Lagged} lagged
   */
  lagged({ at, missed }) {
    this.#hear(at, () => {
      this.gaps.push({ at, missed });
      for (const [row, { waiters, fence }] of this.now) if (waiters > 0 || fence !== null) this.#add(at, { node: row, kind: "release", text: "" });
      this.now.clear();
      for (const message of this.sent.values()) this.#add(at, { node: this.model.messages.from[message] + 1, kind: "lose", text: "", message, cause: UNSEEN });
      this.sent.clear();
      this.blank = true;
    });
  }

  /**
   * The list of locks says who waits and who is inside; used where events do not say it: at first, after
   * a gap, and always of nodes that cannot be looked into.
   * @param {number} at
   * @param {import("../wire.js").ClusterLock | undefined} lock
   * @param {(member: number) => boolean} isFar
   */
  listed(at, lock, isFar) {
    this.#hear(at, () => {
      const queued = new Set(lock?.waiting.map(({ node }) => this.#row(node)));
      const holder = lock?.holder ?? null;
      const inside = holder ? this.#row(holder.node) : 0;
      for (const [row, state] of this.now) {
        if (!state.listed || state.last > at) continue;
        if (state.fence !== null && (row !== inside || state.fence !== holder?.fence)) this.#leave(at, row);
        if (state.waiters > 0 && !queued.has(row)) {
          state.waiters = 1;
          this.#change(at, row, "withdrawn", null);
        }
      }
      const isNew = (/** @type {number} */ row, /** @type {number} */ member) => row > 0 && this.#at(row).last <= at && (this.blank || isFar(member));
      for (const { node, waiters } of lock?.waiting ?? []) {
        const state = this.#at(this.#row(node));
        if (!isNew(this.#row(node), node) || state.waiters > 0) continue;
        this.#change(at, this.#row(node), "requested", null);
        Object.assign(state, { waiters, listed: true });
      }
      if (holder && isNew(inside, holder.node) && this.#at(inside).fence === null) {
        this.#enter(this.happened.length === 0 ? at - holder.held : at, inside, holder.fence);
        this.#at(inside).listed = true;
      }
      this.blank = false;
    });
  }

  /** Draws what happened until then, in the order in which it did: events of different nodes may come in another one. @param {number} until */
  advance(until) {
    const due = this.pending.filter(({ at }) => at <= until).sort((a, b) => a.at - b.at);
    for (const event of due) {
      const place = this.pending.indexOf(event);
      // Some are taken with another one.
      if (place < 0) continue;
      this.pending.splice(place, 1);
      event.take();
    }
    return due.length > 0;
  }

  /** @param {number} at @param {Untimed} record */
  #add(at, record) {
    const event = { at: Math.max(at, this.moments.at(-1) ?? at), record };
    this.happened.push(event);
    this.#draw([event]);
    if (this.happened.length > MOST_RECORDS) this.#forget();
  }

  /** @param {Happened[]} events */
  #draw(events) {
    const records = events.map(({ at, record }) => {
      if (at !== this.moments.at(-1)) this.moments.push(at);
      return { ...record, t: this.place(at) };
    });
    this.model.take({ from: this.model.length, records });
  }

  /** Forgets the older half, but who was what then. */
  #forget() {
    const half = this.happened.length >> 1;
    const phases = Array.from({ length: this.header.nodes }, (_, row) => this.model.phase(row, half));
    this.header = { ...this.header, phases };
    this.happened = this.happened.slice(half);
    const since = this.happened[0].at;
    this.gaps = this.gaps.filter(({ at }) => at >= since);
    this.space(this.spacing);
  }

  /** Draws all of it anew. @param {Spacing} spacing */
  space(spacing) {
    this.spacing = spacing;
    this.model = new RunModel(this.header, this.members);
    this.moments = [];
    this.#draw(this.happened);
  }

  /** Where a moment is drawn, in ticks: no earlier one comes after it. @param {number} at */
  place(at) {
    if (this.spacing === "time") return at * TICKS;
    const last = this.moments.at(-1);
    if (last === undefined || at <= last) return firstFrom(this.moments, at) * TICKS;
    return (this.moments.length - 1 + Math.min(IDLE_MOST, (IDLE_RATE * (at - last)) / 1000)) * TICKS;
  }

  /** The moment that is drawn there. @param {number} t */
  momentAt(t) {
    if (this.spacing === "time") return t / TICKS;
    const { moments } = this;
    return moments[Math.min(moments.length - 1, Math.max(0, Math.round(t / TICKS)))] ?? 0;
  }
}

/**
 * The last part of a lock's history as a run that Play shows, where one unit is a millisecond.
 * @typedef {{ lock: string, header: RunHeader, records: RunRecord[] }} Recording
 */

/** More messages would not fit into an address. */
const MOST_RECORDED = 3600;

/**
 * @param {LiveRun} run
 * @param {string} lock
 * @returns {Recording}
 */
export function recorded({ happened, header, members }, lock) {
  // A message whose sending was not seen has no beginning, and one whose end was not seen is under way.
  const unseen = new Set(happened.flatMap(({ record }) => (record.cause === UNSEEN && record.kind === "send" ? [record.message] : [])));
  const kept = happened.filter(({ record }) => record.cause !== UNSEEN && !unseen.has(record.message)).slice(-MOST_RECORDED);
  const first = kept[0]?.at ?? 0;
  const number = (/** @type {number} */ row) => members[row - 1] ?? row;
  const records = inSteps(kept).map(({ at, record }) => ({ ...record, node: number(record.node), ...(record.to ? { to: number(record.to) } : {}), t: Math.round((at - first) * TICKS) }));
  return { lock, header: { ...header, nodes: Math.max(...members), phases: [] }, records };
}

/** @type {ReadonlySet<string>} */
const EFFECTS = new Set(["send", "enter"]);

/**
 * What a node does follows the input that made it do so, at the same time, whatever others did meanwhile.
 * @param {Happened[]} events in the order of time
 * @returns {Happened[]}
 */
function inSteps(events) {
  /** @type {Happened[][]} */
  const steps = [];
  /** @type {Map<number, Happened[]>} */
  const last = new Map();
  for (const event of events) {
    const step = last.get(event.record.node);
    if (EFFECTS.has(event.record.kind) && step) step.push({ ...event, at: step[0].at });
    else {
      const begun = [event];
      steps.push(begun);
      last.set(event.record.node, begun);
    }
  }
  return steps.flat();
}

/**
 * @param {string} algorithm
 * @param {number} nodes
 * @returns {RunHeader}
 */
function headerOf(algorithm, nodes) {
  return { algorithm, kind: "mutex", nodes, order: "fifo", ticks_per_unit: TICKS, command: null, sim: { algorithm, nodes }, recorded: true, phases: [], may_act: false, holds: false, draws: 0, acts: [], partitions: [],
    topology: { coordinator: null, tree: null, ring: null, quorums: null, request: null, inform: null, links: null } };
}

/**
 * The index of the first of the sorted values that is not below a value.
 * @param {number[]} sorted
 * @param {number} value
 */
function firstFrom(sorted, value) {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
