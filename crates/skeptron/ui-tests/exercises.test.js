// Exercises: what is right is what the engine does.
import assert from "node:assert/strict";
import { part, shown, site } from "./harness.js";
import { actOnNode, frames, openRun } from "./play.js";

const lab = site("lab");

lab.test("a prediction is answered by the run, with hints, to its end", async (open) => {
  const page = await open("#/exercises", { still: true });
  await part(page, "predict-list").getByRole("link", { name: "Ricart–Agrawala: 41 against 34" }).click();
  await part(page, "exercise-choice").first().waitFor();
  assert.match((await part(page, "prediction").locator("h2").textContent()) ?? "", /P1 requests\. What does it do\?/);
  assert.deepEqual(await page.locator(".exercise-picture .name").allTextContents(), ["P1", "P2", "P3"], "its lines are named");
  await part(page, "exercise-hint").click();
  await part(page, "exercise-hints").locator("dd").first().waitFor();
  await part(page, "exercise-hint").click();
  assert.match((await part(page, "exercise-hints").textContent()) ?? "", /REPLY/);
  let asked = 0;
  let right = 0;
  for (; await part(page, "exercise-choice").count() > 0; asked += 1) {
    assert((await part(page, "exercise-choice").count()) > 1);
    await part(page, "exercise-choice").first().click();
    const verdict = (await part(page, "exercise-verdict").textContent()) ?? "";
    const chosen = (await part(page, "exercise-choice").first().textContent()) ?? "";
    if (/^Right/.test(verdict)) right += 1;
    // The verdict quotes the run: the answer is in it exactly if it is right.
    if (chosen !== "sends nothing") assert.equal(verdict.includes(chosen), /^Right/.test(verdict), verdict);
    await part(page, "exercise-next").click();
  }
  assert(asked >= 5, `${asked} questions`);
  assert.equal(await part(page, "exercise-score").textContent(), `${right} of ${asked} right.`);
});

lab.test("every run to predict has questions", async (open) => {
  const page = await open("#/exercises", { still: true });
  await part(page, "predict-list").waitFor();
  const links = await part(page, "predict-list").locator("a").evaluateAll((links) => links.map((link) => link.getAttribute("href") ?? ""));
  assert(links.length > 8);
  for (const link of links) {
    await page.evaluate((link) => { location.hash = link; }, link);
    await part(page, "exercise-score").filter({ hasText: /Question 1 of [4-8]/ }).waitFor();
  }
});

lab.test("a worksheet has the questions, and the answers on a page of their own", async (open) => {
  const page = await open("#/exercises?predict=ricart-agrawala-41-34", { still: true });
  await part(page, "sheet-print").waitFor();
  await page.evaluate(() => { window.print = () => {}; });
  await part(page, "sheet-print").click();
  const sheet = part(page, "worksheet");
  await page.emulateMedia({ media: "print" });
  assert(await sheet.isVisible());
  assert(!(await page.locator("header.site").isVisible()));
  assert.match((await sheet.textContent()) ?? "", /☐ A /);
  assert.equal(await sheet.getByText("Answers").count(), 0);
  await page.emulateMedia({ media: "screen" });
  assert(!(await sheet.isVisible()));
  await part(page, "sheet-answers").check();
  await part(page, "sheet-print").click();
  await page.emulateMedia({ media: "print" });
  assert.match((await sheet.locator(".worksheet-answers").textContent()) ?? "", /P2 receives REQUEST/);
});

lab.test("a bug is found at the step where a node leaves the rules", async (open) => {
  const page = await open("#/exercises?bug=token-ring-passes-inside", { still: true });
  const choices = part(page, "exercise-choice");
  await choices.first().waitFor();
  const words = await choices.allTextContents();
  const wrong = words.findIndex((text) => /enters/.test(text) && /sends TOKEN/.test(text));
  assert(wrong >= 0, words.join("\n"));
  const other = words.findIndex((_, k) => k !== wrong);
  await choices.nth(other).click();
  await part(page, "exercise-verdict").filter({ hasText: "No." }).waitFor();
  for (let k = 0; k < 3; k += 1) await part(page, "exercise-hint").click();
  await part(page, "exercise-hints").filter({ hasText: "sends the token on at once" }).waitFor();
  await choices.nth(wrong).click();
  await part(page, "exercise-verdict").filter({ hasText: "Right." }).waitFor();
});

lab.test("a goal is reached by hand, and only then", async (open) => {
  const list = await open("#/exercises", { still: true });
  const goal = await part(list, "goal-list").getByRole("link", { name: "Wait for each other" }).getAttribute("href");
  const page = await openRun(open, goal ?? "");
  await part(page, "play-goal").waitFor();
  await part(page, "goal-hint").click();
  assert.equal(await part(page, "goal-hints").locator("li").count(), 1);
  await actOnNode(page, 1, "request");
  assert.equal(await part(page, "goal-verdict").textContent(), "");
  await actOnNode(page, 2, "request");
  await actOnNode(page, 3, "request");
  await frames(page);
  await part(page, "goal-verdict").filter({ hasText: "Reached" }).waitFor();
});

lab.test("a goal says so where the run does not do it", async (open) => {
  const list = await open("#/exercises", { still: true });
  const goal = await part(list, "goal-list").getByRole("link", { name: "An entry for nothing" }).getAttribute("href");
  const page = await openRun(open, goal ?? "");
  await actOnNode(page, 3, "request");
  assert.equal(await part(page, "goal-verdict").textContent(), "");
  await part(page, "play-last").click();
  await actOnNode(page, 3, "request");
  await part(page, "goal-verdict").filter({ hasText: "Reached" }).waitFor();
  await shown(page, "play");
});
