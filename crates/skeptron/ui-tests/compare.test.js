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

lab.test("a comparison that takes long shows its progress and can be stopped", async (open) => {
  const page = await open("#/compare?algorithms=ricart-agrawala,lamport&nodes=64,128&seeds=50&entries=2000");
  await page.locator("progress").waitFor();
  await page.getByRole("button", { name: /cancel|stop/i }).click();
  await part(page, "run").and(page.locator(":enabled")).waitFor();
});
