// The gallery.
import assert from "node:assert/strict";
import { link, part, shown, site } from "./harness.js";
import { frames, goTo, openRun, steps } from "./play.js";

const lab = site("lab");

/** The classics that nobody should miss. */
const CLASSICS = ["ricart-agrawala-41-34", "lamport-queues", "lamport-not-fifo", "maekawa-13-naive", "maekawa-13", "sanders-4",
  "suzuki-kasami", "singhal-staircase", "raymond-seven", "token-ring", "central", "bully", "ring-election"];

lab.test("the classics hang in the gallery, and each has its picture", async (open) => {
  const page = await open("#/scenarios");
  await page.locator(".card").first().waitFor();
  const links = await page.locator(".card a").evaluateAll((links) => links.map((link) => link.getAttribute("href")));
  for (const name of CLASSICS) assert(links.includes(`#/play?scenario=${name}`), name);
  for (const card of await page.locator("section:not([aria-label=Counterexamples]) .card").all()) {
    await card.scrollIntoViewIfNeeded();
    await card.locator("svg.glimpse-picture .life").first().waitFor({ state: "attached" });
  }
});

lab.test("it is searched by words and by algorithm, and the address keeps that", async (open) => {
  const page = await open("#/scenarios");
  const shown = () => page.locator(".card:visible h3").allTextContents();
  await page.locator(".card").first().waitFor();
  const all = (await shown()).length;

  await page.getByLabel("Search").fill("deadlock NAIVELY");
  assert.deepEqual(await shown(), ["10. Maekawa on 13 nodes, naively: deadlock"]);
  await page.getByLabel("Search").fill("no such thing");
  assert.deepEqual(await shown(), []);
  await page.getByText("No scenario fits").waitFor();

  await page.getByLabel("Search").fill("");
  assert.equal((await shown()).length, all);
  await page.getByLabel("Algorithm").selectOption("maekawa");
  const found = await shown();
  assert(found.length > 0 && found.length < all);

  const again = await open(await link(page, /algorithm=maekawa/));
  await again.locator(".card:visible").first().waitFor();
  assert.deepEqual(await again.locator(".card:visible h3").allTextContents(), found);
});

/** What people search for, and something that it must find: the summaries say it in other words. */
const SOUGHT = [
  ["deadlock", ["maekawa-13-naive", "counterexample/ricart-agrawala-late-stamp", "counterexample/sanders-naive"]],
  ["starvation", ["counterexample/maekawa-id-first"]],
  ["two leaders", ["bully-two-leaders", "counterexample/bully-short-timeout"]],
  ["mutual exclusion", ["lamport-not-fifo", "counterexample/raymond-eager-root"]],
  ["partition", ["invitation-partition"]],
  ["crash", ["ricart-agrawala-crash", "bully", "ring-election"]],
  ["naimi-trehel", ["naimi-trehel"]],
  ["logical clock", ["logical-clocks"]],
];

lab.test("the search finds what the summaries mean", async (open) => {
  const page = await open("#/scenarios");
  await page.locator(".card").first().waitFor();
  const all = await page.locator(".card").count();
  for (const [words, names] of /** @type {[string, string[]][]} */ (SOUGHT)) {
    await page.getByLabel("Search").fill(words);
    const links = await page.locator(".card:visible a").evaluateAll((links) => links.map((link) => decodeURIComponent(link.getAttribute("href") ?? "")));
    for (const name of names) assert(links.includes(`#/play?scenario=${name}`), `${words}: ${name} is not among ${links.length}`);
    assert(links.length < 0.8 * all, `${words} finds ${links.length}`);
  }
});

lab.test("the lecture leads from stop to stop", async (open) => {
  const page = await open("#/scenarios", { still: true });
  const stops = part(page, "lecture").locator("li a");
  await stops.first().waitFor();
  const titles = await stops.allTextContents();
  assert.match(titles[0], /clock/i);
  assert.match(titles[1], /central/i);
  assert.match(titles[2], /ring/i);
  assert.match(titles[3], /Lamport/);
  await stops.nth(1).click();
  await shown(page, "play");
  await part(page, "note-next").waitFor();
  const onward = part(page, "play-onward");
  while (!(await part(page, "note-next").isDisabled())) {
    assert(!(await onward.isVisible()));
    await part(page, "note-next").click();
    await frames(page);
  }
  await onward.filter({ hasText: titles[2] }).click();
  await page.waitForURL(/scenario=token-ring/);
});

lab.test("every broken variant has its counterexample there, with a title and two sentences", async (open) => {
  const page = await open("#/scenarios?words=counterexamples");
  await page.locator(".card:visible").first().waitFor();
  const broken = await page.evaluate(async () => {
    const infos = /** @type {{ name: string, broken: object | null }[]} */ (await (await fetch("/lab/algorithms")).json());
    return infos.flatMap((info) => (info.broken ? [info.name] : []));
  });
  assert(broken.length > 20);
  for (const name of broken) {
    const card = page.locator(".card", { has: page.locator(`a[href="#/play?scenario=counterexample%2F${name}"]`) });
    assert.match((await card.locator("h3").textContent()) ?? "", /: ./, name);
    assert.match((await card.locator("p").first().textContent()) ?? "", /^[A-ZÀ-ž].*\. .*\.$/, name);
  }
});

lab.test("a counterexample of the gallery plays to its violation", async (open) => {
  const page = await openRun(open, "#/play?scenario=counterexample/lamport-without-fifo&at=0");
  const verdict = part(page, "verdict-exclusion");
  const before = await verdict.textContent();
  await goTo(page, await steps(page));
  assert.notEqual(await verdict.textContent(), before);
});

lab.test("a card opens its run in Play, by the keyboard alone", async (open) => {
  const page = await open("#/scenarios?words=41", { still: true });
  await page.getByRole("link", { name: "Play: Ricart–Agrawala: 41 against 34" }).focus();
  await page.keyboard.press("Enter");
  await page.waitForURL(/#\/play\?.*scenario=ricart-agrawala-41-34/);
  await shown(page, "play");
});
