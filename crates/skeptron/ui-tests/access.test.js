// Access: what happens is announced, the views are reached in a narrow window, who wants little to move can step, and axe-core
// finds nothing serious.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { part, settled, shown, site } from "./harness.js";
import { frames, openRun } from "./play.js";

const VIEWS = ["play", "scenarios", "exercises", "compare", "check", "quorums", "elections", "cluster"];
const AXE = readFileSync(new URL("node_modules/axe-core/axe.min.js", import.meta.url), "utf8");

const lab = site("lab");

for (const view of VIEWS) {
  lab.test(`axe finds nothing serious: ${view}`, async (open) => {
    const page = await open(`#/${view}`, { still: true });
    await shown(page, view);
    await settled(page);
    for (const colorScheme of /** @type {const} */ (["light", "dark"])) {
      await page.emulateMedia({ colorScheme });
      await page.waitForTimeout(150);
      assert.deepEqual(await serious(page), [], colorScheme);
    }
  });
}

lab.test("axe finds nothing serious in other languages, nor on a beamer of 1024 × 768", async (open) => {
  for (const lang of ["en", "de", "pt"]) {
    for (const view of ["play", "compare"]) {
      const page = await open(`?lang=${lang}#/${view}`, { width: 1024, height: 768, still: true });
      await shown(page, view);
      await settled(page);
      assert.deepEqual(await serious(page), [], `${lang}: ${view}`);
    }
  }
});

lab.test("axe finds nothing serious: every panel of Play, and presenting", async (open) => {
  const page = await openRun(open, "#/play?scenario=ricart-agrawala-41-34&at=9");
  for (const panel of ["nodes", "rules", "steps", "figures", "hand", "notes", "about"]) {
    await part(page, `tab-${panel}`).click();
    await frames(page);
    assert.deepEqual(await serious(page), [], panel);
  }
  await page.keyboard.press("f");
  await page.waitForFunction(() => document.documentElement.classList.contains("presenting"));
  await frames(page);
  assert.deepEqual(await serious(page), [], "presenting");
});

lab.test("a step is announced with its rule and its note, and so is what the keys choose", async (open) => {
  const page = await openRun(open, "#/play?scenario=ricart-agrawala-41-34&at=0");
  const announced = part(page, "announced");
  assert.equal(await announced.getAttribute("aria-live"), "polite");
  for (let pressed = 0; pressed < 3; pressed += 1) await page.keyboard.press("ArrowRight");
  await announced.filter({ hasText: /P2 receives REQUEST.*34 < 41, so P2 defers.*P2 waits with \(34, P2\)/ }).waitFor({ state: "attached" });
  await part(page, "play-diagram").focus();
  await page.keyboard.press("ArrowDown");
  await announced.filter({ hasText: /^P1, waiting$/ }).waitFor({ state: "attached" });
  await page.waitForTimeout(600);
  assert.equal(await announced.textContent(), "P1, waiting", "nothing else is said over it");
});

lab.test("a short message is heard: it stands in a live region that is never hidden", async (open) => {
  const page = await open("#/scenarios", { still: true });
  await shown(page, "scenarios");
  const toast = page.locator("#toast");
  assert.equal(await toast.evaluate((toast) => getComputedStyle(toast).visibility), "visible");
  await page.locator("#copy-link").click();
  await toast.filter({ hasText: /copied|address/ }).waitFor();
});

lab.test("at 600 pixels every view is in sight in the navigation and opens", async (open) => {
  const page = await open("#/scenarios", { width: 600, height: 900, still: true });
  await page.locator(".card").first().waitFor();
  for (const view of VIEWS) {
    const box = await page.locator(`nav#views a[data-view=${view}]`).boundingBox();
    assert(box && box.x >= 0 && box.x + box.width <= 600 && box.height >= 24, `${view}: ${JSON.stringify(box)}`);
    await page.locator(`nav#views a[data-view=${view}]`).click();
    await shown(page, view);
    await settled(page);
    const wide = await page.evaluate(() => Math.max(document.documentElement.scrollWidth, document.querySelector("main")?.scrollWidth ?? 0));
    assert(wide <= 600, `${view} is ${wide} pixels wide`);
  }
});

lab.test("who wants little to move steps, and playing leaps from step to step", async (open) => {
  const page = await openRun(open, "#/play?scenario=ricart-agrawala-41-34&at=0");
  const where = part(page, "play-where");
  await page.keyboard.press("ArrowRight");
  await frames(page);
  assert.match((await where.textContent()) ?? "", /^1 /);
  const times = new Set();
  await page.keyboard.press(" ");
  for (let looked = 0; looked < 40; looked += 1) {
    times.add(await page.evaluate(() => document.querySelector('[data-test="play-slider"]')?.getAttribute("aria-valuetext")));
    await page.waitForTimeout(50);
  }
  const steps = [...times].map((text) => /step (\d+)/.exec(text ?? "")?.[1]);
  assert(steps.length > 1, "it plays");
  assert.equal(new Set(steps).size, steps.length, `between two steps no time passes: ${[...times].join("; ")}`);
});

/**
 * What axe-core finds that keeps somebody out.
 * @param {import("playwright-core").Page} page
 * @returns {Promise<string[]>}
 */
async function serious(page) {
  if (!(await page.evaluate("'axe' in window"))) await page.evaluate(AXE);
  return page.evaluate(async () => {
    const { violations } = await /** @type {any} */ (window).axe.run(document, { resultTypes: ["violations"] });
    // It takes the texts of a drawing for one word, which its name then does not contain.
    const drawn = (/** @type {{ id: string, nodes: { html: string }[] }} */ { id, nodes }) => id === "label-content-name-mismatch" && nodes.every(({ html }) => html.startsWith("<g "));
    return violations.filter((/** @type {any} */ found) => (found.impact === "serious" || found.impact === "critical") && !drawn(found))
      .map((/** @type {{ id: string, nodes: { html: string, failureSummary: string }[] }} */ { id, nodes }) => `${id} (${nodes.length}): ${nodes[0].html.slice(0, 140)} ${nodes[0].failureSummary.slice(0, 260)}`);
  });
}

/** 150 % and more of a page of usual size: what it is moved by is in sight without scrolling. */
for (const [look, run] of /** @type {const} */ ([[{ width: 1280, height: 800, zoom: 1.5 }, "scenario=ricart-agrawala-41-34"], [{ width: 1024, height: 768, zoom: 1.5 }, "scenario=maekawa-13"], [{ width: 1280, height: 800, zoom: 2 }, "scenario=bully"]])) {
  lab.test(`the controls of Play are in sight at ${look.zoom * 100} % of ${look.width} × ${look.height}`, async (open) => {
    const page = await openRun(open, `#/play?${run}&at=9`, look);
    for (const control of ["play-back", "play-toggle", "play-forward", "play-present"]) {
      const isHit = await part(page, control).evaluate((button) => {
        const { left, right, top, bottom } = button.getBoundingClientRect();
        const hit = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
        return bottom <= innerHeight && right <= innerWidth && (hit === button || button.contains(hit));
      });
      assert(isHit, control);
    }
  });
}
