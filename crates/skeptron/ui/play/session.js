// A run on the server: its stream, what a hand does to it, what its nodes know.
import { getJson, postJson, Refused, stream } from "../lib/api.js";
import { RunModel } from "./model.js";

/** @typedef {import("../wire.js").NodeState} NodeState */
/** @typedef {import("../wire.js").Act} Act */
/** @typedef {import("../wire.js").Deed} Deed */
/**
 * What a session tells.
 * @typedef {object} Listener
 * @property {(model: RunModel) => void} opened
 * @property {() => void} grown more records are known
 * @property {(from: number) => void} cut what happened from there on is void
 * @property {() => void} ended
 * @property {() => void} informed more states are known
 * @property {() => void} lost the server has gone, or has forgotten the run
 * @property {(error: unknown) => void} failed
 */

/** Records whose states come at once. */
const CHUNK = 256;

/** One run, from its making to its closing. */
export class Session {
  /** @param {Listener} listener */
  constructor(listener) {
    this.listener = listener;
    this.stop = new AbortController();
    this.id = "";
    /** @type {RunModel | null} */
    this.model = null;
    /** @type {Act[]} */
    this.acts = [];
    /** What was done before each deed that can be undone, and after each that was. @type {Act[][]} */
    this.past = [];
    /** @type {Act[][]} */
    this.future = [];
    /** What the nodes know, by chunk; `known` is how many records there were when it was asked for. */
    /** @type {Map<number, { known: number, ended: boolean, chunk: import("../wire.js").StateChunk | null }>} */
    this.chunks = new Map();
    /** Counts the histories: states of another one that come late are void. */
    this.history = 0;
  }

  /**
   * Makes the run and listens to it until it is closed.
   * @param {import("../wire.js").RunRequest} request
   */
  async open(request) {
    try {
      const made = /** @type {import("../wire.js").RunMade} */ (await postJson("/lab/runs", request, { signal: this.stop.signal }));
      this.id = made.id;
      await this.#listen();
    } catch (error) {
      this.#fail(error);
    }
  }

  /** @param {unknown} error */
  #fail(error) {
    if (this.stop.signal.aborted) return;
    // Once the run was there, a server that does not answer or does not know it was restarted.
    if (this.id && error instanceof Refused && (error.status === 0 || error.status === 404)) this.#lose();
    else this.listener.failed(error);
  }

  #lose() {
    this.close();
    this.listener.lost();
  }

  close() {
    this.stop.abort();
  }

  async #listen() {
    await stream(this.path(""), {
      signal: this.stop.signal,
      on: {
        run: (/** @type {import("../wire.js").RunHeader} */ header) => {
          this.model = new RunModel(header);
          this.acts = header.acts;
          this.#forget(0);
          this.listener.opened(this.model);
        },
        records: (/** @type {import("../wire.js").RecordBatch} */ batch) => {
          this.model?.take(batch);
          this.listener.grown();
        },
        cut: (/** @type {import("../wire.js").Cut} */ { from, acts }) => {
          this.model?.cut(from);
          this.acts = acts;
          this.#forget(from);
          this.listener.cut(from);
        },
        end: (/** @type {import("../wire.js").RunEnd} */ end) => {
          if (!this.model) return;
          this.model.end = end;
          this.listener.ended();
        },
      },
    });
    if (!this.stop.signal.aborted) this.#lose();
  }

  /**
   * The path of something of this run.
   * @param {string} rest
   * @returns {string}
   */
  path(rest) {
    return `/lab/runs/${this.id}${rest}`;
  }

  /**
   * Does something by hand; the stream tells what comes of it.
   * @param {Deed} deed
   * @param {number} after
   * @param {number} t
   * @returns {Promise<void>}
   */
  async act(deed, after, t) {
    const before = this.acts;
    const answer = await postJson(this.path("/acts"), { after, t: Math.round(t), ...deed }, { signal: this.stop.signal });
    this.acts = answer.acts;
    this.past.push(before);
    this.future = [];
  }

  /** Takes over what can be undone and done again from a session whose run this one makes again. @param {Session} other */
  inherit({ past, future }) {
    [this.past, this.future] = [past, future];
  }

  get canUndo() {
    return this.past.length > 0 || this.acts.length > 0;
  }

  /**
   * Takes the last deed back: what it dropped is there again.
   * @returns {Promise<void>}
   */
  async undo() {
    if (!this.canUndo) return;
    const before = this.acts;
    await this.#set(this.past.at(-1) ?? before.slice(0, -1));
    this.past.pop();
    this.future.push(before);
  }

  /**
   * Does again what was taken back last.
   * @returns {Promise<void>}
   */
  async redo() {
    const next = this.future.at(-1);
    if (!next) return;
    const before = this.acts;
    await this.#set(next);
    this.future.pop();
    this.past.push(before);
  }

  /** @param {Act[]} acts */
  async #set(acts) {
    const answer = await postJson(this.path("/acts"), { acts }, { method: "PUT", signal: this.stop.signal });
    this.acts = answer.acts;
  }

  /** @param {number} from */
  #forget(from) {
    this.history++;
    for (const chunk of [...this.chunks.keys()]) {
      if ((chunk + 1) * CHUNK > from) this.chunks.delete(chunk);
    }
  }

  /**
   * What the nodes know at a position; null until the server has told, which is then announced.
   * @param {number} position
   * @returns {NodeState[] | null}
   */
  statesAt(position) {
    const number = Math.max(0, Math.floor((position - 1) / CHUNK));
    const chunk = this.#chunk(number, position);
    if (this.model && (number + 1) * CHUNK < this.model.length) this.#chunk(number + 1, 0);
    if (!chunk) return null;
    const states = chunk.start.slice();
    for (const change of chunk.changes) {
      if (change.record >= position) break;
      states[change.node - 1] = change.state;
    }
    return states;
  }

  /**
   * @param {number} number
   * @param {number} position up to which it must be known
   */
  #chunk(number, position) {
    const length = this.model?.length ?? 0;
    const kept = this.chunks.get(number);
    const complete = kept && (kept.ended || kept.known >= Math.max(position, 0));
    if (!kept || !complete) this.#ask(number, length);
    return complete ? kept.chunk : null;
  }

  /**
   * @param {number} number
   * @param {number} known
   */
  #ask(number, known) {
    const history = this.history;
    const entry = { known, ended: this.model?.end != null, chunk: /** @type {import("../wire.js").StateChunk | null} */ (null) };
    this.chunks.set(number, entry);
    getJson(this.path(`/states?chunk=${number}`), this.stop.signal)
      .then((chunk) => {
        if (history !== this.history) return;
        entry.chunk = chunk;
        this.listener.informed();
      })
      .catch((error) => {
        if (history === this.history) this.#fail(error);
      });
  }
}
