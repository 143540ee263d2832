// Quorums and information structures: the commands' figures, drawn.
import assert from "node:assert/strict";
import { link, part, site } from "./harness.js";

const lab = site("lab");

lab.test("a construction is drawn, with its load, its matrix and its figures", async (open) => {
  const page = await open("#/quorums");
  await part(page, "picture").locator("svg").first().waitFor();
  await part(page, "facts").waitFor();
  assert.equal(await part(page, "matrix").getByRole("row").count(), 14);
  await part(page, "construction").selectOption("majority");
  await part(page, "nodes").fill("5");
  await part(page, "nodes").press("Enter");
  await page.waitForFunction(() => document.querySelectorAll('[data-test="matrix"] tr').length === 6);
  const again = await open(await link(page, /majority/));
  await part(again, "facts").waitFor();
  assert.equal(await part(again, "facts").innerText(), await part(page, "facts").innerText());
});

lab.test("what cannot be is explained", async (open) => {
  const page = await open("#/quorums?kind=projective&order=6");
  await page.getByRole("alert").filter({ hasText: "order 6 is no prime power" }).waitFor();
});

lab.test("the system is simulated in Play", async (open) => {
  const page = await open("#/quorums?kind=fano", { still: true });
  await part(page, "simulate").click();
  await page.waitForURL(/#\/play\?.*quorum=fano/);
  await part(page, "play-topology").waitFor();
});

lab.test("a structure is judged, and one of four nodes is Sanders’", async (open) => {
  const page = await open("#/quorums?show=structures");
  await part(page, "structure-verdict").waitFor();
  await part(page, "structure").selectOption("sanders-4");
  await part(page, "structure-verdict").filter({ hasText: "Valid" }).waitFor();
  await page.waitForFunction(() => document.querySelectorAll('[data-test="structure-nodes"] tbody tr').length === 4);
});
