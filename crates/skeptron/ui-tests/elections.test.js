// Elections: set one up by pressing nodes, see who wins and what it costs.
import assert from "node:assert/strict";
import { link, part, site } from "./harness.js";

const lab = site("lab");

lab.test("the worst case of the bully costs what is published", async (open) => {
  const page = await open("#/elections?algorithm=bully&nodes=5");
  await part(page, "situation-worst").click();
  await part(page, "summary").filter({ hasText: "19" }).waitFor();
  assert.match((await part(page, "summary").innerText()), /P4/);
});

lab.test("nodes are crashed by a press, and a link reproduces it", async (open) => {
  const page = await open("#/elections?algorithm=ring&nodes=5");
  await part(page, "summary").waitFor();
  await part(page, "deed-crash").check();
  await part(page, "node-4").click();
  await page.waitForURL(/crashed=[^&]*4/);
  await page.getByRole("button", { name: /P4: .*crash/ }).waitFor();
  const summary = async (/** @type {import("playwright-core").Page} */ page) => {
    await part(page, "summary").filter({ hasText: "Messages" }).waitFor();
    return part(page, "summary").innerText();
  };
  const again = await open(await link(page, /ring/));
  await again.getByRole("button", { name: /P4: .*crash/ }).waitFor();
  assert.equal(await summary(again), await summary(page));
});

lab.test("it opens in Play and in Check", async (open) => {
  const page = await open("#/elections?algorithm=bully&nodes=4", { still: true });
  await part(page, "open-in-play").click();
  await page.waitForURL(/#\/play\?algorithm=bully/);
  await part(page, "node-4").waitFor();
  await page.goBack();
  await part(page, "open-in-check").click();
  await page.waitForURL(/#\/check\?algorithm=bully/);
});
