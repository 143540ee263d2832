// What holds for every view: nothing overlaps in any size or colour, every control has a name, the keyboard
// reaches all of it, and leaving it leaves nothing behind.
import assert from "node:assert/strict";
import { settled, shown, site } from "./harness.js";
import { faults, nameless, SIZES } from "./layout.js";

const VIEWS = ["play", "scenarios", "exercises", "compare", "check", "quorums", "elections", "cluster"];

const lab = site("lab");

for (const view of VIEWS) {
  lab.test(`${view} is laid out well in every size, light and dark`, async (open) => {
    const page = await open(`#/${view}`, { still: true });
    await shown(page, view);
    await settled(page);
    for (const size of SIZES) {
      await page.setViewportSize(size);
      for (const colorScheme of /** @type {const} */ (["light", "dark"])) {
        await page.emulateMedia({ colorScheme });
        // Boxes are judged when what watches their sizes has answered.
        await page.waitForTimeout(150);
        assert.deepEqual(await faults(page), [], `${size.width} × ${size.height}, ${colorScheme}`);
      }
    }
    assert.deepEqual(await nameless(page), []);
  });
}

lab.test("the views are reached by the keyboard alone", async (open) => {
  const page = await open("#/scenarios", { still: true });
  await page.locator(".card").first().waitFor();
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement?.textContent), "Skip to the view");
  const links = page.locator("nav#views a");
  const names = await links.allTextContents();
  for (const name of names) {
    await pressTabUntil(page, name);
    await page.keyboard.press("Enter");
    await page.locator("nav#views a[aria-current=page]", { hasText: name }).waitFor();
  }
  assert.equal(names.length, VIEWS.length);
});

lab.test("an address that names no view shows the first one", async (open) => {
  const page = await open("#/nowhere?at=17", { still: true });
  await shown(page, "play");
});

lab.test("the theme can be chosen, and stays", async (open) => {
  const page = await open("#/scenarios");
  const button = page.locator("#theme");
  await button.click();
  await button.click();
  assert.equal(await button.textContent(), "Theme: dark");
  const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const dark = await paper();
  await page.reload();
  await page.locator(".card").first().waitFor();
  assert.equal(await paper(), dark);
  assert.equal(await page.locator("html").getAttribute("data-theme"), "dark");
});

lab.test("going through the views many times leaves no error behind", async (open) => {
  const page = await open("", { still: true });
  for (const view of [...VIEWS, ...VIEWS]) {
    await page.evaluate((view) => { location.hash = `#/${view}`; }, view);
    await shown(page, view);
  }
});

/**
 * @param {import("playwright-core").Page} page
 * @param {string} name
 */
async function pressTabUntil(page, name) {
  for (let pressed = 0; pressed < 200; pressed += 1) {
    if ((await page.evaluate(() => document.activeElement?.textContent)) === name) return;
    await page.keyboard.press("Tab");
  }
  assert.fail(`Tab does not reach ${name}`);
}
