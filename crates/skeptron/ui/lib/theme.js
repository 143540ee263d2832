// Light or dark: as the system says, or as the user chose. And the colours of kinds of messages in either.
import { COLOURS, ROLES } from "./kinds.js";
import { say } from "./language.js";

const KEY = "skeptron-theme";
const NEXT = /** @type {const} */ ({ auto: "light", light: "dark", dark: "auto" });

/** What was chosen, where the browser keeps nothing: in a frame of a course page, say. @type {string | null} */
let unkept = null;

/** @returns {keyof typeof NEXT} */
function chosen() {
  let kept = unkept;
  try {
    kept ??= localStorage.getItem(KEY);
  } catch {
    // Then it lasts as long as the page.
  }
  return kept === "light" || kept === "dark" ? kept : "auto";
}

/** @param {string} theme */
function choose(theme) {
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    unkept = theme;
  }
}

/** @type {Set<() => void>} */
const listeners = new Set();

const systemIsDark = matchMedia("(prefers-color-scheme: dark)");

function apply() {
  const kept = chosen();
  const theme = kept !== "auto" ? kept : systemIsDark.matches ? "dark" : "light";
  const root = document.documentElement;
  root.dataset.theme = theme;
  for (const [role, colour] of Object.entries(COLOURS)) root.style.setProperty(`--kind-${role}`, colour[theme]);
  for (const listener of listeners) listener();
}

/**
 * Calls back when the colours change, for what is drawn on a canvas.
 * @param {() => void} listener
 * @returns {() => void} what ends it
 */
export function onTheme(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/**
 * Makes the button that goes round the choices.
 * @param {HTMLButtonElement} button
 */
export function themeButton(button) {
  const name = () => {
    button.textContent = { auto: say("Theme: auto"), light: say("Theme: light"), dark: say("Theme: dark") }[chosen()];
  };
  button.addEventListener("click", () => {
    choose(NEXT[chosen()]);
    apply();
    name();
  });
  systemIsDark.addEventListener("change", apply);
  apply();
  name();
}

/**
 * The variable of the style sheet that has the colour of a kind of message: one for all that is for the same.
 * @param {string} label its name in the papers
 * @returns {string}
 */
export function kindColour(label) {
  return `kind-${ROLES[label] ?? "other"}`;
}

/** Whether the user wants little to move. */
export function prefersStill() {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}

/**
 * The colours of the style sheet, for a canvas. Ask again after `onTheme`.
 * @returns {(name: string) => string}
 */
export function colours() {
  const style = getComputedStyle(document.documentElement);
  /** @type {Map<string, string>} */
  const known = new Map();
  return (name) => {
    const kept = known.get(name);
    if (kept !== undefined) return kept;
    const value = style.getPropertyValue(`--${name}`).trim();
    known.set(name, value);
    return value;
  };
}
