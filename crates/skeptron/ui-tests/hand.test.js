// Acting by hand: while the run rests time stands still, deeds are undone and done again, recorded runs are forked, and
// nothing is lost with the server.
import assert from "node:assert/strict";
import { link, part, site } from "./harness.js";
import { actOnNode, drop, exported, frames, goTo, openRun, sight, steps } from "./play.js";

const lab = site("lab");

const STILL = "#/play?algorithm=ricart-agrawala&nodes=3&workload=none&section=2&at=0";

/** @param {import("playwright-core").Page} page */
async function acts(page) {
  await part(page, "tab-hand").click();
  const words = await part(page, "play-acts").locator("li").allTextContents();
  await part(page, "tab-nodes").click();
  return words;
}

lab.test("two requests at the same time are two clicks", async (open) => {
  const page = await openRun(open, STILL, { still: false });
  await actOnNode(page, 1, "request");
  await page.waitForTimeout(600);
  assert.match((await part(page, "play-told").textContent()) ?? "", /^By hand: P1 requests/, "it rests where it was done");
  await actOnNode(page, 2, "request");
  assert.deepEqual(await acts(page), ["t = 0: P1 asks", "t = 0: P2 asks"]);
  await part(page, "play-rest").filter({ hasText: "Space plays on" }).waitFor();
});

lab.test("what was done is undone and done again by the keyboard, with all that it had dropped", async (open) => {
  const page = await openRun(open, STILL);
  await actOnNode(page, 1, "request");
  await actOnNode(page, 2, "request");
  const two = (await exported(page)).text;
  await goTo(page, 1);
  await actOnNode(page, 3, "crash");
  assert.deepEqual(await acts(page), ["t = 0: P1 asks", "t = 0: P3 crashes"]);
  const crashed = (await exported(page)).text;
  const press = async (/** @type {string} */ keys, /** @type {string[]} */ expected) => {
    await page.keyboard.press(keys);
    await part(page, "tab-hand").click();
    await page.waitForFunction((count) => document.querySelectorAll('[data-test="play-acts"] li').length === count, expected.length);
    await part(page, "tab-nodes").click();
    await frames(page);
    assert.deepEqual((await acts(page)).map((text) => text.replace(/.*: /, "")), expected);
  };
  await page.locator("body").click({ position: { x: 2, y: 2 } });
  await page.keyboard.press("Control+z");
  await page.waitForFunction(() => !document.querySelector('[data-test="play-error"] *'));
  await page.waitForTimeout(300);
  assert.equal((await exported(page)).text, two);
  await press("Control+z", ["P1 asks"]);
  await press("Control+z", []);
  assert.equal(await steps(page), 0);
  await press("Control+Shift+Z", ["P1 asks"]);
  await press("Control+Shift+Z", ["P1 asks", "P2 asks"]);
  await press("Control+y", ["P1 asks", "P3 crashes"]);
  assert.equal((await exported(page)).text, crashed);
});

lab.test("a counterexample says what it is, and is forked where a hand acts", async (open) => {
  const page = await openRun(open, "#/play?scenario=counterexample/lamport-without-fifo&at=0");
  await part(page, "play-recorded").waitFor();
  assert.equal(await part(page, "play-latency").count(), 0, "nobody knows how long its messages took");
  await part(page, "play-options").locator("summary").click();
  assert.equal(await part(page, "play-order").inputValue(), "any");
  await part(page, "play-options").locator("summary").click();
  const all = await steps(page);
  const violated = part(page, "verdict-exclusion").filter({ hasText: "violated" });
  await goTo(page, all);
  await violated.waitFor();
  // Without the second request nothing goes wrong.
  await goTo(page, 1);
  const before = await sight(page);
  await actOnNode(page, 1, "pause");
  await goTo(page, await steps(page));
  assert.equal(await violated.count(), 0);
  const again = await openRun(open, await link(page, /acts=/));
  assert.equal((await exported(again)).text, (await exported(page)).text);
  await page.locator("body").click({ position: { x: 2, y: 2 } });
  await page.keyboard.press("Control+z");
  await page.waitForFunction((all) => document.querySelector('[data-test="play-slider"]')?.getAttribute("max") === String(all), all);
  await goTo(page, 1);
  assert.deepEqual({ ...(await sight(page)), picture: "" }, { ...before, picture: "" });
});

lab.test("the bar tells the options of a scenario's run", async (open) => {
  const page = await openRun(open, "#/play?scenario=maekawa-13&at=0");
  assert.equal(await part(page, "play-algorithm").inputValue(), "maekawa");
  assert.equal(await part(page, "play-quorum").inputValue(), "maekawa-13");
  assert.equal(await part(page, "play-section").inputValue(), "2");
});

lab.test("a node that answers an election is shown electing, and the leader leading", async (open) => {
  const page = await openRun(open, "#/play?scenario=bully&at=0");
  const phase = (/** @type {number} */ node) => part(page, "play-nodes-panel").getByRole("region", { name: `P${node}` }).locator(".play-phase").textContent();
  assert.deepEqual([await phase(4), await phase(5)], ["idle", "leading"]);
  const note = async () => (await part(page, "play-note").textContent()) ?? "";
  for (let k = 0; k < 8 && !(await note()).startsWith("P3 is higher"); k += 1) {
    await part(page, "note-next").click();
    await frames(page);
  }
  assert.match(await note(), /^P3 is higher/);
  assert.deepEqual([await phase(2), await phase(3), await phase(4), await phase(5)], ["electing", "electing", "idle", "down"]);
});

lab.test("a link is what is shown, and if there can be none the page says so", async (open) => {
  const page = await openRun(open, "#/play?algorithm=central&nodes=3&entries=2&at=0");
  await goTo(page, 3);
  await part(page, "tab-steps").click();
  await part(page, "play-zoom-in").click();
  // At once: nothing waits until the address is written.
  await page.locator("#copy-link").click();
  await page.locator("#toast", { hasText: "Link copied" }).waitFor();
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  const again = await openRun(open, new URL(copied).hash);
  assert.equal((await sight(again)).where, (await sight(page)).where);
  assert.equal(await part(again, "tab-steps").getAttribute("aria-selected"), "true");
  assert.equal((await sight(again)).picture, (await sight(page)).picture);

  // A run that was recorded by hand, and is too long for an address.
  const long = await openRun(open, "#/play?algorithm=suzuki-kasami&nodes=40&entries=300&latency=exp:1&at=0");
  const text = (await exported(long)).text.replace(/"command":"[^"]*"/, '"command":"skeptron of old"');
  await drop(long, "run.jsonl", text);
  await part(long, "play-recorded").waitFor();
  await long.locator("#copy-link").click();
  await long.locator("#toast", { hasText: "Not copied: this run is too long for a link" }).waitFor();
});

lab.test("a run whose server was restarted is made again", async (open) => {
  const page = await openRun(open, STILL, { allow: /ERR_|Failed to load resource|404/ });
  await actOnNode(page, 1, "request");
  await actOnNode(page, 3, "request");
  const before = (await exported(page)).text;
  const { where } = await sight(page);
  await actOnNode(page, 2, "crash");
  await page.keyboard.press("Control+z");
  await page.locator("#toast", { hasText: "undone" }).waitFor();
  await lab.restart();
  await page.locator("#toast", { hasText: "made again" }).waitFor();
  await page.waitForFunction((where) => document.querySelector('[data-test="play-where"]')?.textContent === where, where);
  assert.equal((await exported(page)).text, before);
  await page.locator("body").click({ position: { x: 2, y: 2 } });
  await page.keyboard.press("Control+Shift+Z");
  await part(page, "play-told").filter({ hasText: "P2 crashes" }).waitFor();
  await page.keyboard.press("Control+z");
  await page.locator("#toast", { hasText: "undone" }).waitFor();
  await actOnNode(page, 2, "request");
  assert.equal((await acts(page)).length, 3);
});
