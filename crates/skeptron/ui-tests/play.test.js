// Play: a run goes forward and back, is changed by hand, and is passed on as a link or a file.
import assert from "node:assert/strict";
import { link, part, site } from "./harness.js";
import { actOnNode, drop, exported, frames, goTo, openRun, sight, steps, told } from "./play.js";

const lab = site("lab");

lab.test("the first screen already moves, and says what happens", async (open) => {
  const page = await open("");
  const where = part(page, "play-where");
  await where.filter({ hasText: /^[1-9]/ }).waitFor();
  const first = await where.textContent();
  assert.match((await part(page, "play-told").textContent()) ?? "", /P\d/);
  await page.waitForFunction((first) => document.querySelector('[data-test="play-where"]')?.textContent !== first, first);
  assert.match(page.url(), /\/$|#\/play/);
});

lab.test("who wants little to move sees the finished diagram stand still", async (open) => {
  const page = await openRun(open, "#/play");
  const before = await sight(page);
  await page.waitForTimeout(700);
  assert.deepEqual(await sight(page), before);
  assert.equal(before.where, `${await steps(page)} / ${await steps(page)}`);
});

lab.test("the variables of the paper change at the very step that changes them", async (open) => {
  const page = await openRun(open, "#/play?scenario=ricart-agrawala-41-34&at=0");
  const value = async (/** @type {number} */ node, /** @type {string} */ field) => {
    const text = await part(page, "play-nodes-panel").getByRole("region", { name: `P${node}` }).locator(`[data-field="${field}"]`).innerText();
    return text.replace("▸", "").trim();
  };
  const expected = [
    { step: 0, stamps: ["0", "0"], deferred: "{}" },
    { step: 1, stamps: ["41", "0"], deferred: "{}" },
    { step: 2, stamps: ["41", "34"], deferred: "{}" },
    { step: 3, stamps: ["41", "34"], deferred: "{P1}" },
    { step: 9, stamps: ["41", "34"], deferred: "{P1}" },
    { step: 10, stamps: ["41", "34"], deferred: "{}" },
  ];
  for (const { step, stamps, deferred } of expected) {
    await goTo(page, step);
    assert.deepEqual([await value(1, "stamp"), await value(2, "stamp")], stamps, `step ${step}`);
    assert.equal(await value(2, "deferred"), deferred, `step ${step}`);
  }
});

const RUNS = [
  "scenario=ricart-agrawala-41-34", "scenario=maekawa-13", "scenario=raymond-seven", "scenario=bully", "scenario=lamport-not-fifo",
  "algorithm=suzuki-kasami&nodes=5&entries=6&latency=uniform:0.5..1.5&seed=7",
  "algorithm=ricart-agrawala&nodes=3&entries=5&crash=P2@6..9&loss=0.1&duplicate=0.2&seed=3",
];

for (const run of RUNS) {
  lab.test(`step back restores exactly what was before: ${run}`, async (open) => {
    const page = await openRun(open, `#/play?${run}&at=0`);
    await page.keyboard.press("0");
    const seen = [await sight(page)];
    for (let step = 0; step < 20 && !(await part(page, "play-forward").isDisabled()); step += 1) {
      await page.keyboard.press("ArrowRight");
      await page.keyboard.press("0");
      seen.push(await sight(page));
    }
    assert(seen.length > 10);
    assert.equal(new Set(seen.map((sight) => sight.where)).size, seen.length, "every step goes on");
    for (let step = seen.length - 2; step >= 0; step -= 1) {
      await page.keyboard.press("ArrowLeft");
      await page.keyboard.press("0");
      assert.deepEqual(await sight(page), seen[step], `step ${step}`);
    }
  });
}

lab.test("jumping about in a long run shows the same as walking there", async (open) => {
  const page = await openRun(open, "#/play?algorithm=maekawa&nodes=7&quorum=fano&entries=60&latency=exp:1&seed=5&at=0");
  const count = await steps(page);
  assert(count > 500, `${count} steps`);
  // The states come in chunks of 256 records: the borders are where a mistake would show.
  const places = [0, 1, 40, 127, 128, 129, 130, 200, 255, 256, 257, count - 1, count];
  /** @type {Map<number, Awaited<ReturnType<typeof sight>>>} */
  const jumped = new Map();
  for (const place of [...places].reverse()) {
    await goTo(page, place);
    jumped.set(place, await sight(page));
  }
  for (const place of places.filter((place) => place > 0)) {
    await goTo(page, place - 1);
    await part(page, "play-forward").click();
    const { picture: _, ...walked } = await sight(page);
    const { picture: __, ...there } = /** @type {Awaited<ReturnType<typeof sight>>} */ (jumped.get(place));
    assert.deepEqual(walked, there, `step ${place}`);
  }
});

lab.test("a link reproduces algorithm, options, what was done, position and selected node", async (open) => {
  const page = await openRun(open, "#/play?algorithm=ricart-agrawala&nodes=4&workload=none&section=2&latency=1&seed=11&clocks=4,0,2,0&at=0");
  await actOnNode(page, 2, "request");
  await actOnNode(page, 4, "request");
  await part(page, "play-forward").click();
  await actOnNode(page, 3, "crash");
  await part(page, "play-forward").click();
  await part(page, "node-2").click();
  const before = await sight(page);

  const again = await openRun(open, await link(page, /select=2/));
  await part(again, "node-2").and(again.locator('[aria-pressed="true"]')).waitFor();
  const after = await sight(again);
  assert.deepEqual({ ...after, picture: "" }, { ...before, picture: "" });
  assert.equal((await exported(again)).text, (await exported(page)).text);
});

lab.test("a message that is dropped changes the run, and undo brings the old one back", async (open) => {
  const page = await openRun(open, "#/play?algorithm=ricart-agrawala&nodes=3&entries=2&requesters=P1,P2&seed=1&at=0");
  const original = (await exported(page)).text;
  await part(page, "play-forward").click();
  const before = await sight(page);
  await chooseMessage(page);
  await part(page, "act-drop").click();
  await part(page, "play-told").filter({ hasText: /lost/ }).waitFor();
  await frames(page);
  const changed = (await exported(page)).text;
  assert.notEqual(changed, original);
  assert.match(changed, /"lose"/);
  await part(page, "tab-hand").click();
  assert.equal(await part(page, "play-acts").locator("li").count(), 1);
  await part(page, "play-last").click();
  await part(page, "verdict-progress").filter({ hasText: /✗|violated|no/i }).waitFor();

  await part(page, "play-undo").click();
  await page.waitForFunction(() => document.querySelectorAll('[data-test="play-acts"] li').length === 0);
  await part(page, "tab-nodes").click();
  await goTo(page, 1);
  assert.equal((await exported(page)).text, original);
  assert.deepEqual({ ...(await sight(page)), picture: "" }, { ...before, picture: "" });
});

lab.test("what is impossible is not offered, and what is done in the past makes another history", async (open) => {
  const page = await openRun(open, "#/play?algorithm=suzuki-kasami&nodes=3&workload=none&section=hand&at=0");
  await actOnNode(page, 2, "request");
  await part(page, "play-last").click();
  await part(page, "node-menu-2").click();
  assert(await part(page, "act-request").isDisabled());
  assert(await part(page, "act-release").isEnabled());
  await page.keyboard.press("Escape");
  await actOnNode(page, 2, "release");
  await part(page, "tab-hand").click();
  assert.equal(await part(page, "play-acts").locator("li").count(), 2);
  await part(page, "tab-nodes").click();
  await goTo(page, 1);
  await actOnNode(page, 3, "request");
  await part(page, "tab-hand").click();
  assert.deepEqual((await part(page, "play-acts").locator("li").allTextContents()).map((text) => text.slice(text.indexOf(":") + 2)), ["P2 asks", "P3 asks"]);
});

lab.test("an exported run is imported by drop, and plays", async (open) => {
  const page = await openRun(open, "#/play?algorithm=bully&nodes=4&crash=4@1&initiators=1&at=0");
  const count = await steps(page);
  await goTo(page, count);
  const end = await sight(page);
  const { name, text } = await exported(page);
  assert.match(name, /\.jsonl$/);

  const other = await openRun(open, "#/play?algorithm=central&nodes=3&entries=2&at=0");
  await drop(other, name, text);
  await told(other);
  assert.equal(await steps(other), count);
  await goTo(other, count);
  const there = await sight(other);
  assert.equal(there.nodes, end.nodes);
  assert.equal(there.told, end.told, "its own command makes it: a click goes on");
  const third = await openRun(open, await link(other, /trace=/));
  assert.equal(await steps(third), count);
});

lab.test("a file that is no run is refused in words, and nothing is lost", async (open) => {
  const page = await openRun(open, "#/play?algorithm=central&nodes=3&entries=2&at=0", { allow: /400|422/ });
  const before = await steps(page);
  await drop(page, "wrong.jsonl", "this is no run\n");
  await part(page, "play-error").getByRole("alert").waitFor();
  assert.match((await part(page, "play-error").textContent()) ?? "", /line 1|JSON|header/i);
  assert.equal(await steps(page), before);
});

lab.test("every export has content", async (open) => {
  const page = await openRun(open, "#/play?scenario=suzuki-kasami&at=0");
  const begin = { svg: /^<svg/, jsonl: /^\{"skeptron":1/, mmd: /sequenceDiagram/, shiviz: /P1/, txt: /Suzuki/, perfetto: /^[{[]/ };
  for (const [format, pattern] of Object.entries(begin)) assert.match((await exported(page, format)).text, pattern, format);
});

lab.test("options are changed in the page, and a wrong one is explained", async (open) => {
  const page = await openRun(open, "#/play?algorithm=ricart-agrawala&nodes=3&entries=2&at=0", { allow: /400|422/ });
  await part(page, "play-algorithm").selectOption("token-ring");
  await page.waitForURL(/algorithm=token-ring/);
  await part(page, "play-nodes").fill("5");
  await part(page, "play-nodes").press("Enter");
  await page.waitForURL(/nodes=5/);
  await part(page, "node-5").waitFor();
  await part(page, "play-nodes").fill("100000");
  await part(page, "play-nodes").press("Enter");
  await part(page, "play-error").getByRole("alert").waitFor();
});

lab.test("a scenario tells its notes, and they can be walked", async (open) => {
  const page = await openRun(open, "#/play?scenario=ricart-agrawala-41-34&at=0");
  const note = part(page, "play-note");
  assert.match((await note.textContent()) ?? "", /40/);
  const seen = new Set();
  for (let walked = 0; !(await part(page, "note-next").isDisabled()); walked += 1) {
    await part(page, "note-next").click();
    await frames(page);
    seen.add(await note.textContent());
    assert(walked < 20);
  }
  assert(seen.size >= 5);
});

lab.test("it is played by the keyboard alone", async (open) => {
  const page = await openRun(open, "#/play?algorithm=central&nodes=3&workload=none&at=0");
  await part(page, "play-diagram").focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await part(page, "act-request").waitFor();
  await page.keyboard.press("Enter");
  await part(page, "play-told").filter({ hasText: "P2" }).waitFor();
  assert((await steps(page)) > 3);
  await page.keyboard.press("End");
  await page.keyboard.press("Home");
  await frames(page);
  assert.match((await part(page, "play-where").textContent()) ?? "", /^0 /);
});

/**
 * Opens the menu of the first message under way, by the keyboard.
 * @param {import("playwright-core").Page} page
 */
async function chooseMessage(page) {
  await part(page, "play-diagram").focus();
  for (let pressed = 0; pressed < 4; pressed += 1) await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await part(page, "act-drop").waitFor();
}

lab.test("a run that begins in any state says when it has recovered, and promises no more", async (open) => {
  const page = await openRun(open, "#/play?algorithm=dijkstra&nodes=3&begin=6,6,9&entries=5&at=0");
  await part(page, "tab-figures").click();
  const figures = part(page, "play-figures");
  await figures.filter({ hasText: /legitimate from\s*\d/ }).waitFor();
  assert.match(await figures.innerText(), /entries before it was legitimate\s*\d+\s*of these while somebody was inside\s*\d+/);
  assert.match((await part(page, "verdict-exclusion").getAttribute("title")) ?? "", /since the state is legitimate/);
});
