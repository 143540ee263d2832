// The language of the page. Its texts stand in English in the code, and what the server says is English: a file for each
// other language has them by their English. A text may be a choice of plural forms, by the value `n`.
import { recordedAnswer, standalone } from "./recorded.js";

/** What each language calls itself, and how its numbers and plurals are. */
const LANGUAGES = { en: { name: "English", locale: "en" }, de: { name: "Deutsch", locale: "de" }, pt: { name: "Português", locale: "pt-PT" } };
const KEY = "skeptron-language";
const ASKED = "lang";

/** @typedef {keyof typeof LANGUAGES} Language */
/** @typedef {string | Record<string, string>} Text */
/** @typedef {Record<string, string | number | null | undefined>} Values */
/** @typedef {Record<string, string>} Told */
/** What a language has: texts of the page's code, of any run and answer of the server, of its algorithms and their rules' reasons, and of the gallery. @typedef {{ page: Record<string, Text>, run?: Told, catalogue?: Told, reasons?: Told, gallery?: Told }} Texts */

/** @param {string | null | undefined} tag @returns {Language | undefined} */
function offered(tag) {
  const found = Object.keys(LANGUAGES).find((name) => tag?.toLowerCase().split("-")[0] === name);
  return /** @type {Language | undefined} */ (found);
}

/** As the address says, or as it was chosen before, or as the page was exported, or as the browser's user reads. @returns {Language} */
function chosen() {
  const asked = new URLSearchParams(location.search).get(ASKED);
  return [asked, remembered(), document.documentElement.dataset.lang, ...navigator.languages].map(offered).find(Boolean) ?? "en";
}

function remembered() {
  try {
    return localStorage.getItem(KEY);
  } catch {
    // A frame of a course page may keep nothing.
    return null;
  }
}

/** The language that is shown. */
export const language = chosen();

/** Its numbers and plurals. */
export const { locale } = LANGUAGES[language];
document.documentElement.lang = locale;

/** @returns {Promise<Texts>} */
async function load() {
  const path = `/ui/languages/${language}.json`;
  if (standalone) return recordedAnswer(path) ?? { page: {} };
  try {
    return await (await fetch(path)).json();
  } catch {
    // The page begins all the same; that the server is gone it says itself.
    return { page: {} };
  }
}

// Whatever imports this waits for the texts, so that tables of texts can be made when a module begins.
const { page, run = {}, catalogue = {}, reasons = {}, gallery = {} } = await load();
const exact = new Map(Object.entries({ ...run, ...catalogue, ...reasons, ...gallery }));
const NAME = /\{(\w+)\}/g;
const plurals = new Intl.PluralRules(locale);

/**
 * A text of the page. What follows `##` only tells texts apart that are alike in English.
 * @param {string} text in English, with names in braces for its values
 * @param {Values} [values]
 * @returns {string}
 */
export function say(text, values) {
  const found = page[text] ?? text.replace(/##.*$/s, "");
  const form = typeof found === "string" ? found : (found[plurals.select(Number(values?.n))] ?? found.other);
  return values ? filled(form, values) : form;
}

/**
 * @param {string} form
 * @param {Values} values
 */
function filled(form, values) {
  return form.replaceAll(NAME, (whole, /** @type {string} */ name) => (name in values ? String(values[name] ?? "") : whole));
}

/** Texts of the server with something in them that varies, the longest first. */
const patterns = Object.entries(run).filter(([text]) => text.includes("{")).sort(([a], [b]) => b.length - a.length).map(([text, form]) => {
  const names = [...text.matchAll(NAME)].map(([, name]) => name);
  const literal = text.split(NAME).filter((_, k) => k % 2 === 0).map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return { pattern: new RegExp(`^${literal.join("(.+?)")}$`, "s"), names, form };
});

/**
 * What the server or the gallery says, in the language of the page; what is not known there stays as it is.
 * @param {string} text
 * @returns {string}
 */
export function translated(text) {
  const found = exact.get(text);
  if (found !== undefined || patterns.length === 0 || !/[a-z]{2}/.test(text)) return found ?? text;
  const told = varied(text);
  // Runs say the same again and again.
  if (exact.size < 20_000) exact.set(text, told);
  return told;
}

/** @param {string} text */
function varied(text) {
  for (const { pattern, names, form } of patterns) {
    const values = pattern.exec(text)?.slice(1);
    if (values) return filled(form, Object.fromEntries(names.map((name, k) => [name, translated(values[k])])));
  }
  return text;
}

/**
 * A number as the language writes it.
 * @param {number} value
 * @param {number} [digits] after the point
 * @returns {string}
 */
export function numeral(value, digits = 0) {
  return value.toLocaleString(locale, { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/**
 * Several things as one says them: `a and b`.
 * @param {string[]} items
 * @param {"conjunction" | "disjunction"} [type]
 * @returns {string}
 */
export function enumerated(items, type = "conjunction") {
  return new Intl.ListFormat(locale, { type }).format(items);
}

/**
 * Fills the choice of languages. Another one loads the page anew; its address says all that is shown.
 * @param {HTMLSelectElement} select
 * @param {() => boolean} ready says whether the page may go
 */
export function languageChoice(select, ready = () => true) {
  select.setAttribute("aria-label", say("Language"));
  for (const [value, { name, locale }] of Object.entries(LANGUAGES)) {
    const option = document.createElement("option");
    // Closed, the choice has room for the code alone.
    Object.assign(option, { value, lang: locale, textContent: `${value.toUpperCase()}\u2003${name}` });
    select.append(option);
  }
  select.value = language;
  select.addEventListener("change", () => {
    if (ready()) choose(select.value);
    else select.value = language;
  });
}

/** @param {string} name */
function choose(name) {
  const address = new URL(location.href);
  address.searchParams.delete(ASKED);
  try {
    localStorage.setItem(KEY, name);
  } catch {
    address.searchParams.set(ASKED, name);
  }
  history.replaceState(null, "", address);
  location.reload();
}
