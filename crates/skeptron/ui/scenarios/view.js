// The gallery: the classic examples, and the shortest runs that refute the broken variants.
import { h, clear, complaint } from "../lib/dom.js";
import { getJson } from "../lib/api.js";
import { href, note } from "../lib/address.js";
import { standalone } from "../lib/recorded.js";
import { sheet } from "../lib/sheet.js";
import { algorithms, choice, entry, field } from "../lib/form.js";
import { say, translated } from "../lib/language.js";
import { glimpses } from "./glimpse.js";

/** @typedef {import("../wire.js").GalleryItem} GalleryItem */
/** @typedef {import("../wire.js").AlgorithmInfo} AlgorithmInfo */
/** @typedef {{ words: string, algorithm: string }} Filter */
/** @typedef {{ item: GalleryItem, element: HTMLElement, algorithm: string, words: string }} Card */

/** What the page says of the gallery as a whole. @typedef {{ lecture: string[], groups: Record<string, string> }} Frame */

/**
 * @param {HTMLElement} root
 * @param {import("../lib/address.js").Address} address
 * @returns {() => void}
 */
export function show(root, address) {
  sheet("/ui/scenarios/view.css");
  const drawer = glimpses();
  const place = h("div", { class: "gallery" }, h("p", { class: "muted" }, say("The examples are on their way …")));
  root.append(h("div", { class: "page" }, introduction(), place));
  let ended = false;
  fill(place, address, drawer, () => ended).catch((error) => {
    if (!ended) place.replaceChildren(complaint(error));
  });
  return () => {
    ended = true;
    drawer.end();
  };
}

function introduction() {
  return h("header", {},
    h("h1", {}, say("Scenarios")),
    h("p", {}, say("The classic examples of the papers, told step by step: go forward and back, and look into the nodes. Below them, for every variant that is broken on purpose, the shortest run that shows it."), standalone ? "" : ` ${say("Each opens in Play, where what happens can be changed.")}`));
}

/**
 * @param {HTMLElement} place
 * @param {import("../lib/address.js").Address} address
 * @param {ReturnType<typeof glimpses>} drawer
 * @param {() => boolean} ended
 */
async function fill(place, address, drawer, ended) {
  const [items, infos, frame] = await Promise.all([
    /** @type {Promise<GalleryItem[]>} */ (getJson("/lab/scenarios")),
    algorithms(),
    /** @type {Promise<Frame>} */ (getJson("/ui/gallery.json")),
  ]);
  if (ended()) return;
  const known = new Map(infos.map((info) => [info.name, info]));
  const cards = items.map((item) => card(item, known));
  const sections = grouped(cards, frame);
  const path = lecture(items);
  const count = h("p", { class: "muted small", role: "status" });
  const nothing = h("p", { class: "notice", hidden: true }, say("No scenario fits. Take a word away, or choose all algorithms."));
  const filter = { words: address.params.get("words") ?? "", algorithm: address.params.get("algorithm") ?? "" };
  const apply = () => {
    const shown = cards.filter((card) => fits(card, filter));
    for (const card of cards) card.element.hidden = !shown.includes(card);
    for (const section of sections) section.hidden = !section.querySelector(".card:not([hidden])");
    count.textContent = shown.length === cards.length ? say("{n} scenarios", { n: cards.length }) : say("{shown} of {all} scenarios", { shown: shown.length, all: cards.length });
    nothing.hidden = shown.length > 0;
    path.hidden = shown.length < cards.length;
  };
  clear(place);
  place.append(toolbar(filter, cards, known, count, apply), path, nothing, ...sections);
  apply();
  for (const { item, element } of cards) {
    drawer.watch(/** @type {HTMLElement} */ (element.querySelector(".glimpse")), item.name);
  }
}

/**
 * @param {Filter} filter
 * @param {Card[]} cards
 * @param {Map<string, AlgorithmInfo>} known
 * @param {HTMLElement} count
 * @param {() => void} apply
 */
function toolbar(filter, cards, known, count, apply) {
  const changed = () => {
    apply();
    note("scenarios", Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== "")));
  };
  const search = entry(filter.words, () => {}, { class: "search", placeholder: say("deadlock, token, crash …") });
  search.addEventListener("input", () => {
    filter.words = search.value;
    changed();
  });
  const present = [...new Set(cards.map((card) => card.algorithm))];
  const titles = present.map((name) => ({ value: name, title: known.get(name)?.title ?? name }));
  titles.sort((a, b) => a.title.localeCompare(b.title));
  const select = choice([{ value: "", title: say("All algorithms") }, ...titles], filter.algorithm, (value) => {
    filter.algorithm = value;
    changed();
  });
  return h("div", { class: "fields gallery-tools" }, field(say("Search"), search), field(say("Algorithm"), select), count);
}

/** Every word must occur. @param {Card} card @param {Filter} filter */
function fits(card, filter) {
  const words = plain(filter.words).split(" ");
  return (!filter.algorithm || card.algorithm === filter.algorithm) && words.every((word) => card.words.includes(word));
}

/** Words as people type them: without accents, with plain hyphens. @param {string} text */
function plain(text) {
  return text.toLowerCase().normalize("NFD").replace(/[\u0300-\u036f]/g, "").replaceAll("–", "-").replaceAll("’", "'").replace(/\s+/g, " ").trim();
}

/**
 * The way through the gallery that a lecture takes.
 * @param {GalleryItem[]} items
 */
function lecture(items) {
  const stops = items.filter((item) => item.stop !== null);
  return h("nav", { class: "lecture panel", "aria-label": say("The lecture"), "data-test": "lecture" },
    h("h2", {}, say("The lecture")),
    h("p", { class: "muted" }, say("{stops} stops, from clocks to elections. The last note of each leads to the next.", { stops: stops.length })),
    h("ol", {}, stops.map((item) => h("li", {}, h("a", { href: href("play", { scenario: item.name }) }, translated(item.title))))));
}

/**
 * The sections of the gallery, in the order in which the server tells it.
 * @param {Card[]} cards
 * @param {Frame} frame
 * @returns {HTMLElement[]}
 */
function grouped(cards, frame) {
  /** @type {Map<string, Card[]>} */
  const groups = new Map();
  for (const card of cards) groups.set(card.item.group, [...(groups.get(card.item.group) ?? []), card]);
  return [...groups].map(([group, cards]) => h("section", { "aria-label": heading(group) },
    h("h2", {}, heading(group)),
    frame.groups[group] && h("p", { class: "muted" }, translated(frame.groups[group])),
    h("ul", { class: "cards" }, cards.map((card) => card.element))));
}

/** @param {string} group */
function heading(group) {
  const name = translated(group);
  return name.charAt(0).toUpperCase() + name.slice(1);
}

/**
 * @param {GalleryItem} item
 * @param {Map<string, AlgorithmInfo>} known
 * @returns {Card}
 */
function card(item, known) {
  const info = known.get(item.algorithm);
  const title = translated(item.title);
  const broken = info?.broken;
  const play = h("a", { class: "button primary", href: href("play", { scenario: item.name }), "aria-label": say("Play: {title}", { title }) }, say("Play"));
  const element = h("li", { class: "card panel" },
    h("div", { class: "glimpse", "aria-hidden": "true" }),
    h("h3", {}, item.stop !== null && h("span", { class: "muted" }, `${item.stop}. `), title),
    h("p", {}, translated(item.summary)),
    h("div", { class: "toolbar" },
      play,
      !item.title.includes(item.algorithm) && h("span", { class: "chip" }, h("code", {}, item.algorithm)),
      broken && h("span", { class: "chip bad" }, `✗ ${broken.breaks}`)));
  // What is found in English is found in every language.
  const said = [item.title, item.summary, item.group, ...item.tags, ...item.notes.map((note) => note.text)];
  const words = [...said, ...said.map(translated), item.algorithm, info?.title, info?.family, info?.paper, broken?.flaw, broken?.breaks];
  return { item, element, algorithm: broken?.of ?? item.algorithm, words: plain(words.join(" ")) };
}
