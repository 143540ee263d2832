// How fast it is, as a report: what is measured here depends on the machine, so hardly any time is asserted.
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

lab.test("64 nodes with all rows: how smoothly they play", async (open) => {
  const page = await openRun(open, "#/play?algorithm=ricart-agrawala&nodes=64&entries=6&latency=uniform:0.5..1.5&seed=1&at=0");
  // What the page itself takes for a frame: how often the browser asks for one depends on what else the machine does.
  const { frames, draw, slowest, panels } = await page.evaluate(() => new Promise((/** @type {(measured: { frames: number, draw: number, slowest: number, panels: number }) => void} */ resolve) => {
    performance.clearMeasures();
    const steps = 120;
    let step = 0;
    const next = () => {
      if (step++ < steps) {
        /** @type {HTMLElement} */ (document.querySelector('[data-test="play-forward"]')).click();
        requestAnimationFrame(next);
        return;
      }
      const of = (/** @type {string} */ name) => performance.getEntriesByName(name).map((entry) => entry.duration);
      const mean = (/** @type {number[]} */ all) => all.reduce((sum, duration) => sum + duration, 0) / Math.max(1, all.length);
      const draws = of("lab:draw");
      resolve({ frames: draws.length, draw: mean(draws), slowest: Math.max(0, ...draws), panels: mean(of("lab:panels")) });
    };
    requestAnimationFrame(next);
  }));
  console.log(`64 nodes, all rows: ${draw.toFixed(1)} ms to draw one step in the mean, ${slowest.toFixed(1)} ms at most; ${panels.toFixed(1)} ms for the panels`);
  // While it plays the panels are renewed eleven times a second at most.
  const second = 30 * draw + 11 * panels;
  console.log(`30 frames take ${second.toFixed(0)} ms of a second`);
  // Several times what it takes on a busy machine.
  assert(second < 1000, `30 frames take ${second.toFixed(0)} ms`);
  assert(frames >= 120, `${frames} frames for 120 steps`);
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
