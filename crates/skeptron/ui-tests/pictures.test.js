// Pictures of what Play shows, in every format, and what is printed.
import assert from "node:assert/strict";
import { part, site } from "./harness.js";
import { goTo, openRun, saved, sight } from "./play.js";

const lab = site("lab");

/** The names in a ZIP that stores its files. @param {Buffer} zip */
function entries(zip) {
  const names = [];
  for (let at = 0; zip.readUInt32LE(at) === 0x04034b50;) {
    const [size, length] = [zip.readUInt32LE(at + 18), zip.readUInt16LE(at + 26)];
    names.push(zip.subarray(at + 30, at + 30 + length).toString());
    at += 30 + length + size;
  }
  return names;
}

/**
 * What a browser makes of an SVG.
 * @param {import("playwright-core").Page} page
 * @param {string} svg
 */
function looked(page, svg) {
  return page.evaluate((svg) => {
    const parsed = new DOMParser().parseFromString(svg, "image/svg+xml").documentElement;
    const texts = [...parsed.querySelectorAll("text")].map((text) => text.textContent ?? "");
    return { tag: parsed.tagName, texts, paths: parsed.querySelectorAll("path").length, ground: parsed.querySelector("rect")?.getAttribute("fill"), width: Number(parsed.getAttribute("width")) };
  }, svg);
}

lab.test("the diagram is an SVG, dark on white unless it is to look as the page does", async (open) => {
  const page = await openRun(open, "#/play?scenario=ricart-agrawala-41-34&at=0", { dark: true });
  await goTo(page, 8);
  const { name, bytes } = await saved(page, {});
  assert.equal(name, "ricart-agrawala-diagram.svg");
  const light = await looked(page, bytes.toString());
  assert.deepEqual([light.tag, light.ground], ["svg", "#ffffff"]);
  for (const text of ["P1", "P2", "P3", "time"]) assert(light.texts.includes(text), `${text} in ${light.texts}`);
  assert(light.texts.some((text) => /REQUEST (41|34)/.test(text)), `the payload in ${light.texts}`);
  assert(light.paths > 10);
  const dark = await looked(page, (await saved(page, { asPage: true })).bytes.toString());
  assert.notEqual(dark.ground, light.ground);
  assert.deepEqual(dark.texts, light.texts);
});

lab.test("a range of steps, and the whole run", async (open) => {
  const page = await openRun(open, "#/play?scenario=ricart-agrawala-41-34&at=0");
  const some = await looked(page, (await saved(page, { part: "steps", steps: "3..6" })).bytes.toString());
  const all = await looked(page, (await saved(page, { part: "run" })).bytes.toString());
  assert(some.paths < all.paths && some.width <= all.width);
  assert.equal((await sight(page)).where.split(" ")[0], "0", "the page is where it was");
  await part(page, "play-export-open").click();
  await part(page, "picture-part").selectOption("steps");
  await part(page, "picture-steps").fill("5..99");
  await part(page, "picture-save").click();
  await part(page, "play-error").getByText("are no steps of this run").waitFor();
});

lab.test("a run that fits a slide is as large as one, and its letters have 2 % of it", async (open) => {
  for (const [scenario, steps] of [["ricart-agrawala-41-34", "1..12"], ["ring-election", "2..14"], ["token-ring", "1..12"], ["maekawa-13", "1..20"]]) {
    const page = await openRun(open, `#/play?scenario=${scenario}&at=0`);
    const svg = (await saved(page, { part: "steps", steps })).bytes.toString();
    const [width, height] = /<svg[^>]* width="(\d+)" height="(\d+)"/.exec(svg)?.slice(1).map(Number) ?? [];
    const smallest = Math.min(...[...svg.matchAll(/font-size="([\d.]+)"/g)].map(([, size]) => Number(size)));
    const share = (smallest * Math.min(1600 / width, 900 / height)) / 900;
    assert(share >= 0.0199, `${scenario}: ${(share * 100).toFixed(2)} % of ${width} × ${height}`);
  }
  const page = await openRun(open, "#/play?scenario=ricart-agrawala-41-34&at=0");
  const { texts } = await looked(page, (await saved(page, { part: "run" })).bytes.toString());
  assert.deepEqual([texts.filter((text) => text === "REQUEST 41").length, texts.filter((text) => text === "REQUEST 34").length], [2, 2], texts.join());
});

lab.test("topology and states, at each step and at each note", async (open) => {
  const page = await openRun(open, "#/play?scenario=raymond-seven&at=0");
  const topology = await looked(page, (await saved(page, { subject: "topology" })).bytes.toString());
  for (let node = 1; node <= 7; node += 1) assert(topology.texts.includes(`P${node}`), `P${node} in ${topology.texts}`);
  const states = await looked(page, (await saved(page, { subject: "states" })).bytes.toString());
  assert(states.texts.includes("P7") && states.texts.length > 14, String(states.texts));
  const steps = await saved(page, { subject: "topology", part: "steps", steps: "2..5", each: "step" });
  assert.equal(steps.name, "raymond-topology.zip");
  assert.deepEqual(entries(steps.bytes), [2, 3, 4, 5].map((step) => `raymond-topology-step-00${step}.svg`));
  const notes = await saved(page, { each: "note", format: "tex" });
  assert(entries(notes.bytes).length > 3 && entries(notes.bytes).every((name) => name.endsWith(".tex")));
  const sheet = await looked(page, (await saved(page, { subject: "topology", part: "steps", steps: "1,2,5,7", each: "step-sheet" })).bytes.toString());
  assert.equal(sheet.texts.filter((text) => text === "P1").length, 4, "four pictures on one sheet");
});

lab.test("Singhal's staircase, Lamport's queues and a cut network are drawn in the picture", async (open) => {
  const page = await openRun(open, "#/play?scenario=singhal-staircase&at=0");
  const stairs = await looked(page, (await saved(page, { subject: "grid" })).bytes.toString());
  const { nodes, asked } = await page.evaluate(() => ({
    nodes: document.querySelectorAll('[data-test="play-grid"] .grid-head').length / 2,
    asked: document.querySelectorAll('[data-test="play-grid"] .grid-cell.r').length,
  }));
  assert.equal(stairs.texts.filter((text) => text === "R").length, asked);
  assert.equal(asked, (nodes * (nodes - 1)) / 2, "each asks all below it");
  assert(stairs.texts.includes("H") && stairs.texts.some((text) => /SV of each node/.test(text)), String(stairs.texts));
  assert((await saved(page, { subject: "grid", format: "tex" })).bytes.toString().includes("tikzpicture"));
  const both = await looked(page, (await saved(page, { subject: "topology" })).bytes.toString());
  assert.equal(both.texts.filter((text) => text === "R").length, asked, "it stands below the topology");
  const other = await openRun(open, "#/play?scenario=raymond-seven&at=0");
  await part(other, "play-export-open").click();
  // Raymond's nodes are not shown as a grid.
  await part(other, "picture-subject").locator('[value="grid"][disabled]').waitFor({ state: "attached" });
  const central = await openRun(open, "#/play?scenario=central&at=0");
  await goTo(central, 7);
  const bent = (await saved(central, { subject: "topology", format: "tex" })).bytes.toString().split("\n").filter((line) => line.match(/\.\.controls/g)?.length === 1);
  assert.equal(bent.length, await part(central, "topo-svg").locator(".topo-wait").count(), "each who waits has its bent arrow");
  const cut = await openRun(open, `#/play?algorithm=ricart-agrawala&nodes=3&entries=3&partition=${encodeURIComponent("1|2,3@0..30")}&at=0`);
  await goTo(cut, 5);
  const picture = await looked(cut, (await saved(cut, { subject: "topology" })).bytes.toString());
  assert(picture.texts.includes((await part(cut, "play-cuts").textContent()) ?? "?"), String(picture.texts));
});

lab.test("PNG, PDF and TikZ", async (open) => {
  const page = await openRun(open, "#/play?scenario=bully&at=0");
  await goTo(page, 12);
  const png = await saved(page, { format: "png" });
  assert.deepEqual([...png.bytes.subarray(1, 4)], [..."PNG"].map((letter) => letter.charCodeAt(0)));
  assert(png.bytes.readUInt32BE(16) > 1000, "two dots for a pixel");

  const pdf = (await saved(page, { subject: "topology", part: "steps", steps: "2..4", each: "step", format: "pdf" })).bytes.toString("latin1");
  assert.match(pdf, /^%PDF-1\.4/);
  assert.equal(pdf.match(/\/Type \/Page /g)?.length, 3, "a page for each step");
  const table = Number(/startxref\n(\d+)/.exec(pdf)?.[1]);
  assert.equal(pdf.slice(table, table + 4), "xref");
  for (const [, place, number] of [...pdf.matchAll(/^(\d{10}) 00000 n/gm)].map(([, place], k) => ["", place, k + 1])) {
    assert.equal(pdf.slice(Number(place), Number(place) + String(number).length + 6), `${number} 0 obj`);
  }

  const tex = (await saved(page, { format: "tex" })).bytes.toString();
  assert.match(tex, /\\begin\{tikzpicture\}/);
  const count = (/** @type {RegExp} */ pattern) => tex.match(pattern)?.length ?? 0;
  assert.equal(count(/(?<!\\)\{/g), count(/(?<!\\)\}/g), "braces pair");
  for (const line of tex.split("\n").filter((line) => /^\\(path|node|fill|clip)/.test(line))) assert(line.endsWith(";"), line);
  assert(tex.includes("ELECTION"));
});

lab.test("printing gives the whole view on white", async (open) => {
  const german = await openRun(open, "?lang=de#/play?scenario=ricart-agrawala-41-34&at=9");
  await german.evaluate(() => dispatchEvent(new Event("beforeprint")));
  assert.match((await german.locator(".play-printed").textContent()) ?? "", /41 gegen 34.*P3 will nicht eintreten/);
  const page = await openRun(open, "#/play?scenario=ricart-agrawala-41-34&at=0", { dark: true });
  await goTo(page, 8);
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  await page.emulateMedia({ media: "print" });
  const printed = page.locator(".play-printed");
  assert.equal(await printed.locator("svg").count(), 3);
  assert.match(await printed.locator("h1").innerText(), /41 against 34/);
  assert(!(await part(page, "play-transport").isVisible()));
  await page.evaluate(() => dispatchEvent(new Event("afterprint")));
  assert.equal(await printed.count(), 0);
});

lab.test("a label stands where no other arrow crosses it, and a fence over the arrows that cross its bar", async (open) => {
  const page = await openRun(open, "#/play?scenario=suzuki-kasami&at=0");
  const { bytes } = await saved(page, { part: "run" });
  const svg = bytes.toString();
  assert(svg.indexOf(">#1<") > svg.lastIndexOf(">REQUEST 1<"), "labels are written over the fence");
  const placed = await page.evaluate(async () => {
    const { Labels } = await import(/** @type {string} */ ("/ui/lib/strokes.js"));
    const ink = /** @type {CanvasRenderingContext2D} */ (document.createElement("canvas").getContext("2d"));
    const labels = new Labels();
    labels.begin(ink, { left: 0, width: 400, height: 200, font: "11px sans-serif", ground: "white" });
    let at = 0;
    ink.translate = (x) => { at = x; };
    const way = { x1: 0, y1: 100, x2: 400, y2: 100 };
    const upright = (/** @type {number} */ x) => ({ x1: x, y1: 0, x2: x, y2: 200 });
    return [[way], [way, upright(115), upright(130)], [way, { ...upright(120), y1: 110 }]].map((others) => {
      labels.cells.fill(0);
      return labels.write(ink, "REPLY", way, [0.3, 0.5], "black", others) ? at : null;
    });
  });
  assert.deepEqual(placed, [120, 200, 120]);
});
