// Presenting: what is on the stage can be read from the last row, and a speaker goes through it by note and by step.
import assert from "node:assert/strict";
import { part, site } from "./harness.js";
import { frames, goTo, openRun } from "./play.js";
import { faults } from "./layout.js";

const lab = site("lab");

/** What no letter on the stage is below, and what those that are read are not below, in heights of the stage. */
const LEAST = 0.02;
const BODY = 0.03;

const STAGES = [{ width: 1280, height: 800 }, { width: 1920, height: 1080 }, { width: 1024, height: 768 }, { width: 1280, height: 800, zoom: 1.5 }, { width: 1024, height: 768, zoom: 1.5, dark: true }];
const RUNS = [{ run: "scenario=maekawa-13&at=29", nodes: 13 }, { run: "scenario=ricart-agrawala-41-34&at=9", nodes: 3 }, { run: "scenario=bully&at=20", nodes: 5 },
  { run: "algorithm=lamport&nodes=16&entries=3&at=200", nodes: 16 }, { run: "algorithm=suzuki-kasami&nodes=13&entries=3&at=100", nodes: 13 }, { run: "algorithm=maekawa&nodes=16&entries=3&at=200", nodes: 16 },
  { run: "scenario=singhal-staircase&at=20", nodes: 4 }, { run: "scenario=lamport-queues&at=20", nodes: 3 }, { run: "scenario=ring-election&at=14", nodes: 5 }];
/** In the smallest stage: a grid beside the drawing, a long text at a node, and grids that stand alone. */
const SMALL = [{ run: "algorithm=lamport&nodes=16&entries=3&at=200", nodes: 16 }, { run: "algorithm=singhal&nodes=16&entries=3&at=200", nodes: 16 }, { run: "scenario=suzuki-kasami&at=24", nodes: 4 }, { run: "scenario=ricart-agrawala-41-34&at=9", nodes: 3 }];

for (const [index, stage] of STAGES.entries()) {
  const name = `${stage.width} × ${stage.height}, zoom ${stage.zoom ?? 1}`;
  for (const { run, nodes } of index === 0 ? RUNS : [RUNS[0], ...(index === 4 ? SMALL : [])]) {
    lab.test(`no letter is too small for the last row: ${run}, ${name}`, async (open) => {
      const page = await openRun(open, `#/play?${run}`, stage);
      await watchLetters(page);
      await enter(page);
      for (const drawn of ["diagram", "topology", "grid"]) {
        // What has no room beside the topology stands on the stage alone.
        if (drawn === "grid" && (await part(page, "present-switch").textContent()) !== "Grid") continue;
        if (drawn !== "diagram") await page.keyboard.press("t");
        await frames(page);
        assert.equal(await part(page, "play-grid").isVisible(), await page.evaluate(isGridShown, drawn));
        const letters = await lettersOf(page);
        assert(letters.length > 20, `${letters.length} texts`);
        const small = letters.filter(({ share }) => share < LEAST);
        assert.deepEqual(small, [], `${drawn}: below 2 %`);
        for (const test of run.startsWith("scenario") ? ["play-note", "play-told"] : ["play-told"]) {
          const read = letters.filter((letter) => letter.within.includes(test));
          assert(read.length > 0, test);
          assert.deepEqual(read.filter(({ share }) => share < BODY), [], `${test}: below 3 %`);
        }
        if (drawn === "diagram") for (let node = 1; node <= nodes; node += 1) assert(letters.some(({ text, within }) => within === "canvas" && text.endsWith(`P${node}`)), `P${node} is not named`);
        assert.deepEqual(await faults(page), []);
        assert.deepEqual(await cutOff(page), []);
        assert.deepEqual(await tooWide(page), [], "words that their boxes do not hold");
      }
    });
  }
}

lab.test("F begins it wherever the focus is, but in a field for text", async (open) => {
  const page = await openRun(open, "#/play?scenario=ricart-agrawala-41-34&at=0");
  await page.locator('.play-transport input[type="range"]').focus();
  await enter(page);
  await page.keyboard.press("f");
  await page.waitForFunction(() => !document.documentElement.classList.contains("presenting"));
  await page.locator('.play-basic input[type="text"]').first().focus();
  await page.keyboard.press("f");
  await frames(page);
  assert.equal(await page.evaluate(() => document.documentElement.classList.contains("presenting")), false);
});

lab.test("a speaker goes by note and by step, and Escape leaves", async (open) => {
  const page = await openRun(open, "#/play?scenario=ricart-agrawala-41-34&at=0");
  const where = async () => Number(((await part(page, "play-where").textContent()) ?? "").split(" ")[0]);
  await enter(page);
  const seen = [];
  for (let pressed = 0; pressed < 4; pressed += 1) {
    await page.keyboard.press("PageDown");
    await frames(page);
    seen.push(await part(page, "play-note").textContent());
  }
  assert.equal(new Set(seen).size, 4, "each press shows another note");
  assert.match(seen[2] ?? "", /defers its REPLY/);
  assert.equal(await where(), 4);
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  await frames(page);
  assert.equal(await where(), 6);
  await page.keyboard.press("PageUp");
  await frames(page);
  assert.equal(await where(), 5, "from between two notes, back to the one that is shown");
  await page.keyboard.press("ArrowLeft");
  await frames(page);
  assert.equal(await where(), 4);
  // What was clicked last takes no key from the remote.
  for (const clicked of ["play-slider", "play-diagram"]) {
    await part(page, clicked).focus();
    const before = await part(page, "play-note").textContent();
    await page.keyboard.press("ArrowDown");
    await frames(page);
    assert.notEqual(await part(page, "play-note").textContent(), before, clicked);
    await page.keyboard.press("PageUp");
    await frames(page);
    assert.equal(await part(page, "play-note").textContent(), before, clicked);
  }
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => !document.documentElement.classList.contains("presenting"));
  assert(await page.locator("nav#views").isVisible());
});

lab.test("playing stops at every note, and the note stays", async (open) => {
  const page = await openRun(open, "#/play?scenario=ricart-agrawala-41-34&at=0", { still: false });
  await enter(page);
  const notes = [];
  for (const step of [1, 2, 3, 4]) {
    await page.keyboard.press(" ");
    await part(page, "play-where").filter({ hasText: new RegExp(`^${step} /`) }).waitFor();
    await part(page, "play-toggle").filter({ hasText: "Play" }).waitFor();
    assert.match((await part(page, "play-where").textContent()) ?? "", new RegExp(`^${step} /`));
    notes.push(await part(page, "play-note").textContent());
  }
  assert.equal(new Set(notes).size, 4);
  await page.waitForTimeout(1500);
  assert.equal(await part(page, "play-note").textContent(), notes[3]);
});

lab.test("without notes the remote goes by step; the button presents, too, and leaves the page as it was", async (open) => {
  const page = await openRun(open, "#/play?algorithm=central&nodes=3&entries=2&at=0");
  await part(page, "tab-steps").click();
  await part(page, "play-present").click();
  await page.waitForFunction(() => document.documentElement.classList.contains("presenting"));
  await page.keyboard.press("PageDown");
  await page.keyboard.press("PageDown");
  await page.keyboard.press("PageUp");
  await frames(page);
  assert.match((await part(page, "play-where").textContent()) ?? "", /^1 /);
  await part(page, "play-present").click();
  await page.waitForFunction(() => !document.documentElement.classList.contains("presenting"));
  assert.equal(await part(page, "tab-steps").getAttribute("aria-selected"), "true");
  await frames(page);
  assert.deepEqual(await faults(page), []);
});

lab.test("of many nodes a list names the ends of its runs, so that all that changed is in sight", async (open) => {
  const page = await openRun(open, "#/play?algorithm=ricart-agrawala&nodes=64&entries=20&at=400");
  assert.equal(await part(page, "play-told").textContent(), "P7 requests, sends REQUEST 1 to P1 … P6, P8 … P64.");
  await enter(page);
  const news = page.locator(".play-card.news");
  assert.equal(await news.locator('[data-field="awaiting"]').textContent(), "▸{P1 … P6, P8 … P64}");
  const { bottom } = await news.evaluate((card) => card.getBoundingClientRect());
  const { top } = await part(page, "play-fired").evaluate((rule) => rule.getBoundingClientRect());
  assert(bottom <= top, `the card ends at ${bottom}, the rule begins at ${top}`);
});

lab.test("another view ends it", async (open) => {
  const page = await openRun(open, "#/play?algorithm=central&nodes=3&entries=2&at=0");
  await enter(page);
  await page.evaluate(() => { location.hash = "#/scenarios"; });
  await page.locator(".card").first().waitFor();
  assert(await page.locator("nav#views").isVisible());
});

for (const zoom of [1.25, 1.5, 2]) {
  lab.test(`a zoom of ${zoom * 100} % hides no node and no control`, async (open) => {
    for (const run of ["scenario=ricart-agrawala-41-34&at=9", "scenario=maekawa-13&at=29"]) {
      const page = await openRun(open, `#/play?${run}`, { zoom });
      await watchLetters(page);
      await goTo(page, 5);
      const nodes = run.includes("13") ? 13 : 3;
      const letters = (await lettersOf(page)).filter(({ within }) => within === "canvas");
      for (let node = 1; node <= nodes; node += 1) assert(letters.some(({ text, inside }) => text.endsWith(`P${node}`) && inside), `P${node} is not in sight`);
      assert.deepEqual(await faults(page), [], run);
      assert.deepEqual(await unreachable(page), [], run);
    }
  });
}

for (const [look, lang] of /** @type {const} */ ([[{ width: 1280, height: 800, zoom: 1.5 }, "en"], [{ width: 1024, height: 768, zoom: 1.5 }, "en"], [{ width: 1024, height: 768, zoom: 1.5 }, "de"]])) {
  lab.test(`at 150 % of ${look.width} × ${look.height} all rows of the diagram are in sight, ${lang}`, async (open) => {
    const page = await openRun(open, `?lang=${lang}#/play?scenario=maekawa-13&at=29`, look);
    const bottom = (/** @type {string} */ selector) => page.locator(selector).evaluate((box) => box.getBoundingClientRect().bottom);
    const controls = await page.locator(".play-transport").evaluate((box) => box.getBoundingClientRect().top);
    assert((await bottom(".play-canvas")) <= controls + 1, "the controls hide rows");
  });
}

for (const look of [{ width: 1280, height: 800, zoom: 1.5 }, { width: 1280, height: 800, zoom: 2 }]) {
  lab.test(`every export is within reach at ${look.zoom * 100} %`, async (open) => {
    const page = await openRun(open, "#/play?scenario=ricart-agrawala-41-34&at=9", look);
    await part(page, "play-export-open").click();
    for (const name of ["picture-save", "export-html", "export-perfetto"]) {
      const { top, bottom } = await part(page, name).evaluate((button) => {
        button.scrollIntoView({ block: "nearest" });
        const box = button.getBoundingClientRect();
        return { top: box.top, bottom: innerHeight - box.bottom };
      });
      assert(top >= 0 && bottom >= 0, `${name}: ${top} above, ${bottom} below`);
    }
  });
}

/** Whether a grid should be seen: alone if it is wide, else beside the topology. @param {string} drawn */
function isGridShown(drawn) {
  const hasGrid = document.querySelector(".play-grid-place")?.hasAttribute("hidden") === false;
  const isWide = document.querySelector(".play-topology")?.classList.contains("wide");
  return hasGrid && drawn === (isWide ? "grid" : "topology");
}

/** @param {import("playwright-core").Page} page */
async function enter(page) {
  await page.keyboard.press("f");
  await page.waitForFunction(() => document.documentElement.classList.contains("presenting"));
  await page.waitForTimeout(200);
  await frames(page);
}

/**
 * Notes what the canvas writes from now on: the last frame's texts, how high they are, and whether they lie on it.
 * @param {import("playwright-core").Page} page
 */
async function watchLetters(page) {
  await page.evaluate(() => {
    /** @type {any} */ (window).written = [];
    const proto = CanvasRenderingContext2D.prototype;
    const { fillText, fillRect } = proto;
    proto.fillText = function (text, x, y, ...rest) {
      const { a, b } = this.getTransform();
      const pixels = (Number(/(\d+(?:\.\d+)?)px/.exec(this.font)?.[1]) * Math.hypot(a, b)) / devicePixelRatio;
      const at = this.getTransform().transformPoint(new DOMPoint(x, y));
      /** @type {any} */ (window).written.push({ text, pixels, inside: at.x >= 0 && at.y >= 0 && at.x <= this.canvas.width && at.y <= this.canvas.height });
      return fillText.call(this, text, x, y, ...rest);
    };
    // Each frame begins with an empty canvas.
    proto.fillRect = function (x, y, width, height) {
      if (x === 0 && y === 0 && Math.abs(width * this.getTransform().a - this.canvas.width) < 2) /** @type {any} */ (window).written = [];
      return fillRect.call(this, x, y, width, height);
    };
  });
}

/**
 * All texts that are shown, each with its height as a share of the window's.
 * @param {import("playwright-core").Page} page
 * @returns {Promise<{ text: string, share: number, within: string, inside: boolean }[]>}
 */
function lettersOf(page) {
  return page.evaluate(() => {
    const found = [];
    const canvas = /** @type {HTMLElement} */ (document.querySelector('[data-test="play-diagram"]'));
    if (canvas.checkVisibility()) {
      for (const { text, pixels, inside } of /** @type {any} */ (window).written) found.push({ text, share: pixels / innerHeight, within: "canvas", inside });
    }
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const element = /** @type {Element} */ (node.parentElement);
      const text = (node.textContent ?? "").trim();
      if (!text || !element.checkVisibility({ visibilityProperty: true, opacityProperty: true }) || element.closest(".unseen, .skip, title, script, noscript")) continue;
      const scale = element instanceof SVGGraphicsElement ? Math.abs(element.getScreenCTM()?.d ?? 1) : 1;
      const pixels = parseFloat(getComputedStyle(element).fontSize) * scale;
      const within = [...ancestors(element)].map((one) => one.getAttribute("data-test") ?? "").join(" ");
      found.push({ text, share: pixels / innerHeight, within, inside: true });
    }
    return found;

    /** @param {Element} element */
    function* ancestors(element) {
      for (let one = /** @type {Element | null} */ (element); one; one = one.parentElement) yield one;
    }
  });
}

/**
 * What of the stage is not in sight: words that are cut off, parts that lie outside.
 * @param {import("playwright-core").Page} page
 */
function cutOff(page) {
  return page.evaluate(() => [...document.querySelectorAll(".play-note, .play-told, .play-fired, .play-transport, .play-legend")].flatMap((part) => {
    const { left, top, right, bottom } = part.getBoundingClientRect();
    const outside = left < -1 || top < -1 || right > innerWidth + 1 || bottom > innerHeight + 1;
    const over = part.scrollHeight > part.clientHeight + 3 || part.scrollWidth > part.clientWidth + 3;
    return part.checkVisibility() && (outside || over) ? [`${part.className}: ${part.textContent?.slice(0, 60)}`] : [];
  }));
}

/**
 * Badges and messages of the topology whose words are wider than their boxes.
 * @param {import("playwright-core").Page} page
 */
function tooWide(page) {
  return page.evaluate(() => [...document.querySelectorAll(".topo-badge, .topo-flying > g")].flatMap((group) => {
    const [box, words] = [group.querySelector("rect"), group.querySelector("text")];
    const over = (words?.textContent && words.checkVisibility() ? words.getBBox().width : 0) - (box?.getBBox().width ?? 0);
    return over > 0.5 ? [`${words?.textContent}: ${over}`] : [];
  }));
}

/**
 * Controls that no scrolling of the page brings into sight.
 * @param {import("playwright-core").Page} page
 */
function unreachable(page) {
  return page.evaluate(() => {
    const found = [];
    for (const control of document.querySelectorAll(".play button, .play select, .play input, header a, header button")) {
      if (!control.checkVisibility()) continue;
      control.scrollIntoView({ block: "center", inline: "nearest" });
      const { left, top, right, bottom } = control.getBoundingClientRect();
      if (left < -1 || right > innerWidth + 1 || top < -1 || bottom > innerHeight + 1) found.push(control.outerHTML.slice(0, 100));
    }
    return found;
  });
}
