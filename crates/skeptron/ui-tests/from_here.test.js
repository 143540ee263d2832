// “Check from here”: the checker explores what can follow the state in sight, and what it finds is played as a run that
// begins with the run so far.
import assert from "node:assert/strict";
import { part, shown, site } from "./harness.js";
import { actOnNode, exported, goTo, openRun, steps, told } from "./play.js";

const lab = site("lab");

/**
 * Asks, and gives what is answered.
 * @param {import("playwright-core").Page} page
 * @param {string} requests
 */
async function asked(page, requests) {
  await part(page, "tab-hand").click();
  await part(page, "from-here-requests").fill(requests);
  await part(page, "check-from-here").click();
  await part(page, "from-here-verdict").waitFor();
  return (await part(page, "from-here-verdict").textContent()) ?? "";
}

lab.test("a run by hand is explored from the state in sight, and what goes wrong is played on", async (open) => {
  const page = await openRun(open, "#/play?algorithm=ricart-agrawala-no-tie-break&nodes=2&workload=none&section=hand&at=0");
  await actOnNode(page, 1, "request");
  assert.match(await asked(page, "0"), /✓ Nothing goes wrong\..*From step 1/, "alone it is served");
  assert.match(await asked(page, "1"), /✗ Something goes wrong\..*too many nodes are inside in \d further step/);
  assert.match((await part(page, "play-from-here").locator('[data-test="command"]').textContent()) ?? "", /^skeptron check --from run\.jsonl --at 1 --requests 1$/);
  const before = (await exported(page)).text.split("\n").slice(1);
  const whereBefore = (await part(page, "play-where").textContent()) ?? "";
  await part(page, "play-from-here").locator('[data-test="open-in-play"]').first().click();
  await shown(page, "play");
  await part(page, "play-recorded").waitFor();
  await told(page);
  assert.equal(((await part(page, "play-where").textContent()) ?? "").split(" /")[0], whereBefore.split(" /")[0], "it stands where the search began");
  const after = (await exported(page)).text.split("\n").slice(1);
  assert.equal(after[0], before[0], "it begins with the run so far");
  await goTo(page, await steps(page));
  await part(page, "verdict-exclusion").filter({ hasText: "violated" }).waitFor();
});

lab.test("a state that is wrong already is told, and so is a step before it", async (open) => {
  const page = await openRun(open, "#/play?scenario=counterexample/lamport-without-fifo&at=0");
  const all = await steps(page);
  await goTo(page, all);
  assert.match(await asked(page, "0"), /too many nodes are inside here/);
  await goTo(page, all - 1);
  assert.match((await part(page, "check-from-here").textContent()) ?? "", new RegExp(`step ${all - 1}$`));
  assert.match(await asked(page, "0"), /too many nodes are inside in 1 further step\b/);
});

lab.test("what a fork does is explored, too, and bad wishes are answered in words", async (open) => {
  const page = await openRun(open, "#/play?scenario=ricart-agrawala-41-34&at=0");
  await goTo(page, 2);
  await actOnNode(page, 3, "crash");
  assert.match(await asked(page, "0"), /somebody waits for ever/);
  await part(page, "from-here-requests").fill("many");
  await part(page, "check-from-here").click();
  await part(page, "play-from-here").getByRole("alert").filter({ hasText: "--requests is `many`" }).waitFor();
  await part(page, "tab-nodes").click();
  await actOnNode(page, 3, "restart");
  await part(page, "tab-hand").click();
  await part(page, "play-from-here").getByText("P3 comes back at step 4, and the checker knows no returns").waitFor();
  assert(await part(page, "check-from-here").isDisabled());
  await goTo(page, 3);
  await page.waitForFunction(() => !document.querySelector('[data-test="check-from-here"]')?.hasAttribute("disabled"));
});

lab.test("an election is explored from the state in sight, with its alarms and detectors", async (open) => {
  const page = await openRun(open, "#/play?scenario=bully&at=0");
  // P3 and P4 have answered P2, and P5 is down.
  await goTo(page, 16);
  assert.match(await asked(page, "0"), /✓ Nothing goes wrong\..*with no further call/);
  assert.match((await part(page, "play-from-here").locator('[data-test="command"]').textContent()) ?? "", new RegExp(`^skeptron check --from run\\.jsonl --at 16 --calls 0$`));
  await part(page, "from-here-requests").fill("many");
  await part(page, "check-from-here").click();
  await part(page, "play-from-here").getByRole("alert").filter({ hasText: "“many” is no number of calls" }).waitFor();

  // A run that the checker found goes on from there, too.
  const wrong = await openRun(open, "#/play?scenario=counterexample/bully-short-timeout&at=0");
  const end = await steps(wrong);
  await goTo(wrong, end - 1);
  assert.match(await asked(wrong, "0"), /✗ Something goes wrong\..*further step/);
  await part(wrong, "play-from-here").locator('[data-test="open-in-play"]').first().click();
  await shown(wrong, "play");
  await part(wrong, "play-recorded").waitFor();
  await told(wrong);
  await goTo(wrong, await steps(wrong));
  await part(wrong, "play-verdicts").filter({ hasText: "violated" }).waitFor();

  await part(page, "check-from-beginning").click();
  await part(page, "conclusion").filter({ hasText: "nodes" }).waitFor();
});
