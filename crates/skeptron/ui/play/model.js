// A run as the diagram sees it: steps, messages, what each node was when. Grows as records come.

/** @typedef {import("../wire.js").RunRecord} RunRecord */
/** @typedef {import("../wire.js").RecordKind} RecordKind */
/**
 * A stretch of a node's line: from the record that begins it to the record that ends it (-1: none yet).
 * @typedef {{ kind: "waiting" | "inside" | "down" | "paused", from: number, to: number, t0: number, t1: number, fence: number | undefined }} Bar
 */
/** @typedef {"idle" | "waiting" | "inside" | "down"} Phase */

/** @type {ReadonlySet<RecordKind>} */
const INPUTS = new Set(["request", "release", "deliver", "crash", "restart", "pause", "resume", "lose", "duplicate", "call", "suspect", "trust", "draw", "expire"]);

/** @type {ReadonlySet<RecordKind>} What is drawn as a mark on a node's line. */
const MARKED = new Set(["request", "crash", "restart", "pause", "resume", "call", "suspect", "trust", "draw", "expire", "elect", "refuse", "violation"]);

/** How many units after the end a message would arrive that never does. */
const NEVER_QUITE = 0.4;

const IN_FLIGHT = 0;
export const DELIVERED = 1;
export const LOST = 2;
/** The cause of a loss, or of a sending, that only says that nobody saw that end of the message. */
export const UNSEEN = "unseen";

/** The messages of a run, a column for each thing known of them; nodes are rows, counted from 0. */
class Messages {
  constructor() {
    /** @type {number[]} */ this.id = [];
    /** @type {number[]} */ this.from = [];
    /** @type {number[]} */ this.to = [];
    /** Record that sends it. @type {number[]} */ this.sent = [];
    /** @type {number[]} */ this.sentT = [];
    /** Record that delivers or loses it, or -1. @type {number[]} */ this.end = [];
    /** @type {number[]} */ this.endT = [];
    /** @type {number[]} */ this.fate = [];
    /** Which kind of message, an index of `labels`. @type {number[]} */ this.label = [];
    /** All that it says. @type {string[]} */ this.content = [];
    /** What is written beside the name of its kind. @type {string[]} */ this.payload = [];
    /** @type {boolean[]} */ this.copy = [];
    /** How many messages take the same way from the same moment before it. @type {number[]} */ this.twin = [];
    /** The last message of each way, by `from to`. @type {Map<string, number>} */ this.lastOnWay = new Map();
    /** @type {string[]} */ this.labels = [];
    /** @type {Map<number, number>} */ this.byId = new Map();
    /** Those that have not ended, the oldest first. @type {Set<number>} */ this.open = new Set();
    /** The longest that any message took, in ticks. */ this.longest = 0;
  }

  get count() {
    return this.id.length;
  }

  /**
   * What a message is called in a diagram: `REQUEST 41`.
   * @param {number} message
   * @returns {string}
   */
  name(message) {
    return named(this.labels[this.label[message]], this.payload[message]);
  }

  /**
   * @param {RunRecord} record
   * @param {number} at
   */
  send(record, at) {
    const label = record.label ?? "";
    let kind = this.labels.indexOf(label);
    if (kind < 0) kind = this.labels.push(label) - 1;
    this.#add(record.message ?? -1, record.node - 1, (record.to ?? record.node) - 1, at, record.t, kind, { content: record.content ?? "", payload: record.payload ?? "" }, false);
  }

  /**
   * @param {RunRecord} record
   * @param {number} at
   */
  duplicate(record, at) {
    const of = this.byId.get(record.of ?? -1);
    if (of === undefined) return;
    this.#add(record.message ?? -1, this.from[of], this.to[of], at, this.sentT[of], this.label[of], { content: this.content[of], payload: this.payload[of] }, true);
  }

  /**
   * @param {RunRecord} record
   * @param {number} at
   * @param {number} fate
   */
  finish(record, at, fate) {
    const message = this.byId.get(record.message ?? -1);
    if (message === undefined) return;
    this.end[message] = at;
    this.endT[message] = record.t;
    this.fate[message] = fate;
    this.open.delete(message);
    this.longest = Math.max(this.longest, record.t - this.sentT[message]);
  }

  /**
   * @param {number} id
   * @param {number} from
   * @param {number} to
   * @param {number} sent
   * @param {number} t
   * @param {number} label
   * @param {{ content: string, payload: string }} said
   * @param {boolean} copy
   */
  #add(id, from, to, sent, t, label, { content, payload }, copy) {
    this.byId.set(id, this.count);
    this.open.add(this.count);
    this.id.push(id);
    this.from.push(from);
    this.to.push(to);
    this.sent.push(sent);
    this.sentT.push(t);
    this.end.push(-1);
    this.endT.push(-1);
    this.fate.push(IN_FLIGHT);
    this.label.push(label);
    this.content.push(content);
    this.payload.push(payload);
    this.copy.push(copy);
    const way = `${from} ${to}`;
    const before = this.lastOnWay.get(way);
    this.twin.push(before !== undefined && this.sentT[before] === t ? this.twin[before] + 1 : 0);
    this.lastOnWay.set(way, this.count - 1);
  }
}

/**
 * A kind of message and what is written beside it.
 * @param {string} label
 * @param {string} [payload]
 * @returns {string}
 */
export function named(label, payload) {
  return payload ? `${label} ${payload}` : label;
}

/** A run, as far as it is known. */
export class RunModel {
  /** @type {RunRecord[]} */
  records = [];
  /** Where each step begins. @type {number[]} */
  steps = [];
  messages = new Messages();
  /** What each node was when. @type {Bar[][]} */
  bars = [];
  /** When each node was paused. @type {Bar[][]} */
  pauses = [];
  /** Records that are marks. @type {number[]} */
  marks = [];
  /** Records that enter or name a leader. @type {number[]} */
  entries = [];
  /** What the server says at the end; null while it is still telling. @type {import("../wire.js").RunEnd | null} */
  end = null;

  /**
   * @param {import("../wire.js").RunHeader} header
   * @param {number[]} [members] the numbers of the nodes, if they are not 1, 2, 3 …
   */
  constructor(header, members) {
    this.header = header;
    this.members = members;
    this.#begin();
  }

  /** What a node is called. @param {number} row */
  name(row) {
    return `P${this.members?.[row] ?? row + 1}`;
  }

  #begin() {
    this.records = [];
    this.steps = [];
    this.messages = new Messages();
    this.bars = Array.from({ length: this.header.nodes }, () => []);
    this.pauses = Array.from({ length: this.header.nodes }, () => []);
    this.marks = [];
    this.entries = [];
    this.end = null;
    // What a node is before anything happens has no record.
    this.header.phases.forEach((phase, row) => { if (phase !== "idle") this.bars[row].push(bar(phase, -1, 0)); });
  }

  /** How many records there are. */
  get length() {
    return this.records.length;
  }

  /** When the last record happened. */
  get lastT() {
    return this.length > 0 ? this.records[this.length - 1].t : 0;
  }

  /**
   * Takes what happened next.
   * @param {import("../wire.js").RecordBatch} batch
   */
  take(batch) {
    if (batch.from < this.length) this.cut(batch.from);
    for (const record of batch.records) this.#add(record);
  }

  /**
   * Forgets what happened from the record `from` on.
   * @param {number} from
   */
  cut(from) {
    const kept = this.records.slice(0, from);
    this.#begin();
    for (const record of kept) this.#add(record);
  }

  /** @param {RunRecord} record */
  #add(record) {
    const at = this.records.push(record) - 1;
    if (INPUTS.has(record.kind) || at === 0) this.steps.push(at);
    if (MARKED.has(record.kind)) this.marks.push(at);
    this.#follow(record, at);
  }

  /**
   * @param {RunRecord} record
   * @param {number} at
   */
  #follow(record, at) {
    const row = record.node - 1;
    if (record.becomes) this.#turn(row, record.becomes, at);
    switch (record.kind) {
      case "send": return this.messages.send(record, at);
      case "duplicate": return this.messages.duplicate(record, at);
      case "deliver": return this.messages.finish(record, at, DELIVERED);
      case "lose": return this.messages.finish(record, at, LOST);
      case "request": return this.#turn(row, "waiting", at);
      case "enter": this.entries.push(at); return this.#turn(row, "inside", at, record.fence);
      case "elect": this.entries.push(at); return;
      case "refuse": return this.#takeBack(row, at);
      case "release": return this.#turn(row, "idle", at);
      case "crash": return this.#turnUntold(row, "down", at);
      case "restart": return this.#turnUntold(row, "idle", at);
      case "pause": this.pauses[row].push(bar("paused", at, record.t)); return;
      case "resume": return close(this.pauses[row].at(-1), at, record.t);
    }
  }

  /**
   * @param {number} row
   * @param {Phase} phase
   * @param {number} at
   * @param {number} [fence]
   */
  #turn(row, phase, at, fence) {
    const t = this.records[at].t;
    close(this.bars[row].at(-1), at, t);
    if (phase !== "idle") this.bars[row].push(bar(phase, at, t, fence));
  }

  /**
   * Of an election the server tells what its nodes are doing.
   * @param {number} row
   * @param {Phase} phase
   * @param {number} at
   */
  #turnUntold(row, phase, at) {
    if (this.header.kind === "mutex") this.#turn(row, phase, at);
  }

  /**
   * A request or call that the node does not take has begun nothing.
   * @param {number} row
   * @param {number} at
   */
  #takeBack(row, at) {
    const last = this.bars[row].at(-1);
    if (last && last.kind === "waiting" && last.from === this.steps.at(-1) && last.to === -1 && last.from < at) this.bars[row].pop();
  }

  /**
   * How many steps have begun before a position: those that are over there.
   * @param {number} position
   * @returns {number}
   */
  stepsBefore(position) {
    return lowerBound(this.steps, position);
  }

  /**
   * The position after a number of steps.
   * @param {number} count
   * @returns {number}
   */
  positionAfter(count) {
    return count < this.steps.length ? (count <= 0 ? 0 : this.steps[count]) : this.length;
  }

  /**
   * The end of the step that a position lies in.
   * @param {number} position
   * @returns {number}
   */
  roundUp(position) {
    return this.positionAfter(this.stepsBefore(Math.min(position, this.length)));
  }

  /**
   * When the last record before a position happened.
   * @param {number} position
   * @returns {number}
   */
  timeAt(position) {
    return position > 0 && this.length > 0 ? this.records[Math.min(position, this.length) - 1].t : 0;
  }

  /**
   * The position once everything up to a time has happened.
   * @param {number} t
   * @returns {number}
   */
  positionAt(t) {
    let low = 0;
    let high = this.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.records[middle].t <= t) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /**
   * What a node is at a position.
   * @param {number} row
   * @param {number} position
   * @returns {Phase}
   */
  phase(row, position) {
    const found = covering(this.bars[row], position);
    return found ? /** @type {Phase} */ (found.kind) : "idle";
  }

  /**
   * Whether a node is paused at a position.
   * @param {number} row
   * @param {number} position
   * @returns {boolean}
   */
  isPaused(row, position) {
    return covering(this.pauses[row], position) !== null;
  }

  /**
   * Whether a message is under way at a position.
   * @param {number} message
   * @param {number} position
   * @returns {boolean}
   */
  isInFlight(message, position) {
    const { sent, end } = this.messages;
    return sent[message] < position && (end[message] < 0 || end[message] >= position);
  }

  /**
   * The messages under way at a position, the latest first.
   * @param {number} position
   * @param {number} most
   * @returns {number[]}
   */
  inFlight(position, most) {
    const found = [];
    for (let message = lowerBound(this.messages.sent, position) - 1; message >= 0 && found.length < most; message--) {
      if (this.isInFlight(message, position)) found.push(message);
    }
    return found;
  }

  /**
   * Which end of a message nobody saw, if one.
   * @param {number} message
   * @returns {"sent" | "end" | null}
   */
  unseen(message) {
    const { sent, end } = this.messages;
    if (this.records[sent[message]].cause === UNSEEN) return "sent";
    return end[message] >= 0 && this.records[end[message]].cause === UNSEEN ? "end" : null;
  }

  /**
   * When a message arrives or is lost; one that is still under way at the end never quite arrives.
   * @param {number} message
   * @returns {number}
   */
  arrival(message) {
    const { sentT, endT, end } = this.messages;
    if (end[message] >= 0) return endT[message];
    const unit = this.header.ticks_per_unit;
    return Math.max(sentT[message] + unit, this.lastT + unit * NEVER_QUITE);
  }

  /** For how long a message is under way at most. */
  get longestWay() {
    const [first] = this.messages.open;
    const open = first === undefined ? 0 : this.arrival(first) - this.messages.sentT[first];
    return Math.max(this.messages.longest, open);
  }

  /**
   * How much of its way a message has made at a time: from 0 to 1.
   * @param {number} message
   * @param {number} now
   * @returns {number}
   */
  progress(message, now) {
    const t0 = this.messages.sentT[message];
    const t1 = this.arrival(message);
    return t1 <= t0 ? 1 : Math.min(1, Math.max(0, (now - t0) / (t1 - t0)));
  }
}

/**
 * @param {Bar["kind"]} kind
 * @param {number} from
 * @param {number} t0
 * @param {number} [fence]
 * @returns {Bar}
 */
function bar(kind, from, t0, fence) {
  return { kind, from, to: -1, t0, t1: Infinity, fence };
}

/**
 * @param {Bar | undefined} open
 * @param {number} at
 * @param {number} t
 */
function close(open, at, t) {
  if (!open || open.to !== -1) return;
  open.to = at;
  open.t1 = t;
}

/**
 * @param {Bar[]} bars
 * @param {number} position
 */
function covering(bars, position) {
  let low = 0;
  let high = bars.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (bars[middle].from < position) low = middle + 1;
    else high = middle;
  }
  const last = bars[low - 1];
  return last && (last.to < 0 || last.to >= position) ? last : null;
}

/**
 * How many of the sorted values are smaller than a value.
 * @param {number[]} sorted
 * @param {number} value
 * @returns {number}
 */
export function lowerBound(sorted, value) {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
