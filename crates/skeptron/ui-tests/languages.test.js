// The languages of the page: that nothing is missing in any, by the files alone. What a page shows in them is
// seen by translated.test.js.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { serve } from "./harness.js";

const ui = new URL("../ui/", import.meta.url);
const read = (/** @type {string} */ path) => readFileSync(new URL(path, ui), "utf8");
const json = (/** @type {string} */ path) => JSON.parse(read(path));

/** @typedef {Record<string, string | Record<string, string>>} Section */

/** How the plurals of each language are chosen. */
const LOCALES = { en: "en", de: "de", pt: "pt-PT" };
const OTHERS = /** @type {const} */ (["de", "pt"]);
/** @type {Record<string, Record<string, Section>>} */
const languages = Object.fromEntries(Object.keys(LOCALES).map((name) => [name, json(`languages/${name}.json`)]));

/** @param {string} folder @returns {string[]} */
function modules(folder) {
  return readdirSync(new URL(folder, ui), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}${entry.name}`;
    return entry.isDirectory() ? modules(`${path}/`) : path.endsWith(".js") ? [path] : [];
  });
}

/** The texts that the code of the page says. */
const spoken = new Set(modules("").filter((path) => path !== "lib/language.js").flatMap((path) =>
  [...read(path).matchAll(/\bsay\(("(?:[^"\\]|\\.)*")/g)].map(([, text]) => JSON.parse(text))).concat("Language"));

/** The forms of a text. @param {string | Record<string, string>} text */
const forms = (text) => (typeof text === "string" ? [text] : Object.values(text));
/** The names in braces. @param {string} text */
const names = (text) => new Set([...text.matchAll(/\{[^{}\s]+\}/g)].map(([name]) => name));

/** @param {Iterable<string>} wanted @param {Section} found @param {string} where */
function same(wanted, found, where) {
  const all = new Set(wanted);
  assert.deepEqual([...all].filter((text) => !(text in found)), [], `not in ${where}`);
  assert.deepEqual(Object.keys(found).filter((text) => !all.has(text)), [], `only in ${where}`);
}

test("there is a file for each language, and no other", () => {
  assert.deepEqual(readdirSync(new URL("languages/", ui)).sort(), Object.keys(LOCALES).map((name) => `${name}.json`).sort());
});

test("the page says nothing that cannot be looked up", () => {
  for (const path of modules("")) {
    if (path === "lib/language.js") continue;
    for (const [line] of read(path).matchAll(/^.*(?<![\w.#])say\((?!").*$/gm)) assert.fail(`${path}: ${line.trim()}`);
  }
});

for (const name of OTHERS) {
  const { page, run, catalogue, reasons, gallery } = languages[name];

  test(`${name} has every text of the page, and no other`, () => same(spoken, page, `${name}.json`));

  test(`${name} puts the same values into every text`, () => {
    for (const section of [page, run, catalogue, reasons, gallery]) {
      for (const [text, translated] of Object.entries(section)) {
        for (const form of forms(translated)) {
          // One thing may be named without its number.
          const wanted = [...names(text)].filter((value) => value !== "{n}" || form.includes("{n}"));
          assert.deepEqual([...names(form)].sort(), wanted.sort(), text);
          assert.notEqual(form.trim(), "", text);
        }
      }
    }
  });

  test(`${name} has every text of the gallery, and no other`, () => same(galleryTexts(), gallery, `${name}.json`));

  // Notes are tested against their runs in English: a translation speaks of the same nodes, messages and numbers.
  test(`${name} says in its notes what the English ones say`, () => {
    const facts = (/** @type {string} */ text) => [...new Set(text.match(/P\d+|[A-Z]{2,}|\d+|[₀-₉]|[<=∉√]/g))].sort();
    for (const note of notes()) assert.deepEqual(facts(String(gallery[note])), facts(note), note);
  });
}

test("a text that has plural forms has them in every language", () => {
  const counted = Object.keys(languages.en.page).sort();
  for (const [name, locale] of Object.entries(LOCALES)) {
    const { page } = languages[name];
    assert.deepEqual(Object.keys(page).filter((text) => typeof page[text] === "object").sort(), counted, name);
    const categories = new Intl.PluralRules(locale).resolvedOptions().pluralCategories;
    for (const text of counted) {
      assert(Object.keys(page[text]).every((form) => categories.includes(/** @type {Intl.LDMLPluralRule} */ (form))), text);
      assert("other" in Object(page[text]), text);
    }
  }
  assert(counted.every((text) => spoken.has(text)));
});

test("every language has every text of the catalogue, and no other", async () => {
  const server = await serve(["lab"]);
  try {
    const algorithms = /** @type {import("../ui/wire.js").AlgorithmInfo[]} */ (await (await fetch(`${server.url}lab/algorithms`)).json());
    const texts = algorithms.flatMap(({ idea, rules, notes, variables, broken }) =>
      [idea, ...rules, ...notes, ...variables.map(({ meaning }) => meaning), ...(broken ? [broken.flaw] : [])]);
    const reasons = algorithms.flatMap(({ fires }) => fires.map((line) => line.split("|")[2].trim()));
    for (const name of OTHERS) {
      same(texts, languages[name].catalogue, `${name}.json`);
      same(reasons.filter(Boolean), languages[name].reasons, `${name}.json`);
      for (const { broken } of algorithms) assert(!broken || broken.breaks in languages[name].run, broken?.breaks);
    }
  } finally {
    await server.stop();
  }
});

/** @returns {any[]} */
function scenarios() {
  return readdirSync(new URL("scenarios/", ui)).filter((file) => file.endsWith(".json")).map((file) => json(`scenarios/${file}`));
}

/** What is said step by step. */
function notes() {
  return scenarios().flatMap((scenario) => scenario.notes.map((/** @type {{ text: string }} */ note) => note.text));
}

/** All that the files of the gallery say. @returns {string[]} */
function galleryTexts() {
  const { groups } = json("gallery.json");
  const { goals } = json("exercises.json");
  return [
    ...Object.entries(groups).flat(),
    ...scenarios().flatMap(({ title, summary, tags = [] }) => [title, summary, ...tags]), ...notes(),
    ...Object.values(json("counterexamples.json")).flatMap(({ title, text }) => [title, text]), ...TAGS,
    ...goals.flatMap((/** @type {any} */ { title, task, hints }) => [title, task, ...hints]),
    ...errata(),
  ];
}

/** What each kind of counterexample is also called; see src/lab/counterexamples.rs. */
const TAGS = [...read("../src/lab/counterexamples.rs").matchAll(/=> &\[(.*?)\]|vec!\[("erratum".*?)\]/g)]
  .flatMap(([, one, other]) => [...(one ?? other).matchAll(/"([^"]+)"/g)].map(([, tag]) => tag));

/** What the errata that a run shows say; see src/errata.rs. */
function errata() {
  const rows = read("../../../docs/errata.md").split("\n").filter((line) => line.startsWith("| 00"));
  return rows.flatMap((row) => {
    const [, , printed, right, command] = row.replaceAll("\\|", "\u0001").split("|").map((cell) => cell.trim().replaceAll("\u0001", "|"));
    return /^`?skeptron (check|sim) /.test(command) ? [printed, right] : [];
  });
}
