// The page in other languages. In a language made for this test every text is in brackets: what is seen without them
// is either a name that stays as it is, or was forgotten.
import assert from "node:assert/strict";
import { part, settled, shown, site } from "./harness.js";
import { faults } from "./layout.js";
import { openRun } from "./play.js";

/** @typedef {import("playwright-core").Page} Page */

const lab = site("lab");
const up = site("up", "--nodes", "3");
const SIZES = [{ width: 1024, height: 768 }, { width: 1280, height: 800 }];

/** What is shown, and what tells that it is there. */
const SIGHTS = [
  { hash: "#/play?scenario=ricart-agrawala-41-34&at=7", view: "play", tabs: ["nodes", "rules", "steps", "figures", "hand", "notes", "about"] },
  { hash: "#/play?scenario=bully&at=30", view: "play", tabs: ["rules", "steps", "figures"] },
  { hash: "#/play?scenario=counterexample/raymond-eager-root", view: "play", tabs: ["steps", "about"] },
  { hash: "#/scenarios", view: "scenarios" },
  { hash: "#/exercises", view: "exercises" },
  { hash: "#/exercises?predict=central", view: "exercises" },
  { hash: "#/exercises?bug=ricart-agrawala-no-tie-break", view: "exercises" },
  { hash: "#/compare?nodes=2,4&seeds=1", view: "compare" },
  { hash: "#/compare?show=beside", view: "compare" },
  { hash: "#/check", view: "check" },
  { hash: "#/quorums?kind=best&nodes=7", view: "quorums" },
  { hash: "#/quorums?show=structures", view: "quorums" },
  { hash: "#/elections?sizes=4&seeds=2", view: "elections" },
  { hash: "#/cluster", view: "cluster" },
];

/** Every text of a language in brackets. @param {any} language */
function bracketed(language) {
  const mark = (/** @type {any} */ text, /** @type {any} */ form) => (typeof form === "string" ? `⟦${text.replace(/##.*$/, "")}⟧` : Object.fromEntries(Object.keys(form).map((one) => [one, `⟦${text}⟧`])));
  return Object.fromEntries(Object.entries(language).map(([section, texts]) => [section, Object.fromEntries(Object.entries(texts).map(([text, form]) => [text, mark(text, form)]))]));
}

/**
 * What is seen without brackets, apart from names.
 * @param {Page} page
 * @param {string[]} names
 */
function unmarked(page, names) {
  return page.evaluate((names) => {
    const bare = (/** @type {string} */ text) => {
      let rest = text;
      for (let before = ""; before !== rest;) [before, rest] = [rest, rest.replace(/⟦[^⟦⟧]*⟧/gs, "·")];
      for (const name of names) rest = rest.replaceAll(name, "·");
      // Messages, formulas and units stay as in the papers.
      return rest.replace(/https?:\S+|\b[A-Z_]{2,}s?\b|\bP\d+\b|\b(?:min|ms|max|log)\b|\.\w+\b|--\w+/g, "·");
    };
    const found = new Set();
    const judge = (/** @type {string | null} */ text, /** @type {string} */ where) => {
      if (text && /\p{Ll}{2}/u.test(bare(text))) found.add(`${where}: ${text.trim().slice(0, 120)}`);
    };
    const stays = "[lang]:not(html), code, pre, kbd, script, style, .command, .mono";
    const all = document.createTreeWalker(document.body, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT);
    for (let node = all.nextNode(); node; node = all.nextNode()) {
      if (node instanceof Text) {
        const parent = /** @type {Element} */ (node.parentElement);
        // A long name may be broken, and is one name all the same.
        const words = parent.querySelector(":scope > wbr") ? parent.textContent : node.data;
        if (!parent.closest(stays) && !parent.closest("noscript")) judge(words, parent.className && typeof parent.className === "string" ? `${parent.tagName}.${parent.className}` : parent.tagName);
      } else if (node instanceof Element) {
        for (const name of ["title", "aria-label", "placeholder", "alt", "aria-valuetext", "label"]) judge(node.getAttribute(name), `${node.tagName}[${name}]`);
      }
    }
    return [...found];
  }, names);
}

/** Names that stay: of algorithms, messages, variables, constructions. @param {Page} page */
async function staying(page) {
  const found = await page.evaluate(async () => {
    const infos = await (await fetch("/lab/algorithms")).json();
    return infos.flatMap((/** @type {any} */ info) => [info.name, info.title, info.paper, ...info.variables.flatMap((/** @type {any} */ { field, symbol }) => [field, symbol])]);
  });
  return [...new Set([...found, ...NAMES])].filter((name) => name.length > 1).sort((a, b) => b.length - a.length);
}

const NAMES = ["Skeptron", "Lamport", "Ricart–Agrawala", "English", "Deutsch", "Português", "Mermaid", "ShiViz", "Perfetto", "TikZ", "Ctrl", "Shift", "demo", "Trace",
  // Values of options, as the command line takes them.
  "maekawa-13", "projective", "cyclic", "grid", "triangle", "majority", "wall", "tree", "hierarchical", "fano", "singleton", "weighted", "all", "round-robin", "balanced", "sanders-4"];

/** What each language calls the views. */
const NAVIGATION = {
  de: ["Abspielen", "Szenarien", "Übungen", "Vergleich", "Prüfen", "Quoren", "Wahlen", "Cluster"],
  pt: ["Reproduzir", "Cenários", "Exercícios", "Comparar", "Verificar", "Quóruns", "Eleições", "Cluster"],
};

for (const [lang, views] of Object.entries(NAVIGATION)) {
  lab.test(`every view is laid out well in ${lang}`, async (open) => {
    const page = await open(`?lang=${lang}#/scenarios`, { still: true });
    await page.locator(".card").first().waitFor();
    assert.deepEqual(await page.locator("nav#views a").allTextContents(), views);
    for (const { hash, view } of SIGHTS) {
      await page.evaluate((hash) => { location.hash = hash; }, hash);
      await shown(page, view);
      await settled(page);
      for (const size of SIZES) {
        await page.setViewportSize(size);
        await page.waitForTimeout(150);
        assert.deepEqual(await faults(page), [], `${hash} at ${size.width} × ${size.height}`);
        const nav = await page.locator("nav#views").boundingBox();
        for (const link of await page.locator("nav#views a").all()) {
          const box = await link.boundingBox();
          assert(nav && box && box.x >= 0 && box.x + box.width <= nav.x + nav.width + 1, `${await link.textContent()} is not in sight at ${size.width}`);
        }
      }
    }
  });
}

lab.test("the language is that of the address, or the one chosen, or the browser's", async (open) => {
  const page = await open("#/play?scenario=central&at=9", { still: true, locale: "de-AT" });
  const language = () => page.evaluate(() => document.documentElement.lang);
  const note = () => part(page, "play-note").innerText();
  await part(page, "play-note").waitFor();
  assert.equal(await language(), "de");
  assert.match(await note(), /^Der Abschnitt gehört P2, also kommt P3 in die Warteschlange/);
  await page.locator("#language").selectOption("pt");
  await page.locator("html[lang=pt-PT]").waitFor();
  await part(page, "play-note").waitFor();
  assert.match(await note(), /^A secção é de P2, por isso P3 vai para a fila/, "what was in sight is in sight again");
  await page.goto(`${lab.url()}?lang=en#/play?scenario=central&at=9`);
  await part(page, "play-note").waitFor();
  assert.equal(await language(), "en");
  await page.goto(`${lab.url()}#/scenarios`);
  await page.locator(".card").first().waitFor();
  assert.equal(await language(), "pt-PT", "what was chosen is remembered");
});

lab.test("a scenario is found by words of the language, and by English ones", async (open) => {
  const page = await open("?lang=de#/scenarios", { still: true });
  await page.locator(".card").first().waitFor();
  for (const words of ["Verklemmung", "deadlock"]) {
    await page.locator("input.search").fill(words);
    assert(await page.getByRole("link", { name: "Abspielen: Maekawa mit 13 Knoten, naiv: Verklemmung" }).isVisible(), words);
  }
});

lab.test("the rule, its reason and each step are told in the language", async (open) => {
  const page = await open("?lang=de#/play?scenario=ricart-agrawala-41-34&at=7", { still: true });
  await part(page, "play-fired").filter({ hasText: "Regel 2" }).waitFor();
  assert.match(await part(page, "play-fired").innerText(), /34 < 41, also stellt P2 zurück/);
  assert.match(await part(page, "play-told").innerText(), /^P2 empfängt REQUEST 41 von P1\.$/);
  await page.goto(`${lab.url()}?lang=pt#/play?scenario=ricart-agrawala-41-34&at=7`);
  await part(page, "play-fired").filter({ hasText: "Regra 2" }).waitFor();
  assert.match(await part(page, "play-fired").innerText(), /34 < 41, por isso P2 adia/);
});

/**
 * Shows something in the language of brackets.
 * @param {import("./harness.js").Open} open
 * @param {string} address
 */
async function openBracketed(open, address) {
  const page = await open("", { still: true });
  await page.route("**/ui/languages/de.json", async (route) => route.fulfill({ json: bracketed(await (await route.fetch()).json()) }));
  await page.goto(address);
  return page;
}

up.test("a live cluster says nothing that no language knows", async (open) => {
  const page = await openBracketed(open, `${up.url()}?lang=de#/cluster?lock=door`);
  await part(page, "cluster-node").selectOption("2");
  await part(page, "cluster-acquire").click();
  await part(page, "cluster-said").filter({ hasText: /P2 holds/ }).waitFor();
  await part(page, "cluster-cut-3").click();
  await part(page, "cluster-news").filter({ hasText: /cut off/ }).waitFor();
  const names = await staying(page);
  // Why a link is down is the server's to say.
  assert.deepEqual(await unmarked(page, ["door", "this node has blocked it, to try out a partition", "cut on request", ...names]), []);
  await part(page, "cluster-cut-3").click();
  await part(page, "cluster-release").click();
});

for (const { hash, view, tabs = [] } of SIGHTS) {
  lab.test(`${hash} says nothing that no language knows`, async (open) => {
    const page = await openBracketed(open, `${lab.url()}?lang=de${hash}`);
    await shown(page, view);
    await settled(page);
    const names = await staying(page);
    for (const tab of tabs.length > 0 ? tabs : [""]) {
      if (tab) await part(page, `tab-${tab}`).click();
      await settled(page);
      assert.deepEqual(await unmarked(page, names), [], tab);
    }
  });
}

for (const lang of ["en", "de", "pt"]) {
  lab.test(`on a beamer of 1024 × 768 no sentence is cut, and every node is named: ${lang}`, async (open) => {
    for (const run of ["scenario=maekawa-13-naive&at=400", "scenario=logical-clocks&clocks=vector&at=12", "scenario=bully&at=20"]) {
      const page = await openRun(open, `?lang=${lang}#/play?${run}`, { width: 1024, height: 768 });
      const cut = await page.locator(".play-left").evaluate((panel) => [...panel.querySelectorAll("span, a, p, output, button, strong")].flatMap((element) => {
        const [box, frame] = [element.getBoundingClientRect(), panel.getBoundingClientRect()];
        const isCut = box.right > frame.right || box.bottom > frame.bottom || element.scrollHeight > element.clientHeight + 3 && getComputedStyle(element).overflow !== "visible";
        return element.checkVisibility() && box.width > 0 && isCut && !element.closest(".unseen") ? [element.textContent] : [];
      }));
      assert.deepEqual(cut, [], run);
      const rows = Number(await part(page, "play-nodes-panel").locator(".play-card").count());
      const { height } = await part(page, "play-diagram").evaluate((canvas) => canvas.getBoundingClientRect());
      assert(height >= 26 + rows * 12, `${rows} rows have ${height} pixels: ${run}`);
    }
  });
}
