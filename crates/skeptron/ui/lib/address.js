// The address: everything that makes a view is in it, so a link reproduces the view.
import { say } from "./language.js";

/** @typedef {{ view: string, params: URLSearchParams }} Address */

/** What the address says now. @returns {Address} */
export function current() {
  const [view, query = ""] = location.hash.replace(/^#\/?/, "").split("?", 2);
  return { view, params: new URLSearchParams(query) };
}

/**
 * The address of a view.
 * @param {string} view
 * @param {URLSearchParams | Record<string, string>} [params]
 * @returns {string}
 */
export function href(view, params) {
  const query = new URLSearchParams(params).toString();
  return `#/${view}${query ? `?${query}` : ""}`;
}

/**
 * Goes to a view: as a link would.
 * @param {string} view
 * @param {URLSearchParams | Record<string, string>} [params]
 */
export function go(view, params) {
  location.hash = href(view, params);
}

/**
 * Notes what is shown now without showing it anew and without a step in the browser's history. Often
 * called while something plays, so it is written at most a few times a second: browsers refuse more.
 * @param {string} view
 * @param {URLSearchParams | Record<string, string>} params
 */
export function note(view, params) {
  noted = { view, href: href(view, params) };
  pending ??= setTimeout(write, 250);
}

function write() {
  clearTimeout(pending);
  pending = undefined;
  if (noted && current().view === noted.view) history.replaceState(null, "", noted.href);
  noted = null;
}

/** @type {{ view: string, href: string } | null} */
let noted = null;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let pending;
/** @type {() => string | null} */
let lacks = () => null;

/**
 * A view says what a link to it would lack. It is asked when one is copied, and notes what it shows first.
 * @param {() => string | null} says
 */
export function onCopy(says) {
  lacks = says;
}

/**
 * The address of exactly what is shown, or why there is none.
 * @returns {{ href: string } | { why: string }}
 */
export function exactLink() {
  const why = lacks();
  if (why) return { why };
  if (pending !== undefined) write();
  return { href: location.href };
}

/**
 * Calls back when the user goes elsewhere.
 * @param {() => void} changed
 */
export function onChange(changed) {
  window.addEventListener("hashchange", () => {
    // What was noted of the view before must not overwrite where the user goes.
    clearTimeout(pending);
    pending = undefined;
    noted = null;
    lacks = () => null;
    changed();
  });
}

/**
 * Text in little space, for an address: deflated, in the alphabet of addresses.
 * @param {string} text
 * @returns {Promise<string>}
 */
export async function pack(text) {
  const packed = new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(packed).arrayBuffer());
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/**
 * What `pack` packed.
 * @param {string} packed
 * @returns {Promise<string>}
 */
export async function unpack(packed) {
  try {
    const binary = atob(packed.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0));
    const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    return await new Response(plain).text();
  } catch {
    throw new Error(say("the link is damaged: what it carries cannot be unpacked; copy it again as a whole"));
  }
}
