// Compare: plots and tables of what was measured beside what was published.
import assert from "node:assert/strict";
import { downloaded, link, part, site } from "./harness.js";

const lab = site("lab");
const SMALL = "#/compare?algorithms=central,ricart-agrawala&nodes=2,4&seeds=1&entries=20";

lab.test("it compares, plots every figure, and says whether the claims hold", async (open) => {
  const page = await open(SMALL);
  await part(page, "verdict").filter({ hasText: /claim/i }).waitFor();
  assert((await part(page, "plots").locator("figure").count()) >= 5);
  await page.getByRole("img", { name: /^ricart-agrawala, N = 4: 6 messages per entry; claim 2\(N−1\) = 6/ }).first().waitFor();
  assert((await part(page, "table").getByRole("row").count()) > 8);
  assert.match((await part(page, "command").textContent()) ?? "", /^skeptron compare/);
});

lab.test("what was measured is taken along as CSV and SVG", async (open) => {
  const page = await open(SMALL);
  await part(page, "verdict").filter({ hasText: /claim/i }).waitFor();
  const csv = await downloaded(page, () => part(page, "csv").click());
  assert.match(csv.name, /\.csv$/);
  const lines = csv.text.trim().split("\n");
  assert(lines.length > 20 && lines.some((line) => line.startsWith("ricart-agrawala")));
  const svg = await downloaded(page, () => part(page, "svg").first().click());
  assert(/<svg[^]*<\/svg>\s*$/.test(svg.text), svg.text.slice(0, 200));
});

lab.test("a link reproduces what is compared and what is seen of it", async (open) => {
  const page = await open(SMALL);
  await part(page, "verdict").filter({ hasText: /claim/i }).waitFor();
  await part(page, "x-axis").selectOption("linear");
  await page.getByLabel("Show central").uncheck();
  const again = await open(await link(page, /linear/));
  await part(again, "verdict").filter({ hasText: /claim/i }).waitFor();
  assert.equal(await part(again, "x-axis").inputValue(), "linear");
  assert.equal(await again.getByLabel("Show central").isChecked(), false);
  assert.equal(await part(again, "plots").innerText(), await part(page, "plots").innerText());
});

lab.test("lines are named at their ends, where no name hides another, and points say their values", async (open) => {
  const page = await open("#/compare?algorithms=central,ricart-agrawala,lamport,suzuki-kasami,raymond&nodes=2,4,8&seeds=1&entries=20", { still: true });
  await part(page, "verdict").filter({ hasText: /claim/i }).waitFor();
  const plot = part(page, "plots").locator("figure").first();
  const names = plot.locator(".plot-names text");
  assert.deepEqual((await names.allTextContents()).sort(), ["central", "lamport", "raymond", "ricart-agrawala", "suzuki-kasami"]);
  const boxes = await names.evaluateAll((all) => all.map((one) => one.getBoundingClientRect()).map(({ top, bottom, right }) => ({ top, bottom, right })));
  const frame = await plot.locator(".plot-place").evaluate((place) => place.getBoundingClientRect().right);
  boxes.sort((a, b) => a.top - b.top).forEach(({ top, right }, k) => {
    assert(k === 0 || top - boxes[k - 1].top >= 12, "two names lie on each other");
    assert(right <= frame + 1, "a name is cut off");
  });
  await plot.getByRole("img", { name: /^lamport, N = 4: 9 messages/ }).hover();
  await plot.locator(".plot-tip").filter({ hasText: /lamport, N = 4: 9 messages per entry/ }).waitFor();
});

lab.test("quorums and trees are chosen, and change what is measured", async (open) => {
  const page = await open("#/compare?algorithms=maekawa,raymond&nodes=9&seeds=1&entries=20", { still: true });
  await part(page, "verdict").filter({ hasText: /claim/i }).waitFor();
  const first = await part(page, "plots").getByRole("img").evaluateAll((marks) => marks.map((mark) => mark.getAttribute("aria-label")));
  await part(page, "quorum").selectOption("majority");
  await part(page, "tree").selectOption("line");
  await part(page, "run").click();
  await part(page, "command").filter({ hasText: "--quorum majority --tree line" }).waitFor();
  const second = await part(page, "plots").getByRole("img").evaluateAll((marks) => marks.map((mark) => mark.getAttribute("aria-label")));
  for (const name of ["maekawa", "raymond"]) {
    const of = (/** @type {(string | null)[]} */ labels) => labels.filter((label) => label?.startsWith(name)).join();
    assert.notEqual(of(second), of(first), name);
  }
  await page.waitForURL(/quorum=majority/);
});

lab.test("a claim is compared only where its conditions hold, else the page says which does not", async (open) => {
  const page = await open("#/compare?algorithms=raymond,ricart-agrawala&nodes=9&tree=star&latency=uniform:0.1..2&section=0.1&seeds=3&entries=60", { still: true });
  await part(page, "verdict").filter({ hasText: /claim/i }).waitFor();
  await part(page, "verdict").filter({ hasText: /Not compared: claims that need latency constant on each link.*\(raymond/ }).waitFor();
  const row = part(page, "table").getByRole("row").filter({ hasText: "raymond" }).filter({ hasText: "Messages, saturated" });
  assert.match((await row.textContent()) ?? "", /✓ holds not compared: 4\(N−1\)\/N needs latency constant on each link/, "what holds on any tree does");
  const delay = part(page, "table").getByRole("row").filter({ hasText: "raymond" }).filter({ hasText: "needs constant latency" }).first();
  assert.equal(await delay.locator(".chip").count(), 0, "it is neither kept nor missed");
  await page.getByRole("img", { name: /^raymond, N = 9: .* not compared: .* needs latency constant/ }).first().waitFor();
  const csv = await downloaded(page, () => part(page, "csv").click());
  assert.match(csv.text, /^raymond,9,messages_saturated,.*"latency constant on each link[^"]*"$/m);
  const kept = part(page, "table").getByRole("row").filter({ hasText: "ricart-agrawala" }).filter({ hasText: "Messages, saturated" });
  assert.match((await kept.textContent()) ?? "", /✓ holds/);
});

lab.test("two algorithms run side by side on the same arrivals and one clock", async (open) => {
  const page = await open("#/compare", { still: true });
  await part(page, "compare-other").click();
  const lanes = part(page, "lane");
  await part(page, "beside-figures").getByRole("row").nth(2).waitFor();
  assert.deepEqual(await lanes.locator("h2").allTextContents(), ["Ricart–Agrawala", "Suzuki–Kasami"]);
  const [same, all] = /^(\d+) of (\d+) requests/.exec((await part(page, "beside-same").textContent()) ?? "")?.slice(1).map(Number) ?? [];
  assert(same > 0 && same <= all);
  await part(page, "beside-slider").fill("0");
  assert.deepEqual(await part(page, "lane-count").allTextContents(), ["0 messages, 0 entries", "0 messages, 0 entries"]);
  await part(page, "beside-forward").click();
  await part(page, "beside-forward").click();
  const at = await part(page, "beside-time").textContent();
  assert.notEqual(at, "t = 0");
  const again = await open(await link(page, /at=[1-9]/), { still: true });
  await part(again, "beside-figures").getByRole("row").nth(2).waitFor();
  assert.equal(await part(again, "beside-time").textContent(), at);
  assert.deepEqual(await part(again, "lane-count").allTextContents(), await part(page, "lane-count").allTextContents());
  await part(page, "beside-b").selectOption("raymond");
  await lanes.nth(1).locator("h2", { hasText: "Raymond" }).waitFor();
});

lab.test("a comparison that takes long shows its progress and can be stopped", async (open) => {
  const page = await open("#/compare?algorithms=ricart-agrawala,lamport&nodes=64,128&seeds=50&entries=2000");
  await page.locator("progress").waitFor();
  await page.getByRole("button", { name: /cancel|stop/i }).click();
  await part(page, "run").and(page.locator(":enabled")).waitFor();
});
