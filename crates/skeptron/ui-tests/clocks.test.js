// The clocks of the lectures in Play: shown when they are asked for, and two events compared.
import assert from "node:assert/strict";
import { link, part, site } from "./harness.js";
import { frames, goTo, openRun, sight } from "./play.js";

const lab = site("lab");

/** Until what is told about two events is there. @param {import("playwright-core").Page} page @param {RegExp} words */
async function told(page, words) {
  await part(page, "clocks-told").filter({ hasText: words }).waitFor();
}

lab.test("clocks cost nothing until they are switched on, and leave no mark once they are off", async (open) => {
  const page = await openRun(open, "#/play?scenario=ricart-agrawala-41-34");
  /** @type {string[]} */
  const asked = [];
  page.on("request", (request) => { if (request.url().includes("/clocks")) asked.push(request.url()); });
  const before = await sight(page);
  assert.deepEqual(asked, []);
  assert(await part(page, "clocks-told").isHidden());
  const pictures = [];
  for (const kind of ["lamport", "vector"]) {
    const answered = asked.length === 0 ? page.waitForResponse((response) => response.url().includes("/clocks")) : null;
    await part(page, "clocks-kind").selectOption(kind);
    await answered;
    await frames(page);
    pictures.push((await sight(page)).picture);
  }
  assert.equal(new Set([before.picture, ...pictures]).size, 3, "each kind is seen");
  assert.equal(asked.length, 1, "and asked for once");
  await part(page, "clocks-kind").selectOption("");
  assert.deepEqual(await sight(page), before);
});

lab.test("two steps that are chosen are told to be before, after or beside each other", async (open) => {
  const page = await openRun(open, "#/play?scenario=ricart-agrawala-41-34");
  await part(page, "clocks-kind").selectOption("vector");
  const choose = async (/** @type {number} */ a, /** @type {number} */ b) => {
    await goTo(page, a);
    await part(page, "clocks-take-a").click();
    await goTo(page, b);
    await part(page, "clocks-take-b").click();
  };
  await choose(1, 2);
  await told(page, /A and B are concurrent: P1\.1 \(requests; 41; 1,0,0\) ∥ P2\.1/);
  await choose(1, 4);
  await told(page, /A happened before B: P1\.1 \(requests/);
  await choose(4, 1);
  await told(page, /B happened before A: P1\.1 \(requests/);
  await choose(4, 4);
  await told(page, /A and B are one event/);
});

lab.test("a click on the diagram chooses an event instead of opening a menu", async (open) => {
  const page = await openRun(open, "#/play?scenario=ricart-agrawala-41-34");
  const canvas = part(page, "play-diagram");
  const box = /** @type {{ x: number, y: number, width: number, height: number }} */ (await canvas.boundingBox());
  await part(page, "clocks-kind").selectOption("lamport");
  await frames(page);
  // P1 and P2 ask at time 0, at the left ends of the first two lines.
  const row = Math.min((box.height - 26 - 8) / 3, 170);
  const at = { x: 46 + 26, y: 26 + row / 2 };
  await page.waitForTimeout(300);
  await canvas.click({ position: at });
  await canvas.click({ position: { x: at.x, y: 26 + 1.5 * row } });
  await told(page, /A and B are concurrent: P1\.1 .* P2\.1/);
  assert.equal(await page.getByRole("menu").count(), 0);
});

lab.test("a link shows the same clocks, and the same two events", async (open) => {
  const page = await openRun(open, "#/play?scenario=ricart-agrawala-41-34&at=0");
  await part(page, "clocks-kind").selectOption("lamport");
  for (const [step, which] of /** @type {const} */ ([[1, "a"], [4, "b"]])) {
    await goTo(page, step);
    await part(page, `clocks-take-${which}`).click();
  }
  await told(page, /A and B are concurrent|A happened before B/);
  await part(page, "play-all-variables").check();
  const again = await openRun(open, await link(page, /clocks=lamport/));
  await told(again, /A and B are concurrent|A happened before B/);
  assert.equal(await part(again, "clocks-told").textContent(), await part(page, "clocks-told").textContent());
  assert.deepEqual(await sight(again), await sight(page));
});
