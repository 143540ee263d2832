// The gallery: the classic examples, and the shortest runs that refute the broken variants.
import { h, clear, complaint } from "../lib/dom.js";
import { getJson } from "../lib/api.js";
import { href, note } from "../lib/address.js";
import { sheet } from "../lib/sheet.js";
import { algorithms, choice, entry, field } from "../lib/form.js";
import { glimpses } from "./glimpse.js";

/** @typedef {import("../wire.js").GalleryItem} GalleryItem */
/** @typedef {import("../wire.js").AlgorithmInfo} AlgorithmInfo */
/** @typedef {{ words: string, algorithm: string }} Filter */
/** @typedef {{ item: GalleryItem, element: HTMLElement, algorithm: string, words: string }} Card */

/** The groups that the server fills. */
const ERRATA = "errata of the lectures";
const COUNTEREXAMPLES = "counterexamples";
/** From left to right through a lecture. */
const GROUPS = ["permissions", "quorums", "tokens", "elections", "assumptions dropped", ERRATA, COUNTEREXAMPLES];

/**
 * @param {HTMLElement} root
 * @param {import("../lib/address.js").Address} address
 * @returns {() => void}
 */
export function show(root, address) {
  sheet("/ui/scenarios/view.css");
  const drawer = glimpses();
  const place = h("div", { class: "gallery" }, h("p", { class: "muted" }, "The examples are on their way …"));
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
    h("h1", {}, "Scenarios"),
    h("p", {}, "The classic examples of the papers, told step by step. Each opens in Play: go forward and back, look into "
      + "the nodes, and change what happens. Below them, for every variant that is broken on purpose, the shortest run that shows it."));
}

/**
 * @param {HTMLElement} place
 * @param {import("../lib/address.js").Address} address
 * @param {ReturnType<typeof glimpses>} drawer
 * @param {() => boolean} ended
 */
async function fill(place, address, drawer, ended) {
  const [items, infos] = await Promise.all([
    /** @type {Promise<GalleryItem[]>} */ (getJson("/lab/scenarios")),
    algorithms(),
  ]);
  if (ended()) return;
  const known = new Map(infos.map((info) => [info.name, info]));
  const cards = items.map((item) => card(item, known));
  const sections = grouped(cards);
  const count = h("p", { class: "muted small", role: "status" });
  const nothing = h("p", { class: "notice", hidden: true }, "No scenario fits. Take a word away, or choose all algorithms.");
  const filter = { words: address.params.get("words") ?? "", algorithm: address.params.get("algorithm") ?? "" };
  const apply = () => {
    const shown = cards.filter((card) => fits(card, filter));
    for (const card of cards) card.element.hidden = !shown.includes(card);
    for (const section of sections) section.hidden = !section.querySelector(".card:not([hidden])");
    count.textContent = shown.length === cards.length ? `${cards.length} scenarios` : `${shown.length} of ${cards.length} scenarios`;
    nothing.hidden = shown.length > 0;
  };
  clear(place);
  place.append(toolbar(filter, cards, known, count, apply), nothing, ...sections);
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
  const search = entry(filter.words, () => {}, { class: "search", placeholder: "deadlock, token, crash …" });
  search.addEventListener("input", () => {
    filter.words = search.value;
    changed();
  });
  const present = [...new Set(cards.map((card) => card.algorithm))];
  const titles = present.map((name) => ({ value: name, title: known.get(name)?.title ?? name }));
  titles.sort((a, b) => a.title.localeCompare(b.title));
  const select = choice([{ value: "", title: "All algorithms" }, ...titles], filter.algorithm, (value) => {
    filter.algorithm = value;
    changed();
  });
  return h("div", { class: "fields gallery-tools" }, field("Search", search), field("Algorithm", select), count);
}

/** Every word must occur. @param {Card} card @param {Filter} filter */
function fits(card, filter) {
  const words = filter.words.toLowerCase().split(/\s+/);
  return (!filter.algorithm || card.algorithm === filter.algorithm) && words.every((word) => card.words.includes(word));
}

/**
 * The sections of the gallery; a group that is not among `GROUPS` comes first.
 * @param {Card[]} cards
 * @returns {HTMLElement[]}
 */
function grouped(cards) {
  /** @type {Map<string, Card[]>} */
  const groups = new Map();
  for (const card of cards) groups.set(card.item.group, [...(groups.get(card.item.group) ?? []), card]);
  const inOrder = [...groups].sort(([a], [b]) => GROUPS.indexOf(a) - GROUPS.indexOf(b));
  return inOrder.map(([group, cards]) => h("section", { "aria-label": heading(group) },
    h("h2", {}, heading(group)),
    group === ERRATA && h("p", { class: "muted" }, "What lectures print that is wrong or incomplete, and a run that shows it. docs/errata.md has the command of each, "
      + "and those that take no run to be seen."),
    group === COUNTEREXAMPLES && h("p", { class: "muted" }, "One rule of each is wrong, as in much lecture code. The "
      + "checker explores every interleaving of a small system; this is the shortest that goes wrong."),
    h("ul", { class: "cards" }, cards.map((card) => card.element))));
}

/** @param {string} group */
function heading(group) {
  return group.charAt(0).toUpperCase() + group.slice(1);
}

/**
 * @param {GalleryItem} item
 * @param {Map<string, AlgorithmInfo>} known
 * @returns {Card}
 */
function card(item, known) {
  const info = known.get(item.algorithm);
  const broken = info?.broken;
  const play = h("a", { class: "button primary", href: href("play", { scenario: item.name }), "aria-label": `Play: ${item.title}` }, "Play");
  const element = h("li", { class: "card panel" },
    h("div", { class: "glimpse", "aria-hidden": "true" }),
    h("h3", {}, item.title),
    h("p", {}, item.summary),
    broken && !item.summary.includes(broken.flaw) && h("p", { class: "small" }, h("strong", {}, "Its flaw: "), broken.flaw),
    h("div", { class: "toolbar" },
      play,
      !item.title.includes(item.algorithm) && h("span", { class: "chip" }, h("code", {}, item.algorithm)),
      broken && h("span", { class: "chip bad" }, `✗ ${broken.breaks}`)));
  const words = [item.title, item.summary, item.algorithm, item.group, info?.title, broken?.flaw, broken?.breaks];
  return { item, element, algorithm: broken?.of ?? item.algorithm, words: words.join(" ").toLowerCase() };
}
