// The keys of the view.

/**
 * What they do.
 * @typedef {object} Given
 * @property {import("./playhead.js").Playhead} playhead
 * @property {import("./transport.js").Transport} transport
 * @property {import("./present.js").Present} present
 * @property {import("./acting.js").Acting} acting
 * @property {(factor: number) => void} zoom
 * @property {() => void} fit
 */

/** How much a key zooms. */
const ZOOM = 1.4;

/**
 * Listens until it is ended.
 * @param {Given} given
 * @param {AbortSignal} signal
 */
export function listenToKeys(given, signal) {
  document.addEventListener("keydown", (event) => {
    const asked = event.altKey || event.defaultPrevented || isForField(event, given.present.on) ? null : deedOf(event, given);
    if (!asked) return;
    event.preventDefault();
    asked();
  }, { signal });
}

/** The keys by which a slider moves. */
const SLIDES = new Set(["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "PageUp", "PageDown", "Home", "End"]);

/**
 * Whether a key is for the field that has the focus. On the stage a slider takes none: the speaker's remote goes by note even after
 * a click on it.
 * @param {KeyboardEvent} event
 * @param {boolean} presenting
 */
function isForField({ target, key }, presenting) {
  if (target instanceof HTMLInputElement) {
    if (target.type === "range") return !presenting && SLIDES.has(key);
    return target.type !== "checkbox" || key === " ";
  }
  return target instanceof HTMLSelectElement || target instanceof HTMLTextAreaElement;
}

/**
 * @param {KeyboardEvent} event
 * @param {Given} given
 * @returns {(() => void) | null | undefined}
 */
function deedOf(event, { playhead, transport, present, acting, zoom, fit }) {
  const { key, target } = event;
  if (event.ctrlKey || event.metaKey) return historyOf(event, acting);
  const onButton = target instanceof Element && target.closest("button, summary, a") !== null;
  if (onButton && key === " ") return null;
  const go = (/** @type {number} */ position) => { playhead.pause(); playhead.jump(position); };
  /** @type {Record<string, () => void>} */
  const deeds = { " ": () => transport.toggle(), ArrowRight: () => playhead.step(1), ArrowLeft: () => playhead.step(-1), Home: () => go(0), End: () => go(Infinity),
    "+": () => zoom(ZOOM), "=": () => zoom(ZOOM), "-": () => zoom(1 / ZOOM), 0: fit };
  return present.key(key) ?? deeds[key];
}

/** Ctrl+Z, Ctrl+Shift+Z and Ctrl+Y. @param {KeyboardEvent} event @param {import("./acting.js").Acting} acting */
function historyOf(event, acting) {
  const key = event.key.toLowerCase();
  if (key !== "z" && key !== "y") return null;
  return key === "y" || event.shiftKey ? () => acting.redo() : () => acting.undo();
}
