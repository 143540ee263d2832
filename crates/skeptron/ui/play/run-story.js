// What is said of the run that is shown: by the gallery, or by whoever writes notes here.
import { say } from "../lib/language.js";
import { packedShort, parting } from "./link.js";

/** @typedef {import("./link.js").Story} Story */
/** @typedef {import("../wire.js").Act} Act */

/** What is said, and what a link carries of it. */
export class RunStory {
  /** @type {import("../wire.js").GalleryItem[]} */
  gallery = [];
  /** The run that it speaks of. @type {import("./link.js").Source} */
  source = { sim: { algorithm: "" } };
  /** What somebody has written here, instead of what the gallery says. @type {Story | null} */
  own = null;
  /** The same as a link carries it; null if it is too long for one. @type {string | null} */
  packed = null;
  /** The deeds that it knows of: what comes of others it says nothing about. @type {Act[]} */
  acts = [];

  /**
   * Another run is shown.
   * @param {import("./link.js").Source} source
   * @param {Story | null} story what was written of it by hand
   * @param {Act[]} acts of the run
   */
  begin(source, story, acts) {
    this.source = source;
    this.keep(story, story ? acts : this.ownActs);
  }

  /**
   * @param {Story | null} story
   * @param {Act[]} acts
   */
  async keep(story, acts) {
    this.own = story;
    this.acts = acts;
    this.packed = story ? await packedShort(JSON.stringify(story)) : null;
  }

  /** The scenario of the gallery that is shown, if it is one. */
  get #item() {
    const { source } = this;
    return "scenario" in source ? this.gallery.find((item) => item.name === source.scenario) : undefined;
  }

  /** What comes after it in the lecture. */
  get next() {
    const stop = this.#item?.stop;
    return stop ? this.gallery.find((item) => item.stop === stop + 1) : undefined;
  }

  /** The deeds that belong to the run itself. @returns {Act[]} */
  get ownActs() {
    return this.#item?.acts ?? [];
  }

  /** What of the deeds a link must carry: nothing if they belong to the run itself. @param {Act[]} acts */
  foreign(acts) {
    return parting(acts, this.ownActs) === Infinity ? null : acts;
  }

  /**
   * What is said of the run.
   * @param {import("../wire.js").RunHeader} header
   * @returns {Story | undefined}
   */
  of(header) {
    const { source } = this;
    const told = this.own ?? this.#item;
    if (told) return told;
    if ("live" in source) return { title: say("“{lock}” in the cluster", { lock: source.live.lock }), summary: say("Recorded live: a unit of time is a millisecond. What the nodes knew was not recorded."), notes: [] };
    if (!("trace" in source)) return undefined;
    const summary = header.may_act ? say("What you do by hand begins another run from there on.") : say("It can be played, not changed: its alarms cannot be made to ring again.");
    return { title: say("A recorded run"), summary, notes: [] };
  }

  /**
   * What a link would lack.
   * @returns {string | null}
   */
  get lack() {
    if ("trace" in this.source && !this.source.packed) return say("this run is too long for a link; export it as JSON Lines and pass the file on.");
    return this.own && !this.packed ? say("the notes are too long for a link; save the scenario and pass the file on.") : null;
  }
}
