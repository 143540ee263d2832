// The gallery.
import assert from "node:assert/strict";
import { link, part, shown, site } from "./harness.js";
import { goTo, openRun, steps } from "./play.js";

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
  assert.deepEqual(await shown(), ["Maekawa on 13 nodes, naively: deadlock"]);
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

lab.test("every broken variant has its counterexample there, with its flaw", async (open) => {
  const page = await open("#/scenarios?words=counterexamples");
  await page.locator(".card:visible").first().waitFor();
  const broken = await page.evaluate(async () => {
    const infos = /** @type {{ name: string, broken: { flaw: string } | null }[]} */ (await (await fetch("/lab/algorithms")).json());
    return infos.flatMap((info) => (info.broken ? [[info.name, info.broken.flaw]] : []));
  });
  assert(broken.length > 20);
  const cards = await page.locator(".card:visible").allTextContents();
  for (const [name, flaw] of broken) {
    assert(cards.some((text) => text.includes(name) && text.includes(flaw)), name);
  }
});

lab.test("a counterexample of the gallery plays to its violation", async (open) => {
  const page = await openRun(open, "#/play?scenario=counterexample/lamport-without-fifo&at=0");
  const lamp = part(page, "lamp-exclusion");
  const before = await lamp.textContent();
  await goTo(page, await steps(page));
  assert.notEqual(await lamp.textContent(), before);
});

lab.test("a card opens its run in Play, by the keyboard alone", async (open) => {
  const page = await open("#/scenarios?words=41", { still: true });
  await page.getByRole("link", { name: "Play: Ricart–Agrawala: 41 against 34" }).focus();
  await page.keyboard.press("Enter");
  await page.waitForURL(/#\/play\?.*scenario=ricart-agrawala-41-34/);
  await shown(page, "play");
});
