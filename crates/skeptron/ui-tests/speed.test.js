// How fast it is, as a report: what is measured here depends on the machine, so nothing is asserted on it.
import assert from "node:assert/strict";
import { part, site } from "./harness.js";
import { openRun, steps } from "./play.js";

const lab = site("lab");

lab.test("ten thousand messages: how long they take to load, and how smoothly they scroll", async (open) => {
  // A saturated Ricart–Agrawala of 11 nodes takes 20 messages for each entry.
  const page = await openRun(open, "#/play?algorithm=ricart-agrawala&nodes=11&entries=500&latency=uniform:0.5..1.5&seed=1&future=1&at=0");
  assert((await steps(page)) >= 10_000, `${await steps(page)} steps`);
  const load = await page.evaluate(() => performance.getEntriesByName("lab:load").at(-1)?.duration ?? NaN);
  const near = await turnWheel(page, { deltaX: 60 });
  await part(page, "play-fit").click();
  const whole = await turnWheel(page, { deltaY: 8, ctrlKey: true });
  console.log(`10 000 messages: drawn ${Math.round(load)} ms after they were asked for, simulation included`);
  console.log(`scrolling: ${words(near)}`);
  console.log(`zooming the whole run: ${words(whole)}`);
});

/** @param {{ perSecond: number, draw: number, slowest: number }} measured */
function words({ perSecond, draw, slowest }) {
  return `${perSecond.toFixed(0)} frames/s, ${draw.toFixed(1)} ms to draw one in the mean, ${slowest.toFixed(1)} ms at most`;
}

/**
 * Turns the wheel over the diagram in every frame for a while, there and back.
 * @param {import("playwright-core").Page} page
 * @param {{ deltaX?: number, deltaY?: number, ctrlKey?: boolean }} turn
 */
function turnWheel(page, turn) {
  return page.evaluate(({ deltaX = 0, deltaY = 0, ctrlKey = false }) => new Promise((/** @type {(measured: { perSecond: number, draw: number, slowest: number }) => void} */ resolve) => {
    const canvas = /** @type {HTMLCanvasElement} */ (document.querySelector('[data-test="play-diagram"]'));
    const FRAMES = 120;
    performance.clearMeasures("lab:draw");
    const begun = performance.now();
    let frame = 0;
    const next = () => {
      if (frame >= FRAMES) {
        const draws = performance.getEntriesByName("lab:draw").map((entry) => entry.duration);
        const mean = draws.reduce((sum, duration) => sum + duration, 0) / Math.max(1, draws.length);
        resolve({ perSecond: (1000 * FRAMES) / (performance.now() - begun), draw: mean, slowest: Math.max(0, ...draws) });
        return;
      }
      frame += 1;
      const way = frame <= FRAMES / 2 ? 1 : -1;
      canvas.dispatchEvent(new WheelEvent("wheel", { deltaX: way * deltaX, deltaY: -way * deltaY, ctrlKey, bubbles: true, cancelable: true }));
      requestAnimationFrame(next);
    };
    requestAnimationFrame(next);
  }), turn);
}
