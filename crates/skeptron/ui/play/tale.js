// What is said of the run that is shown: by the gallery, or by whoever writes notes here.
import { say } from "../lib/language.js";
import { packedShort } from "./link.js";

/** @typedef {import("./link.js").Story} Story */

/** What is said, and what a link carries of it. */
export class Tale {
  /** What somebody has written here, instead of what the gallery says. @type {Story | null} */
  own = null;
  /** The same as a link carries it; null if it is too long for one. @type {string | null} */
  packed = null;
  /** The deeds that it knows of: what comes of others it says nothing about. @type {import("../wire.js").Act[]} */
  acts = [];

  /**
   * @param {Story | null} story
   * @param {import("../wire.js").Act[]} acts
   */
  async keep(story, acts) {
    this.own = story;
    this.acts = acts;
    this.packed = story ? await packedShort(JSON.stringify(story)) : null;
  }

  /**
   * What is said of a run.
   * @param {import("./link.js").Source} source
   * @param {import("../wire.js").GalleryItem | undefined} item
   * @param {import("../wire.js").RunHeader} header
   * @returns {Story | undefined}
   */
  of(source, item, header) {
    if (this.own || item) return this.own ?? item;
    if ("live" in source) return { title: say("“{lock}” in the cluster", { lock: source.live.lock }), summary: say("Recorded live: a unit of time is a millisecond. What the nodes knew was not recorded."), notes: [] };
    if (!("trace" in source)) return undefined;
    const summary = header.may_act ? say("What you do by hand begins another run from there on.") : say("It can be played, not changed: its alarms cannot be made to ring again.");
    return { title: say("A recorded run"), summary, notes: [] };
  }

  /**
   * What a link would lack.
   * @param {import("./link.js").Source} source
   * @returns {string | null}
   */
  lacks(source) {
    if ("trace" in source && !source.packed) return say("this run is too long for a link; export it as JSON Lines and pass the file on.");
    return this.own && !this.packed ? say("the notes are too long for a link; save the scenario and pass the file on.") : null;
  }
}
