// The picture of the topology and the one visual language: what the nodes wear, who waits for whom, what is cut,
// and that a kind of message looks the same everywhere.
import assert from "node:assert/strict";
import { part, settled, site } from "./harness.js";
import { exported, frames, goTo, openRun, steps } from "./play.js";

/** @typedef {import("playwright-core").Page} Page */

const lab = site("lab");

/** The colour of a kind in the legend. @param {Page} page @param {string} label */
function inLegend(page, label) {
  return part(page, "play-legend").locator(".play-key", { hasText: new RegExp(`${label}$`) }).locator(".arrow").evaluate((sample) => getComputedStyle(sample).color);
}

/** What a node wears. @param {Page} page @param {number} node */
function worn(page, node) {
  return part(page, `topo-${node}`).locator(".topo-badge text").allTextContents();
}

/** Who waits for whom, as in `1 3`. @param {Page} page */
function waits(page) {
  return part(page, "topo-svg").locator("[data-wait]").evaluateAll((arrows) => arrows.map((arrow) => arrow.getAttribute("data-wait")));
}

/** The texts of the grid, row by row, without its head. @param {Page} page @param {number} columns */
async function grid(page, columns) {
  const texts = await part(page, "play-grid").locator(".grid-text").allTextContents();
  return Array.from({ length: texts.length / columns }, (_, row) => texts.slice(row * columns, (row + 1) * columns).join(" "));
}

lab.test("a kind of message has the colour of its role, whatever algorithm sends it and in whatever order", async (open) => {
  const ricart = await openRun(open, "#/play?algorithm=ricart-agrawala&nodes=3&entries=2");
  const lamport = await openRun(open, "#/play?algorithm=lamport&nodes=3&entries=2");
  const ring = await openRun(open, "#/play?algorithm=token-ring&nodes=3&entries=2");
  const suzuki = await openRun(open, "#/play?algorithm=suzuki-kasami&nodes=3&entries=2");
  assert.equal(await inLegend(ricart, "REQUEST"), await inLegend(lamport, "REQUEST"));
  assert.equal(await inLegend(ricart, "REPLY"), await inLegend(lamport, "ACK"));
  // The first kind of one algorithm is the second of the other.
  assert.equal(await inLegend(ring, "TOKEN"), await inLegend(suzuki, "PRIVILEGE"));
  const all = new Set([await inLegend(lamport, "REQUEST"), await inLegend(lamport, "ACK"), await inLegend(lamport, "RELEASE"), await inLegend(ring, "TOKEN")]);
  assert.equal(all.size, 4);
});

lab.test("an exported diagram has the colours of the page, light and dark", async (open) => {
  const { text } = await exported(await openRun(open, "#/play?algorithm=lamport&nodes=3&entries=2"), "svg");
  const [light, dark = ""] = text.split("prefers-color-scheme:dark");
  for (const [isDark, sheet] of /** @type {const} */ ([[false, light], [true, dark]])) {
    const page = await openRun(open, "#/play?algorithm=lamport&nodes=3&entries=2", { dark: isDark });
    for (const [label, role] of [["REQUEST", "request"], ["ACK", "grant"], ["RELEASE", "release"]]) {
      const hex = new RegExp(`\\.k-${role} \\.line\\{stroke:#(\\w\\w)(\\w\\w)(\\w\\w)`).exec(sheet)?.slice(1) ?? [];
      assert.equal(await inLegend(page, label), `rgb(${hex.map((part) => parseInt(part, 16)).join(", ")})`, `${label}, dark: ${isDark}`);
    }
  }
});

lab.test("labels are short: the name and what the lectures write beside it", async (open) => {
  const page = await openRun(open, "#/play?scenario=ricart-agrawala-41-34&at=0");
  await goTo(page, 1);
  const told = part(page, "play-told");
  assert.match((await told.textContent()) ?? "", /sends REQUEST 41 to P2, P3\./);
  assert.deepEqual(await part(page, "topo-svg").locator(".topo-said").allTextContents(), ["41", "41"]);
  assert.deepEqual(await part(page, "topo-svg").locator(".topo-kind").allTextContents(), ["REQUEST", "REQUEST"]);
  const maekawa = await openRun(open, "#/play?algorithm=maekawa&nodes=4&entries=2&at=0");
  await goTo(maekawa, 1);
  assert.match((await part(maekawa, "play-told").textContent()) ?? "", /sends REQUEST 1 to P/);
  const ring = await openRun(open, "#/play?scenario=ring-election&at=0");
  const lists = new Set();
  for (let step = 1, last = await steps(ring); step <= last; step += 1) {
    await goTo(ring, step);
    for (const said of await part(ring, "topo-svg").locator(".topo-said").allTextContents()) lists.add(said);
  }
  assert([...lists].some((said) => /^\[P\d, P\d, P\d/.test(said)), [...lists].join("; "));
});

lab.test("nodes wear their stamps and whom they keep waiting, and arrows say who waits for whom", async (open) => {
  const page = await openRun(open, "#/play?scenario=ricart-agrawala-41-34&at=0");
  assert.deepEqual([await worn(page, 1), await waits(page)], [[], []]);
  await goTo(page, 2);
  assert.deepEqual([await worn(page, 1), await worn(page, 2), await waits(page)], [["41"], ["34"], []]);
  await goTo(page, 3);
  assert.deepEqual([await worn(page, 1), await worn(page, 2), await waits(page)], [["41"], ["34", "defers P1"], ["1 2"]]);
  await goTo(page, await steps(page));
  assert.deepEqual(await waits(page), []);
  assert(await part(page, "play-circle").isHidden());
});

lab.test("the circle of a deadlock is found in the nodes’ states, and only there", async (open) => {
  const page = await openRun(open, "#/play?scenario=maekawa-13-naive&at=0");
  const last = await steps(page);
  for (const [step, expected] of /** @type {const} */ ([[0, 0], [last, 3]])) {
    await goTo(page, step);
    assert.equal(await part(page, "topo-svg").locator(".topo-wait.circle").count(), expected, `step ${step}`);
  }
  assert.deepEqual((await waits(page)).sort(), ["2 4", "3 2", "4 3"]);
  assert.match((await part(page, "play-circle").textContent()) ?? "", /^Deadlock: P\d → P\d → P\d → P\d wait for each other$/);
  assert.deepEqual(await worn(page, 8), ["→ P2", "Q P3"]);
  // The same requests with INQUIRE: a circle may come, but not stay.
  const sound = await openRun(open, "#/play?scenario=maekawa-13");
  await goTo(sound, await steps(sound));
  assert(await part(sound, "play-circle").isHidden());
});

lab.test("Singhal’s staircase, Lamport’s queues and Suzuki–Kasami’s numbers are drawn as the papers do", async (open) => {
  const singhal = await openRun(open, "#/play?scenario=singhal-staircase&at=0");
  assert.deepEqual(await grid(singhal, 4), ["H N N N", "R N N N", "R R N N", "R R R N"]);
  await goTo(singhal, 1);
  assert.deepEqual(await grid(singhal, 4), ["H N N N", "R N N N", "R R R N", "R R R N"]);
  assert.equal(await part(singhal, "play-grid").locator(".grid-cell.changed").count(), 1);

  const lamport = await openRun(open, "#/play?scenario=lamport-queues&at=0");
  const seen = new Set();
  for (let step = 0, last = await steps(lamport); step <= last; step += 1) {
    await goTo(lamport, step);
    for (const line of await grid(lamport, 3)) seen.add(line);
  }
  // All queues agree in the end: the same request is first at each node.
  assert([...seen].some((line) => /^(\d+ P\d) \1 \1$/.test(line)), [...seen].join("; "));

  const suzuki = await openRun(open, "#/play?algorithm=suzuki-kasami&nodes=3&workload=none&section=hand&at=0");
  assert.deepEqual(await grid(suzuki, 3), ["0 0 0", "0 0 0", "0 0 0", "0 0 0"]);
  await part(suzuki, "node-menu-2").click();
  await part(suzuki, "act-request").click();
  await part(suzuki, "play-told").filter({ hasText: "P2" }).waitFor();
  await goTo(suzuki, 1);
  assert.deepEqual(await grid(suzuki, 3), ["0 0 0", "0 1 0", "0 0 0", "0 0 0"]);
  assert.equal(await part(suzuki, "play-grid").locator(".grid-cell.due").count(), 1);
});

/**
 * What is seen in a run, step by step, until something has been.
 * @param {Page} page
 * @param {(seen: { worn: string[][], waits: (string | null)[] }) => boolean} is
 * @param {number} nodes
 */
async function seenInRun(page, is, nodes) {
  for (let step = 0, last = await steps(page); step <= last; step += 1) {
    await goTo(page, step);
    const seen = { worn: await Promise.all(Array.from({ length: nodes }, (_, k) => worn(page, k + 1))), waits: await waits(page) };
    if (is(seen)) return true;
  }
  return false;
}

lab.test("every algorithm says who waits for whom, and what an arbiter has granted", async (open) => {
  /** @type {[string, number, (seen: { worn: string[][], waits: (string | null)[] }) => boolean][]} */
  const expected = [
    ["cao-singhal", 4, (seen) => seen.worn[0].includes("→ P2") && seen.worn[0].includes("Q P3 P4") && seen.waits.includes("3 2") && seen.waits.includes("4 2")],
    ["readers-writers", 4, (seen) => seen.worn.some((of) => of.includes("→ P1 P2")) && seen.waits.includes("4 1")],
    ["raymond-k", 3, (seen) => seen.worn[0].includes("defers P2 P3") && seen.waits.includes("3 1")],
    ["singhal-1992", 4, (seen) => seen.waits.length > 0],
    ["lodha-kshemkalyani", 3, (seen) => seen.waits.includes("2 1") && seen.waits.includes("3 1")],
    ["ricart-agrawala-token", 4, (seen) => seen.waits.length > 0],
    ["neilsen-mizuno", 5, (seen) => seen.worn.some((of) => of.some((text) => /^next P\d$/.test(text))) && seen.waits.length > 0],
    ["peterson", 4, (seen) => seen.worn[1].includes("tid P3")],
  ];
  for (const [scenario, nodes, is] of expected) {
    const page = await openRun(open, `#/play?scenario=${scenario}&at=0`);
    assert(await seenInRun(page, is, nodes), scenario);
    // Whoever waits waits for somebody in a run without faults, but nobody waits when all is over.
    await goTo(page, await steps(page));
    assert.deepEqual(await waits(page), [], scenario);
    assert(await part(page, "play-circle").isHidden(), scenario);
    await page.close();
  }
});

lab.test("the token is where it is: with whoever is inside, and at rest", async (open) => {
  const page = await openRun(open, "#/play?scenario=neilsen-mizuno&at=0");
  for (let step = 0, last = await steps(page); step <= last; step += 1) {
    await goTo(page, step);
    const at = await part(page, "topo-svg").locator(".topo-token[visibility=visible]").count();
    const flying = await part(page, "topo-svg").locator(".topo-kind", { hasText: "PRIVILEGE" }).count();
    assert(at <= 1 && at + flying >= 1, `step ${step}: ${at} at nodes`);
  }
});

lab.test("requests and turns of the newer algorithms are drawn as grids", async (open) => {
  const token = await openRun(open, "#/play?scenario=ricart-agrawala-token&at=0");
  assert.deepEqual(await grid(token, 4), ["0 0 0 0", "0 0 0 0", "0 0 0 0", "0 0 0 0", "0 0 0 0"]);
  await goTo(token, 1);
  assert.equal((await grid(token, 4)).filter((line) => line !== "0 0 0 0").length, 1);
  const lodha = await openRun(open, "#/play?scenario=lodha-kshemkalyani&at=0");
  await goTo(lodha, 9);
  assert.deepEqual(await grid(lodha, 3), ["1 P1 1 P1 1 P1", "1 P2 1 P2 1 P2", "1 P3 1 P3 1 P3"]);
  const singhal = await openRun(open, "#/play?scenario=singhal-1992&at=0");
  assert.deepEqual(await grid(singhal, 4), ["·   ", "R ·  ", "R R · ", "R R R ·"], "a staircase at the start");
});

lab.test("names of messages under way hide neither each other nor a node", async (open) => {
  for (const scenario of ["bully", "carvalho-roucairol", "chang-roberts"]) {
    const page = await openRun(open, `#/play?scenario=${scenario}&at=0`);
    for (let step = 0, last = await steps(page); step <= last; step += 1) {
      await goTo(page, step);
      const hidden = await part(page, "topo-svg").evaluate((svg) => {
        const boxes = (/** @type {string} */ what) => [...svg.querySelectorAll(what)].filter((text) => text.textContent).map((text) => ({ text: text.textContent, box: text.getBoundingClientRect() }));
        const [kinds, others] = [boxes(".topo-kind"), boxes(".topo-name, .topo-badge text")];
        return kinds.flatMap((one, k) => [...kinds.slice(k + 1), ...others].filter(({ box }) => Math.min(box.right, one.box.right) - Math.max(box.left, one.box.left) > 3 && Math.min(box.bottom, one.box.bottom) - Math.max(box.top, one.box.top) > 4).map(({ text }) => `${one.text} over ${text}`));
      });
      assert.deepEqual(hidden, [], `${scenario}, step ${step}`);
    }
    await page.close();
  }
});

lab.test("a planned partition is drawn while it lasts, and nobody is said to reach everybody", async (open) => {
  const page = await openRun(open, `#/play?algorithm=token-ring&nodes=4&entries=4&partition=${encodeURIComponent("1,2|3,4@1.5..4.5")}&at=0`);
  const plain = await openRun(open, `#/play?algorithm=ricart-agrawala&nodes=3&entries=3&partition=${encodeURIComponent("1|2,3@0..30")}&at=0`);
  assert(await part(page, "play-cuts").isHidden());
  await goTo(page, await steps(page));
  assert.match((await part(plain, "play-cuts").textContent()) ?? "", /^Cut: P1 \| P2, P3$/);
  assert.equal(await part(plain, "topo-svg").locator(".topo-cut-links line").count(), 2);
  assert.equal(await part(plain, "topo-1").getAttribute("class").then((text) => /\bapart\b/.test(text ?? "")), true);
  assert.doesNotMatch((await part(plain, "play-topology").locator("figcaption").textContent()) ?? "", /every other/i);
});

for (const [name, nodes] of /** @type {const} */ ([["fano", 7], ["maekawa-13", 13]])) {
  lab.test(`the plane of ${nodes} points is drawn alike in Play and in Quorums`, async (open) => {
    const play = await openRun(open, `#/play?algorithm=maekawa&quorum=${name}&nodes=${nodes}&workload=none&at=0`);
    const here = await play.evaluate(() => [...document.querySelectorAll(".topo-point")].map((point) => /translate\(([-\d.e]+) ([-\d.e]+)\)/.exec(point.getAttribute("transform") ?? "")?.slice(1).map(Number) ?? []));
    const quorums = await open(`#/quorums?kind=${name}`, { still: true });
    await settled(quorums);
    const there = await quorums.evaluate(() => {
      const shadow = document.querySelector(".drawing")?.shadowRoot;
      const nodes = [...(shadow?.querySelectorAll(".node") ?? [])].map((node) => {
        const box = /** @type {SVGGraphicsElement} */ (node.querySelector(".face")).getBBox();
        return { node: Number(/^P(\d+)/.exec(node.querySelector("title")?.textContent ?? "")?.[1]), at: [box.x + box.width / 2, box.y + box.height / 2] };
      });
      return nodes.sort((a, b) => a.node - b.node).map(({ at }) => at);
    });
    assert.equal(there.length, nodes);
    const [a, b] = [normal(here), normal(there)];
    a.forEach((place, k) => place.forEach((value, axis) => assert(Math.abs(value - b[k][axis]) < 0.02, `P${k + 1}: ${place} is not ${b[k]}`)));
  });
}

/** Places without where and how large the picture is. @param {number[][]} places */
function normal(places) {
  const wide = Math.max(...places.map(([x]) => x)) - Math.min(...places.map(([x]) => x));
  return places.map(([x, y]) => [(x - Math.min(...places.map(([x]) => x))) / wide, (y - Math.min(...places.map(([, y]) => y))) / wide]);
}

lab.test("a picture from the server follows the theme of the page, whatever the system says", async (open) => {
  const page = await open("#/quorums?kind=fano", { still: true });
  await settled(page);
  const ground = () => page.evaluate(() => getComputedStyle(/** @type {Element} */ (document.querySelector(".drawing")?.shadowRoot?.querySelector(".ground"))).fill);
  const light = await ground();
  const button = page.locator("#theme");
  await button.click();
  await button.click();
  assert.equal(await button.textContent(), "Theme: dark");
  const dark = await ground();
  assert.notEqual(dark, light);
  assert.equal(dark, await page.evaluate(() => getComputedStyle(/** @type {Element} */ (document.querySelector(".panel.picture"))).backgroundColor));
});

lab.test("badges fit the picture at 13 nodes in every theme, and are told to who cannot see them", async (open) => {
  const page = await openRun(open, "#/play?scenario=maekawa-13-naive&at=0");
  await goTo(page, await steps(page));
  await frames(page);
  const outside = await page.evaluate(() => {
    const frame = /** @type {Element} */ (document.querySelector('[data-test="topo-svg"]')).getBoundingClientRect();
    return [...document.querySelectorAll(".topo-badge rect, .topo-disc")].filter((one) => {
      const box = one.getBoundingClientRect();
      return box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1 || box.bottom > frame.bottom + 1;
    }).length;
  });
  assert.equal(outside, 0);
  assert.match((await part(page, "topo-8").getAttribute("aria-label")) ?? "", /granted-to.*→ P2/);
});

lab.test("what is under way hides no node and no half of a word", async (open) => {
  for (const run of ["scenario=maekawa-13&at=21", "algorithm=singhal&nodes=6&entries=6&at=40", "scenario=lamport-queues&at=9"]) {
    const page = await openRun(open, `#/play?${run}`);
    await page.keyboard.press("f");
    await page.keyboard.press("t");
    await page.waitForTimeout(300);
    await frames(page);
    const hidden = await part(page, "topo-svg").evaluate((svg) => {
      const pills = [...svg.querySelectorAll(".topo-flying > g > rect")].map((rect) => rect.getBoundingClientRect());
      const words = [...svg.querySelectorAll(".topo-name, .topo-sign")].filter((word) => word.textContent && getComputedStyle(word).visibility === "visible");
      return words.flatMap((word) => {
        const box = word.getBoundingClientRect();
        return pills.some(({ left, right, top, bottom }) => left < box.right - 2 && box.left + 2 < right && top < box.bottom - 2 && box.top + 2 < bottom) ? [word.textContent] : [];
      });
    });
    assert.deepEqual(hidden, [], run);
  }
});
