// What the address of this view says, and what is noted in it.
import { note, pack, unpack } from "../lib/address.js";
import { say } from "../lib/language.js";
import { fromParams, toParams } from "./options.js";

/** @typedef {import("../wire.js").Act} Act */
/** @typedef {import("../wire.js").GalleryItem} GalleryItem */
/** What is said of a run. @typedef {Pick<GalleryItem, "title" | "summary" | "notes">} Story */
/**
 * What is played: a simulation, a scenario of the gallery, a recorded run, or what was recorded of a live cluster.
 * @typedef {{ sim: import("../wire.js").SimOptions } | { scenario: string } | { trace: string, packed: string | null } | { live: import("../cluster/live-run.js").Recording, packed: string }} Source
 */
/**
 * @typedef {object} Wish
 * @property {Source} source
 * @property {Act[] | undefined} acts
 * @property {number | null} at the position, or null: play from the beginning
 * @property {number} selected
 * @property {boolean} future
 * @property {Story | null} story what is said of it instead of what the gallery says
 * @property {string | null} tab which panel is open
 * @property {[number, number] | null} window which time is seen
 * @property {string | null} clocks which are shown, and the two events that are compared
 * @property {boolean} all whether the variables of all nodes are shown
 */

/** What a visitor sees who asks for nothing. */
const WELCOME = "ricart-agrawala-41-34";
const WELCOME_RUN = { algorithm: "ricart-agrawala", nodes: 3, entries: 3 };
/** How many characters of a recorded run, or of a story, an address carries. */
const LONGEST = 100_000;
/** How many entries are simulated if nobody says it. */
const ENTRIES = 20;

/**
 * What an address asks for.
 * @param {URLSearchParams} params
 * @param {GalleryItem[]} gallery
 * @param {import("../wire.js").AlgorithmInfo[]} infos
 * @returns {Promise<Wish>}
 */
export async function wished(params, gallery, infos) {
  const at = params.get("at");
  const selected = Number(params.get("select"));
  const story = params.get("story");
  const window = (params.get("seen") ?? "").split(",").map(Number);
  return {
    source: await sourceOf(params, gallery, infos),
    acts: actsOf(params.get("acts")),
    at: at !== null && Number.isFinite(Number(at)) ? Number(at) : null,
    selected: Number.isInteger(selected) && selected > 0 ? selected - 1 : -1,
    future: params.get("future") === "1",
    story: story ? JSON.parse(await unpack(story)) : null,
    tab: params.get("tab"),
    window: window.length === 2 && window[0] < window[1] ? [window[0], window[1]] : null,
    clocks: params.get("clocks"),
    all: params.get("all") === "1",
  };
}

/**
 * @param {URLSearchParams} params
 * @param {GalleryItem[]} gallery
 * @param {import("../wire.js").AlgorithmInfo[]} infos
 * @returns {Promise<Source>}
 */
async function sourceOf(params, gallery, infos) {
  const packed = params.get("trace");
  if (packed) return { trace: await unpack(packed), packed };
  const live = params.get("live");
  if (live) return { live: JSON.parse(await unpack(live)), packed: live };
  const scenario = params.get("scenario");
  if (scenario) return { scenario };
  if (params.has("algorithm")) return { sim: withEntries(fromParams(params), infos) };
  return gallery.some((item) => item.name === WELCOME) ? { scenario: WELCOME } : { sim: WELCOME_RUN };
}

/**
 * A run for the page is short unless the user wants a long one. Elections have no entries.
 * @param {import("../wire.js").SimOptions} sim
 * @param {import("../wire.js").AlgorithmInfo[]} infos
 * @returns {import("../wire.js").SimOptions}
 */
export function withEntries(sim, infos) {
  const elects = infos.some((info) => info.name === sim.algorithm && info.kind === "election");
  return sim.entries === undefined && !elects ? { ...sim, entries: ENTRIES } : sim;
}

/** @param {string | null} text @returns {Act[] | undefined} */
function actsOf(text) {
  if (!text) return undefined;
  try {
    const acts = JSON.parse(text);
    if (Array.isArray(acts)) return acts;
  } catch {
    // Said below: it is no list either way.
  }
  throw new Error(say("the link is damaged: what was done by hand cannot be read; copy it again as a whole"));
}

/**
 * A recorded run as something to play; its link carries it unless it is too long.
 * @param {string} trace
 * @returns {Promise<Source>}
 */
export async function recorded(trace) {
  return { trace, packed: await packedShort(trace) };
}

/**
 * A text as an address carries it; null if it is too long for that.
 * @param {string} text
 * @returns {Promise<string | null>}
 */
export async function packedShort(text) {
  const packed = await pack(text);
  return packed.length <= LONGEST ? packed : null;
}

/**
 * Notes what is shown in the address.
 * @param {Source} source
 * @param {{ acts: Act[] | null, at: number, selected: number, future: boolean, story: string | null, tab: string | null, window: [number, number] | null, goal: string | null, clocks: string | null, all: boolean }} shown acts are null if they are those of the source itself; the story is packed
 */
export function noted(source, { acts, at, selected, future, story, tab, window, goal, clocks, all }) {
  const params = "sim" in source ? toParams(source.sim) : new URLSearchParams();
  if ("scenario" in source) params.set("scenario", source.scenario);
  if ("trace" in source && source.packed) params.set("trace", source.packed);
  if ("live" in source) params.set("live", source.packed);
  if (acts) params.set("acts", JSON.stringify(acts));
  params.set("at", String(at));
  if (selected >= 0) params.set("select", String(selected + 1));
  if (future) params.set("future", "1");
  if (story) params.set("story", story);
  if (tab) params.set("tab", tab);
  if (goal) params.set("goal", goal);
  if (clocks) params.set("clocks", clocks);
  if (all) params.set("all", "1");
  if (window) params.set("seen", window.map((t) => t.toFixed(2)).join(","));
  note("play", params);
}

/**
 * From which position on two lists of deeds differ.
 * @param {Act[]} one
 * @param {Act[]} other
 * @returns {number} `Infinity` if they are the same
 */
export function parting(one, other) {
  const length = Math.max(one.length, other.length);
  for (let k = 0; k < length; k++) {
    if (!one[k] || !other[k]) return (one[k] ?? other[k]).after;
    if (canonical(one[k]) !== canonical(other[k])) return Math.min(one[k].after, other[k].after);
  }
  return Infinity;
}

/** Two deeds are the same in whatever order their parts are written. @param {Act} act */
function canonical(act) {
  return JSON.stringify(act, Object.keys(act).sort());
}
