// Building the page: elements, and what is said in passing.
import { locale, say } from "./language.js";

/** @typedef {Node | string | number | null | undefined | false} Child */

/**
 * An HTML element. Properties that begin with `on` are listeners, `class` and attributes are set as they
 * are; `false`, `null` and `undefined` leave an attribute out, `true` sets it empty.
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Record<string, unknown>} [properties]
 * @param {...(Child | Child[])} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  dress(element, properties, children);
  return element;
}

/**
 * An SVG element, in the same way.
 * @template {keyof SVGElementTagNameMap} T
 * @param {T} tag
 * @param {Record<string, unknown>} [properties]
 * @param {...(Child | Child[])} children
 * @returns {SVGElementTagNameMap[T]}
 */
export function s(tag, properties = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  dress(element, properties, children);
  return element;
}

/**
 * @param {Element} element
 * @param {Record<string, unknown>} properties
 * @param {(Child | Child[])[]} children
 */
function dress(element, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === false || value === null || value === undefined) continue;
    if (name.startsWith("on") && typeof value === "function") {
      element.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
    } else {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  for (const child of children.flat()) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
}

/**
 * Takes all children out.
 * @param {Element} element
 */
export function clear(element) {
  element.replaceChildren();
}

/**
 * An SVG picture that our own server drew, as an element.
 * @param {string} text
 * @returns {SVGSVGElement}
 */
export function picture(text) {
  const parsed = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
  if (!(parsed instanceof SVGSVGElement)) throw new Error(say("the server sent a picture that is none"));
  return /** @type {SVGSVGElement} */ (document.importNode(parsed, true));
}

/** @type {ReturnType<typeof setTimeout> | undefined} */
let fading;

/**
 * Says something in passing.
 * @param {string} message
 */
export function toast(message) {
  const place = /** @type {HTMLElement} */ (document.getElementById("toast"));
  place.textContent = message;
  place.classList.add("shown");
  clearTimeout(fading);
  // It stays in the page for who listens; empty, it says nothing twice.
  fading = setTimeout(() => { place.classList.remove("shown"); place.textContent = ""; }, 5000);
}

/**
 * What is English in every language: values of variables, and what the server says of itself. So it is read out as English.
 * @param {string} text
 * @returns {HTMLElement}
 */
export function english(text) {
  return h("span", { lang: locale === "en" ? null : "en" }, text);
}

/**
 * A sentence about what went wrong, to be put where it happened.
 * @param {unknown} error
 * @returns {HTMLElement}
 */
export function complaint(error) {
  const why = error instanceof Error ? error.message : String(error);
  const isServers = error instanceof Error && "status" in error && error.status !== 0;
  return h("div", { class: "notice bad", role: "alert" }, isServers ? english(why) : why);
}

/** So much of the window's height must an answer have, at least, to be seen. */
const SEEN = 0.2;

/**
 * Shows the answer to what was asked, where it stands below the question on a narrow page.
 * @param {Element} answer
 */
export function bringIntoSight(answer) {
  if (answer.getBoundingClientRect().top > innerHeight * (1 - SEEN)) answer.scrollIntoView({ block: "start" });
}
