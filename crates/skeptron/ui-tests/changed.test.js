// What changed is in sight: the variables of the node that the last step changed, large, before all others.
import assert from "node:assert/strict";
import { part, site } from "./harness.js";
import { frames, goTo, openRun, steps } from "./play.js";

const lab = site("lab");

for (const look of [{ width: 1280, height: 800 }, { width: 1024, height: 768 }, { width: 1920, height: 1080, dark: true }]) {
  lab.test(`at “P2 defers” one sees whom, without scrolling: ${look.width} × ${look.height}`, async (open) => {
    const page = await openRun(open, "#/play?scenario=ricart-agrawala-41-34&at=0", look);
    await goTo(page, 3);
    await inSight(page, 2, "deferred", "{P1}");
  });

  lab.test(`among 13 nodes, too: ${look.width} × ${look.height}`, async (open) => {
    const page = await openRun(open, "#/play?algorithm=ricart-agrawala&nodes=13&entries=4&requesters=P11,P13&latency=1&at=0", look);
    const last = await steps(page);
    let seen = 0;
    for (let step = 1; step <= Math.min(last, 30); step += 1) {
      await goTo(page, step);
      const told = /^P(\d+) receives REQUEST/.exec((await part(page, "play-told").textContent()) ?? "");
      const value = told && (await card(page, Number(told[1])).locator('[data-field="deferred"].changed').allInnerTexts())[0];
      if (!told || !value) continue;
      await inSight(page, Number(told[1]), "deferred", value.replace("▸", "").trim());
      seen += 1;
    }
    assert(seen > 0, "nobody deferred");
  });
}

lab.test("every step shows the whole card of the node that it changed, and folds the others", async (open) => {
  const page = await openRun(open, "#/play?scenario=maekawa-13&at=0");
  for (let step = 1; step <= 20; step += 1) {
    await goTo(page, step);
    const news = page.locator(".play-card.news");
    assert.equal(await news.count(), 1, `step ${step}`);
    assert.equal(await page.locator(".play-card:not(.folded)").count(), 1, `step ${step}`);
    assert(await isInSight(news), `step ${step}`);
  }
  await part(page, "play-all-variables").check();
  await frames(page);
  assert.equal(await page.locator(".play-card.folded").count(), 0);
  await part(page, "play-all-variables").uncheck();
  await part(page, "node-7").click();
  await frames(page);
  assert(await card(page, 7).locator(".play-vars").isVisible(), "who is selected is told in full");
});

lab.test("64 nodes: all of their rows are drawn, all are listed, and all variables are a table", async (open) => {
  const page = await openRun(open, "#/play?algorithm=raymond&nodes=64&tree=balanced:2&entries=20&at=0");
  await goTo(page, 9);
  await page.locator(".play-card").nth(63).waitFor();
  assert.equal(await page.locator(".play-card").count(), 64);
  const box = await part(page, "play-diagram").boundingBox();
  assert(box);
  // The last row answers to a click on its line.
  await part(page, "play-diagram").click({ position: { x: 20, y: box.height - 11 } });
  await page.locator(".play-menu-title", { hasText: /^P64/ }).waitFor();
  await page.keyboard.press("Escape");
  await part(page, "play-all-variables").check();
  await frames(page);
  assert.equal(await page.locator(".play-table tbody tr").count(), 64);
});

/**
 * @param {import("playwright-core").Page} page
 * @param {number} node
 */
function card(page, node) {
  return part(page, "play-nodes-panel").getByRole("region", { name: `P${node}`, exact: true });
}

/**
 * @param {import("playwright-core").Page} page
 * @param {number} node
 * @param {string} field
 * @param {string} value
 */
async function inSight(page, node, field, value) {
  const cell = card(page, node).locator(`[data-field="${field}"]`);
  assert.equal((await cell.innerText()).replace("▸", "").trim(), value);
  assert(await isInSight(cell), `${field} of P${node} is not in sight`);
  const pixels = await cell.evaluate((cell) => parseFloat(getComputedStyle(cell).fontSize));
  assert(pixels >= 16, `${pixels} px`);
}

/** Whether all of something can be seen without scrolling. @param {import("playwright-core").Locator} locator */
function isInSight(locator) {
  return locator.evaluate((element) => {
    const { left, top, right, bottom } = element.getBoundingClientRect();
    for (let box = element.parentElement; box; box = box.parentElement) {
      if (getComputedStyle(box).overflow === "visible") continue;
      const around = box.getBoundingClientRect();
      if (left < around.left - 1 || right > around.right + 1 || top < around.top - 1 || bottom > around.bottom + 1) return false;
    }
    return left >= 0 && top >= 0 && right <= innerWidth && bottom <= innerHeight;
  });
}
