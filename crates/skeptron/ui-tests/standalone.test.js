// Pages that need no server: opened from the disk, with nothing else running.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { downloaded, files, link, part, run, site } from "./harness.js";
import { exported, frames, goTo, openRun, sight, steps } from "./play.js";

const folder = mkdtempSync(join(tmpdir(), "skeptron-"));
after(() => rmSync(folder, { recursive: true }));
const path = (/** @type {string} */ name) => join(folder, name);
const disk = files();
const lab = site("lab");

/**
 * Opens a page from the disk; it may load nothing but itself.
 * @param {import("./harness.js").Open} open
 * @param {string} file
 * @param {string} [hash]
 */
async function openFile(open, file, hash = "") {
  const page = await openRun(open, file + hash);
  await loadsNothing(page);
  return page;
}

/** @param {import("./harness.js").Page} page */
async function loadsNothing(page) {
  const loaded = await page.evaluate(() => performance.getEntriesByType("resource").map(({ name }) => name).filter((name) => !name.startsWith("data:")));
  assert.deepEqual(loaded, [], "it loads nothing");
}

disk.test("sim --trace run.html plays from the disk, forward and back", async (open) => {
  assert.equal(run("sim", "ricart-agrawala", "-n", "3", "--entries", "4", "--clocks", "40,0,33", "--trace", path("run.html")).code, 0);
  const page = await openFile(open, path("run.html"), "#/play?at=0");
  assert.match(await part(page, "play-title").innerText(), /Ricart–Agrawala, 3 nodes/);
  assert.match(await part(page, "play-note").innerText(), /skeptron sim ricart-agrawala/);
  const seen = [await sight(page)];
  for (let step = 0; step < 12; step += 1) {
    await page.keyboard.press("ArrowRight");
    seen.push(await sight(page));
  }
  assert.equal(new Set(seen.map((sight) => sight.where)).size, seen.length, "every step goes on");
  assert(new Set(seen.map((sight) => sight.nodes)).size > 6, "the states change");
  assert(new Set(seen.map((sight) => sight.topology)).size > 6, "the topology changes");
  assert.match(seen[1].told, /requests/);
  for (let step = seen.length - 2; step >= 0; step -= 1) {
    await page.keyboard.press("ArrowLeft");
    assert.deepEqual(await sight(page), seen[step], `step ${step}`);
  }
  await part(page, "play-toggle").click();
  await part(page, "play-where").filter({ hasText: /^[2-9]/ }).waitFor();
});

disk.test("it has the clocks of the lectures, too", async (open) => {
  assert.equal(run("sim", "ricart-agrawala", "-n", "3", "--entries", "2", "--trace", path("clocks.html")).code, 0);
  const page = await openFile(open, path("clocks.html"), "#/play?at=9999");
  const without = await sight(page);
  await part(page, "clocks-kind").selectOption("lamport");
  const lamport = await sight(page);
  assert.notEqual(lamport.picture, without.picture);
  await part(page, "clocks-take-b").click();
  await goTo(page, 1);
  await part(page, "clocks-take-a").click();
  await part(page, "clocks-told").filter({ hasText: "A happened before B" }).waitFor();
});

disk.test("its exported run replays, and what needs a server is not offered", async (open) => {
  assert.equal(run("sim", "raymond", "-n", "7", "--entries", "3", "--trace", path("tree.html")).code, 0);
  const page = await openFile(open, path("tree.html"), "#/play?at=0");
  assert(!(await part(page, "play-controls").isVisible()));
  const file = await exported(page);
  writeFileSync(path("tree.jsonl"), file.text);
  assert.equal(run("sim", "--replay", path("tree.jsonl")).code, 0);
  await part(page, "play-export-open").click();
  assert(!(await part(page, "export-perfetto").isVisible()));
});

disk.test("a page from the disk speaks every language, and changes it", async (open) => {
  assert.equal(run("sim", "ricart-agrawala", "-n", "3", "--entries", "2", "--trace", path("words.html")).code, 0);
  const page = await openFile(open, path("words.html"), "?lang=de#/play?at=0");
  assert.match(await part(page, "play-title").innerText(), /Ricart–Agrawala, 3 Knoten, FIFO-Kanäle/);
  assert.match(await part(page, "play-note").innerText(), /^Erzeugt mit: skeptron sim ricart-agrawala/);
  await page.keyboard.press("ArrowRight");
  assert.match((await sight(page)).told, /fordert an, sendet REQUEST/);
  assert.match(await part(page, "play-fired").innerText(), /Regel 1/);
  await page.locator("#language").selectOption("pt");
  await page.locator("html[lang=pt-PT]").waitFor();
  await part(page, "play-told").filter({ hasText: /pede, envia REQUEST/ }).waitFor();
});

lab.test("a page that was exported in a language is shown in it", async (open) => {
  const page = await openRun(open, "?lang=de#/play?scenario=central&at=0");
  const file = await exported(page, "html");
  writeFileSync(path("german.html"), file.text);
  const alone = await open("", { allow: /file:/ });
  await alone.goto(`file://${path("german.html")}#/play?at=0`);
  await alone.waitForFunction(() => performance.getEntriesByName("lab:load").length > 0);
  assert.match(await part(alone, "play-title").innerText(), /^Zentraler Koordinator/);
  await alone.goto(`file://${path("german.html")}?lang=en#/play?at=0`);
  await alone.waitForFunction(() => performance.getEntriesByName("lab:load").length > 0);
  assert.match(await part(alone, "play-title").innerText(), /^Central coordinator/);
});

disk.test("a counterexample plays to its violation", async (open) => {
  assert.equal(run("check", "ricart-agrawala-no-tie-break", "-n", "2", "--trace", path("bad.html")).code, 1);
  const page = await openFile(open, path("bad.html"), "#/play?at=0");
  assert.equal(await part(page, "verdict-exclusion").getAttribute("data-state"), "good");
  await goTo(page, await steps(page));
  assert.equal(await part(page, "verdict-exclusion").getAttribute("data-state"), "bad");
  assert.match(await part(page, "play-note").innerText(), /violates exclusion/);
});

lab.test("the page's own export shows what the page shows", async (open) => {
  const page = await openRun(open, "#/play?scenario=raymond-seven&at=0");
  const file = await exported(page, "html");
  assert.match(file.name, /\.html$/);
  const title = await part(page, "play-title").innerText();
  const count = await steps(page);
  await goTo(page, 9);
  const wanted = await sight(page);
  writeFileSync(path("raymond.html"), file.text);
  // The page on the disk may not ask this server for anything.
  const alone = await open("", { allow: /file:/ });
  await alone.goto(`file://${path("raymond.html")}#/play?at=0`);
  await alone.waitForFunction(() => performance.getEntriesByName("lab:load").length > 0);
  assert.equal(await part(alone, "play-title").innerText(), title);
  assert.equal(await steps(alone), count);
  await goTo(alone, 9);
  await frames(alone);
  const found = await sight(alone);
  for (const what of /** @type {const} */ (["where", "told", "nodes", "topology"])) assert.equal(found[what], wanted[what], what);
  await part(alone, "node-menu-1").click();
  assert.match(await part(alone, "play-menu").innerText(), /has no server.* import them there/, "why it cannot be changed");
});

disk.test("the gallery is a site of files", async (open) => {
  const made = run("lab", "--export", path("site"), "--json");
  assert.equal(made.code, 0, made.out);
  const { runs, index } = JSON.parse(made.out);
  const page = await open(index);
  await page.locator(".card").first().waitFor();
  assert.equal(await page.locator(".card").count(), runs);
  assert.doesNotMatch(await page.locator("main header").innerText(), /changed/, "nothing can be changed there");
  const first = page.locator(".card").first();
  await first.locator("svg.glimpse-picture .life").first().waitFor({ state: "attached" });
  await page.getByRole("link", { name: /^Play: Ricart–Agrawala: 41 against 34/ }).click();
  await page.waitForURL(/ricart-agrawala-41-34\.html$/);
  await part(page, "play-where").waitFor();
  assert.match(await part(page, "play-title").innerText(), /41 against 34/);
  await page.goBack();
  await page.locator(".card").first().waitFor();
  const hard = readFileSync(join(path("site"), "counterexample/ricart-agrawala-no-tie-break.html"), "utf8");
  assert.match(hard, /href="\.\.\/index\.html"/);
  assert.equal(run("sim", "--replay", join(path("site"), "maekawa-13.jsonl")).code, 0);
});

disk.test("compare --html is the comparison of the lab in one file", async (open) => {
  const made = run("compare", "raymond", "ricart-agrawala", "-n", "2,4,8", "--entries", "40", "--seeds", "2", "--html", path("report.html"));
  assert.equal(made.code, 0, made.out);
  const page = await open(`${path("report.html")}#/compare`);
  await part(page, "verdict").filter({ hasText: /all \d+ claims hold/ }).waitFor();
  await loadsNothing(page);
  assert.equal(await page.locator("h1").innerText(), "Distributed mutual exclusion: claimed and measured");
  assert.match(await part(page, "settings").innerText(), /latency 1, section 1, FIFO channels, 2 seeds/);
  const figures = 13;
  assert.equal(await part(page, "plots").locator("figure").count(), figures, "every figure is plotted over N");
  await page.getByRole("img", { name: /^ricart-agrawala, N = 4: 6 messages per entry; claim 2\(N−1\) = 6/ }).first().waitFor();
  assert.equal(await part(page, "table").locator("tbody tr").count(), 2 * 3 * figures, "and stands in the table");
  assert.match((await part(page, "command").first().textContent()) ?? "", /^skeptron compare raymond ricart-agrawala -n 2,4,8/);
  const diagrams = part(page, "diagrams").locator("figure");
  assert.deepEqual(await diagrams.locator("h3").allTextContents(), ["Raymond", "Ricart–Agrawala"]);
  assert.equal(await diagrams.locator("svg.sk").count(), 2);
  assert.match((await diagrams.first().locator("code").textContent()) ?? "", /^skeptron sim raymond/);
  const csv = await downloaded(page, () => part(page, "csv").click());
  assert.equal(csv.text.trim().split("\n").length, 1 + 2 * 3 * figures);
  await page.getByLabel("Show raymond").uncheck();
  await part(page, "see-again").uncheck();
  const again = await open(path("report.html") + await link(page, /hide=raymond/));
  await part(again, "verdict").filter({ hasText: /claims hold/ }).waitFor();
  assert.equal(await part(again, "plots").innerText(), await part(page, "plots").innerText());
});

disk.test("the page of a sweep plots every figure over any axis", async (open) => {
  writeFileSync(path("a.toml"), `
    algorithm = ["central", "raymond", "ricart-agrawala"]
    nodes = [3, 6, 12]
    tree = ["star", "line"]
    think = [0, 4]
    latency = ["1", "exp:1"]
    entries = 40
    seeds = 3
  `);
  const made = run("sweep", path("a.toml"));
  assert.equal(made.code, 0, made.out);
  const page = await open(`${path("a.sweep/report.html")}#/sweep`);
  const figures = part(page, "plots").locator("figure");
  await figures.first().waitFor();
  await loadsNothing(page);
  assert.equal(await page.locator("h1").innerText(), "Sweep: a.toml");
  assert.match(await page.locator("header p").first().innerText(), /^48 points with 3 seeds each/);
  assert.match(await part(page, "settings").innerText(), /entries 40/);
  assert.equal(await figures.count(), 13);
  const rows = part(page, "table").locator("tbody tr");
  assert.equal(await rows.count(), 3 * 3, "a line for each algorithm, at one tree, network and load");
  await page.getByRole("img", { name: "ricart-agrawala, nodes = 6: 10 messages per entry" }).first().waitFor();
  await part(page, "at-tree").selectOption("*");
  assert.equal(await rows.count(), 4 * 3, "raymond has two trees, the others none");
  assert.deepEqual(await page.locator("[data-test=legend] button").allTextContents(), ["central", "raymond · star", "raymond · line", "ricart-agrawala"]);
  await part(page, "at-latency").selectOption("exp:1");
  await page.getByRole("img", { name: /^central, nodes = 12: .* ± .* units of time/ }).first().waitFor();
  await part(page, "over").selectOption("think");
  await part(page, "at-nodes").selectOption("12");
  assert.equal(await rows.count(), 4 * 2);
  await page.getByLabel("Show central").uncheck();
  assert.equal(await rows.count(), 3 * 2);
  const again = await open(path("a.sweep/report.html") + await link(page, /over=think.*hide=central/));
  await part(again, "table").locator("tbody tr").first().waitFor();
  assert.equal(await part(again, "plots").innerText(), await part(page, "plots").innerText());
  await page.locator("#language").selectOption("de");
  await page.locator("h1").filter({ hasText: "Messreihe: a.toml" }).waitFor();
});

disk.test("compare --elections --html is the comparison of elections, in every language", async (open) => {
  const made = run("compare", "--elections", "bully", "chang-roberts", "-n", "4,8", "--seeds", "20", "--html", path("elections.html"));
  assert.equal(made.code, 0, made.out);
  const page = await open(path("elections.html"));
  await part(page, "verdict").filter({ hasText: /all \d+ claims hold/ }).waitFor();
  await loadsNothing(page);
  assert.equal(await part(page, "plots").locator("figure:visible").count(), 3 + 2, "all of them, and the situations of each");
  assert.deepEqual(await part(page, "legend").locator("li").allTextContents(), ["bully", "chang-roberts"]);
  assert.equal(await part(page, "diagrams").locator("svg.sk").count(), 2);
  const german = await open(`${path("elections.html")}?lang=de`);
  await german.locator("h1", { hasText: "Wahlen: angegeben und gemessen" }).waitFor();
  await part(german, "diagrams").filter({ hasText: "In Raum und Zeit" }).waitFor();
});

disk.test("check --all --html is the table of assumptions of the lab in one file, with a diagram of what breaks", async (open) => {
  const made = run("check", "--all", "--html", path("assumptions.html"));
  assert.equal(made.code, 0, made.out);
  const page = await open(path("assumptions.html"));
  await part(page, "assumptions-done").filter({ hasText: "every cell agrees" }).waitFor();
  await loadsNothing(page);
  const broken = part(page, "assumption-table").locator("a.cell.bad");
  assert(await broken.count() > 0);
  await broken.first().click();
  const shown = page.locator("details[open] svg.sk").first();
  await shown.waitFor();
  assert(await shown.isVisible(), "the run that breaks it is drawn");
  assert.match((await part(page, "command").last().textContent()) ?? "", /^skeptron check /);
  const german = await open(`${path("assumptions.html")}?lang=de`);
  await german.locator("h1", { hasText: "Welche Annahme" }).waitFor();
});
