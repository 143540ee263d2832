// Play as the tests use it: by its buttons and keys, and by what it shows.
import { readFileSync } from "node:fs";
import { downloaded, part, shown } from "./harness.js";

/** @typedef {import("playwright-core").Page} Page */
/** @typedef {{ where: string, told: string, nodes: string, verdicts: string, counters: string, topology: string, picture: string }} Sight */

/** What the page still asks the server about the nodes' states. @type {WeakMap<Page, Set<unknown>>} */
const questions = new WeakMap();

/**
 * Opens a run that stands still, and waits until all of it is there.
 * @param {import("./harness.js").Open} open
 * @param {string} hash
 * @param {import("./harness.js").Look} [look]
 * @returns {Promise<Page>}
 */
export async function openRun(open, hash, look = {}) {
  const page = await open(hash, { still: true, ...look });
  listen(page);
  await shown(page, "play");
  await told(page);
  return page;
}

/** @param {Page} page */
function listen(page) {
  const pending = new Set();
  questions.set(page, pending);
  page.on("request", (request) => { if (request.url().includes("/states")) pending.add(request); });
  page.on("requestfinished", (request) => pending.delete(request));
  page.on("requestfailed", (request) => pending.delete(request));
}

/**
 * Until the whole run has been told: its figures are there.
 * @param {Page} page
 */
export async function told(page) {
  await page.waitForFunction(() => performance.getEntriesByName("lab:load").length > 0);
  await frames(page);
}

/**
 * Until what was asked for is drawn, and what the nodes know is known.
 * @param {Page} page
 */
export async function frames(page) {
  const pending = questions.get(page) ?? new Set();
  do {
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  } while (pending.size > 0);
}

/**
 * Everything that Play shows of its present.
 * @param {Page} page
 * @returns {Promise<Sight>}
 */
export async function sight(page) {
  await frames(page);
  return page.evaluate(() => {
    const of = (/** @type {string} */ name) => /** @type {HTMLElement} */ (document.querySelector(`[data-test="${name}"]`));
    const canvas = /** @type {HTMLCanvasElement} */ (/** @type {unknown} */ (of("play-diagram")));
    return {
      where: of("play-where").innerText,
      told: of("play-told").innerText,
      nodes: of("play-nodes-panel").innerHTML,
      verdicts: of("play-verdicts").innerHTML,
      counters: of("play-counters").innerText,
      topology: of("play-topology").innerHTML,
      picture: canvas.toDataURL(),
    };
  });
}

/**
 * Goes to a step by the slider.
 * @param {Page} page
 * @param {number} step
 */
export async function goTo(page, step) {
  await part(page, "play-slider").fill(String(step));
  await frames(page);
}

/**
 * How many steps the run has.
 * @param {Page} page
 * @returns {Promise<number>}
 */
export async function steps(page) {
  return Number(await part(page, "play-slider").getAttribute("max"));
}

/**
 * The whole run as the server exports it.
 * @param {Page} page
 * @param {string} [format]
 * @returns {Promise<{ name: string, text: string }>}
 */
export async function exported(page, format = "jsonl") {
  await part(page, "play-export-open").click();
  const file = await downloaded(page, () => part(page, `export-${format}`).click());
  await page.keyboard.press("Escape");
  return file;
}

/**
 * Drops a file onto the page, as from the desktop.
 * @param {Page} page
 * @param {string} name
 * @param {string} text
 */
export async function drop(page, name, text) {
  const carried = await page.evaluateHandle(({ name, text }) => {
    const transfer = new DataTransfer();
    transfer.items.add(new File([text], name));
    return transfer;
  }, { name, text });
  await page.evaluate(() => performance.clearMeasures("lab:load"));
  for (const event of ["dragenter", "dragover", "drop"]) await page.dispatchEvent("#view", event, { dataTransfer: carried });
}

/** @typedef {{ subject?: string, part?: string, each?: string, format?: string, steps?: string, asPage?: boolean }} Wish */

/**
 * Saves a picture by the box of exports.
 * @param {import("playwright-core").Page} page
 * @param {Wish} wish
 * @returns {Promise<{ name: string, bytes: Buffer }>}
 */
export async function saved(page, { subject = "diagram", part: time = "sight", each = "one", format = "svg", steps, asPage = false }) {
  await part(page, "play-export-open").click();
  await part(page, "picture-subject").selectOption(subject);
  await part(page, "picture-part").selectOption(time);
  await part(page, "picture-each").selectOption(each);
  await part(page, "picture-format").selectOption(format);
  if (steps) await part(page, "picture-steps").fill(steps);
  await part(page, "picture-as-page").setChecked(asPage);
  const [file] = await Promise.all([page.waitForEvent("download"), part(page, "picture-save").click()]);
  await page.keyboard.press("Escape");
  return { name: file.suggestedFilename(), bytes: readFileSync(await file.path()) };
}

/**
 * Lets a node do something by hand, and waits until that is shown.
 * @param {import("playwright-core").Page} page
 * @param {number} node
 * @param {string} deed
 */
export async function actOnNode(page, node, deed) {
  const before = await part(page, "play-where").textContent();
  await part(page, `node-menu-${node}`).click();
  await part(page, `act-${deed}`).click();
  await page.waitForFunction((before) => document.querySelector('[data-test="play-where"]')?.textContent !== before, before);
  await frames(page);
}
