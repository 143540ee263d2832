// Check: the checker's verdicts, its table, and its counterexamples, which open in Play.
import assert from "node:assert/strict";
import { downloaded, link, part, settled, shown, site } from "./harness.js";
import { frames, openRun, steps, told } from "./play.js";

const lab = site("lab");

lab.test("what holds is proved, with its figures and its command", async (open) => {
  const page = await open("#/check?algorithm=ricart-agrawala&nodes=2&run=1");
  await part(page, "conclusion").filter({ hasText: "Proved for this system" }).waitFor();
  assert.match((await part(page, "search-figures").textContent()) ?? "", /\d states/);
  assert.match((await part(page, "command").first().textContent()) ?? "", /^skeptron check ricart-agrawala/);
});

lab.test("a counterexample opens in Play at its first step and plays to its violation", async (open) => {
  const page = await open("#/check?algorithm=ricart-agrawala-no-tie-break&nodes=2&run=1", { still: true });
  await part(page, "conclusion").filter({ hasText: "Not correct" }).waitFor();
  await part(page, "open-in-play").first().click();
  await shown(page, "play");
  await told(page);
  assert.match((await part(page, "play-where").textContent()) ?? "", /^1 \//);
  const exclusion = part(page, "verdict-exclusion");
  const before = await exclusion.textContent();
  for (let step = await steps(page); step > 1; step -= 1) await part(page, "play-forward").click();
  await frames(page);
  assert(await part(page, "play-forward").isDisabled());
  assert.notEqual(await exclusion.textContent(), before);
  assert.match((await exclusion.textContent()) ?? "", /✗|violated/);
  assert.match((await part(page, "play-told").textContent()) ?? "", /violates|two|inside/i);
});

lab.test("its file is the same run", async (open) => {
  const page = await open("#/check?algorithm=singhal-1989&nodes=3&requests=1,1,2&run=1");
  await part(page, "open-in-play").first().waitFor();
  const file = await downloaded(page, () => part(page, "download-trace").first().click());
  assert.match(file.name, /\.jsonl$/);
  const play = await openRun(open, (await part(page, "open-in-play").first().getAttribute("href")) ?? "");
  const inputs = file.text.split("\n").filter((line) => /"do":"(request|release|deliver)"/.test(line));
  assert.equal(await steps(play), inputs.length);
});

lab.test("the question is asked by the form, and a link asks it again", async (open) => {
  const page = await open("#/check?algorithm=central&nodes=2&run=1");
  await part(page, "conclusion").waitFor();
  await part(page, "algorithm").selectOption("suzuki-kasami");
  await page.getByLabel("Losses").fill("1");
  await part(page, "run-check").click();
  await part(page, "conclusion").filter({ hasText: "Not correct" }).waitFor();
  const again = await open(await link(page, /suzuki-kasami.*run=1/));
  await part(again, "conclusion").waitFor();
  assert.equal(await part(again, "conclusion").textContent(), await part(page, "conclusion").textContent());
});

lab.test("a long search shows that it goes on, and is cancelled by leaving", async (open) => {
  const page = await open("#/check?algorithm=ricart-agrawala&nodes=5&requests=2&order=any&run=1");
  await page.getByText(/states, depth/).first().waitFor();
  await page.evaluate(() => { location.hash = "#/cluster"; });
  await shown(page, "cluster");
  await settled(page);
});

lab.test("the assumption table fills, and its cells lead to the runs that show them", async (open) => {
  const page = await open("#/check?algorithm=central&nodes=2", { still: true });
  await part(page, "run-assumptions").click();
  const cell = part(page, "assumption-table").locator("a.cell.bad").first();
  await cell.waitFor();
  await page.waitForFunction(() => /#\/play/.test(document.querySelector("a.cell.bad")?.getAttribute("href") ?? ""));
  await cell.click();
  await shown(page, "play");
  await told(page);
  assert((await steps(page)) > 0);
});

for (const look of [{ width: 1024, height: 768 }, { width: 1280, height: 800, zoom: 1.5 }]) {
  lab.test(`what was asked is answered in sight: ${look.width} × ${look.height}, zoom ${look.zoom ?? 1}`, async (open) => {
    const page = await open("#/check?algorithm=lamport&nodes=2&order=any", { still: true, ...look });
    await part(page, "run-check").click();
    await part(page, "conclusion").filter({ hasText: "Not correct here" }).waitFor();
    const { top, bottom } = await part(page, "conclusion").evaluate((said) => {
      const box = said.getBoundingClientRect();
      return { top: box.top, bottom: innerHeight - box.bottom };
    });
    assert(top > 0 && bottom > 0, `${top} above, ${bottom} below`);
  });
}
