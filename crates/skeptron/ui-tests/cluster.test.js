// Cluster: the real nodes of `skeptron up`, watched and tried.
import assert from "node:assert/strict";
import { link, part, site } from "./harness.js";
import { faults, nameless, SIZES } from "./layout.js";

const up = site("up", "--nodes", "3", "--algorithm", "suzuki-kasami");

up.test("a lock is taken and given back, and everybody who watches sees it", async (open) => {
  const [page, other] = [await open("#/cluster?lock=door"), await open("#/cluster?lock=door")];
  await part(page, "cluster-node").selectOption("2");
  await part(page, "cluster-acquire").click();
  await part(page, "cluster-said").filter({ hasText: /P2 holds “door” with fence/ }).waitFor();
  const row = part(other, "cluster-locks").getByRole("row").filter({ hasText: "door" });
  await row.filter({ hasText: "P2" }).waitFor();

  await part(page, "cluster-node").selectOption("3");
  await part(page, "cluster-acquire").click();
  await part(page, "cluster-said").filter({ hasText: "P3 waits" }).waitFor();
  await row.filter({ hasText: /P2.*P3/ }).waitFor();

  await part(page, "cluster-node").selectOption("2");
  await part(page, "cluster-release").click();
  await row.filter({ hasText: /door.*P3/ }).waitFor();
  await other.locator("details", { has: part(other, "cluster-words") }).locator("summary").click();
  await part(other, "cluster-words").getByText(/PRIVILEGE/).first().waitFor();
  // With what they say, as in Play.
  await part(other, "cluster-words").getByText(/REQUEST \d+ → P\d/).first().waitFor();
  await part(other, "cluster-words").getByText(/REQUEST \d+ ← P3/).first().waitFor();

  await part(page, "cluster-node").selectOption("3");
  await part(page, "cluster-release").click();
  await part(other, "cluster-locks").filter({ hasNotText: "door" }).waitFor();
});

up.test("all nodes ask, and each gets its turn with a higher fence", async (open) => {
  const page = await open("#/cluster?lock=turns");
  await part(page, "cluster-all").click();
  const seen = new Set();
  for (let looked = 0; seen.size < 3; looked += 1) {
    assert(looked < 300, `only ${[...seen].join(", ")} had their turn`);
    const text = await part(page, "cluster-locks").innerText();
    const holder = /turns\s+(P\d)/.exec(text)?.[1];
    if (holder) seen.add(holder);
    await page.waitForTimeout(60);
  }
  await part(page, "cluster-locks").filter({ hasNotText: "turns" }).waitFor();
});

up.test("a fence beyond 2^53 keeps all its digits, and is shown by epoch and entry", async (open) => {
  const page = await open("#/cluster?lock=fenced");
  const shown = await page.evaluate(async () => {
    const path = "/ui/lib/fence.js";
    const { shortFence, wholeFence } = await import(path);
    return [shortFence("9008298766368775"), wholeFence("18446744073709551615"), shortFence(3)];
  });
  assert.deepEqual(shown, ["8193·7", "16777215·1099511627775 (18446744073709551615)", "#3"]);
  await part(page, "cluster-acquire").click();
  await part(page, "cluster-said").filter({ hasText: /with fence \d+·\d+ \(\d+\)/ }).waitFor();
  const row = part(page, "cluster-locks").getByRole("row").filter({ hasText: "fenced" });
  const cell = row.filter({ hasText: "P1" }).locator("td").nth(2);
  assert.match(await cell.innerText(), /^\d+·\d+$/);
  assert.match((await cell.getAttribute("title")) ?? "", /^\d{13,}:/);
  await part(page, "cluster-release").click();
});

up.test("token, waiting and kinds of messages are drawn as in Play", async (open) => {
  const page = await open("#/cluster?lock=drawn");
  const ring = part(page, "cluster-ring");
  for (const node of ["2", "3"]) {
    await part(page, "cluster-node").selectOption(node);
    await part(page, "cluster-acquire").click();
    await part(page, "cluster-said").filter({ hasText: `P${node}` }).waitFor();
  }
  await ring.locator(".node.inside[data-node='2']").waitFor();
  await ring.locator(".node.waiting[data-node='3']").waitFor();
  await ring.locator(".topo-wait", { hasText: "P3 waits for P2" }).waitFor({ state: "attached" });
  await ring.locator(".topo-token[data-token='2']").waitFor();
  const colour = await part(page, "cluster-kinds").locator(".play-key", { hasText: "PRIVILEGE" }).locator(".arrow").evaluate((name) => getComputedStyle(name).color);
  assert.equal(colour, await page.evaluate(() => {
    const sample = document.createElement("span");
    sample.style.color = "var(--kind-token)";
    document.body.append(sample);
    return getComputedStyle(sample).color;
  }));
  for (const node of ["2", "3"]) {
    await part(page, "cluster-node").selectOption(node);
    await part(page, "cluster-release").click();
  }
  await part(page, "cluster-locks").filter({ hasNotText: "drawn" }).waitFor();
  await ring.locator(".topo-wait").waitFor({ state: "detached" });
});

up.test("what has happened so far is opened in Play, with its messages, and a link keeps it", async (open) => {
  const page = await open("#/cluster?lock=kept");
  await part(page, "cluster-all").click();
  await part(page, "cluster-locks").filter({ hasText: "kept" }).waitFor();
  await part(page, "cluster-locks").filter({ hasNotText: "kept" }).waitFor();
  await part(page, "cluster-play").click();
  await part(page, "play-title").filter({ hasText: "“kept” in the cluster" }).waitFor();
  assert(await part(page, "clocks-kind").isHidden(), "nobody tells the clocks of a live run");
  await part(page, "play-forward").click();
  await part(page, "play-told").filter({ hasText: /P\d/ }).waitFor();
  assert.equal(await part(page, "play-fired").textContent(), "", "nor why a rule fires");
  await part(page, "tab-hand").click();
  await part(page, "play-hand").filter({ hasText: /recorded of a live cluster can be played, not changed/ }).waitFor();
  await part(page, "play-last").click();
  await part(page, "play-legend").filter({ hasText: "PRIVILEGE" }).waitFor();
  await part(page, "tab-steps").click();
  const steps = part(page, "play-transport").locator("[data-test=play-where]");
  const count = await steps.textContent();
  assert.match(count ?? "", /^\d\d+ \/ \d\d+$/);
  const again = await open(await link(page, /live=/), { still: true });
  await part(again, "play-where").filter({ hasText: (count ?? "").split("/")[1].trim() }).waitFor();
});

up.test("it is laid out well in every size, light and dark", async (open) => {
  const page = await open("#/cluster", { still: true });
  await part(page, "cluster-facts").filter({ hasText: "3 nodes" }).waitFor();
  await part(page, "cluster-acquire").click();
  await part(page, "cluster-said").filter({ hasText: "holds" }).waitFor();
  for (const size of SIZES) {
    await page.setViewportSize(size);
    for (const colorScheme of /** @type {const} */ (["light", "dark"])) {
      await page.emulateMedia({ colorScheme });
      await page.waitForTimeout(150);
      assert.deepEqual(await faults(page), [], `${size.width} × ${size.height}, ${colorScheme}`);
    }
  }
  assert.deepEqual(await nameless(page), []);
  await part(page, "cluster-release").click();
});

up.test("the laboratory is there as well, and a lock’s link shows that lock", async (open) => {
  const page = await open("#/cluster");
  await part(page, "cluster-lock").fill("elsewhere");
  await part(page, "cluster-lock").press("Enter");
  const again = await open(await link(page, /lock=elsewhere/));
  assert.equal(await part(again, "cluster-lock").inputValue(), "elsewhere");
  await again.getByRole("link", { name: "Play" }).click();
  await part(again, "play-diagram").waitFor();
});

up.test("a member is killed and restarted, and the others go on without it", async (open) => {
  const page = await open("#/cluster?lock=door");
  const third = part(page, "cluster-members").getByRole("row").filter({ hasText: "P3" });
  await third.filter({ hasText: "member" }).waitFor();
  await part(page, "cluster-kill-3").click();
  await third.filter({ hasText: "killed" }).waitFor();
  await part(page, "cluster-news").filter({ hasText: "P3 was killed" }).waitFor();
  await part(page, "cluster-news").filter({ hasText: /epoch \d+: P1, P2(;|$|\n|\d)/ }).waitFor();
  await part(page, "cluster-view").filter({ hasText: /epoch \d+: P1, P2\./ }).waitFor();
  await page.getByRole("button", { name: "Restart P3" }).click();
  await third.filter({ hasText: "member" }).waitFor();
  await part(page, "cluster-view").filter({ hasText: /P1, P2, P3/ }).waitFor();
});

up.test("a member that is paused is done without, and finds its lease over when it goes on", async (open) => {
  const page = await open("#/cluster?lock=still");
  await part(page, "cluster-node").selectOption("3");
  await part(page, "cluster-acquire").click();
  await part(page, "cluster-said").filter({ hasText: "P3 holds" }).waitFor();
  const third = part(page, "cluster-members").getByRole("row").filter({ hasText: "P3" });
  await page.getByRole("button", { name: "Pause P3" }).click();
  await third.filter({ hasText: "paused" }).waitFor();
  await part(page, "cluster-ring").getByText("paused", { exact: true }).waitFor();
  await part(page, "cluster-news").filter({ hasText: "P3 stands still" }).waitFor();
  await part(page, "cluster-view").filter({ hasText: /epoch \d+: P1, P2\./ }).waitFor();
  await third.filter({ hasText: "over" }).waitFor();
  // What it held is had by another one, and it does not know yet.
  await part(page, "cluster-node").selectOption("1");
  await part(page, "cluster-acquire").click();
  await part(page, "cluster-said").filter({ hasText: "P1 holds" }).waitFor();
  assert.equal(await third.locator("td").nth(5).textContent(), "1", "it believes that it holds the lock");
  await page.getByRole("button", { name: "Go on P3" }).click();
  await part(page, "cluster-news").filter({ hasText: "P3 goes on" }).waitFor();
  await part(page, "cluster-news").filter({ hasText: "P3 lost what it held" }).waitFor();
  await third.filter({ hasText: "member" }).waitFor();
  await part(page, "cluster-view").filter({ hasText: /P1, P2, P3/ }).waitFor();
  await part(page, "cluster-release").click();
});

up.test("a member that is cut off loses its lock, and comes back when it is healed", async (open) => {
  const page = await open("#/cluster?lock=cut");
  await part(page, "cluster-node").selectOption("2");
  await part(page, "cluster-acquire").click();
  await part(page, "cluster-said").filter({ hasText: "P2 holds" }).waitFor();
  const second = part(page, "cluster-members").getByRole("row").filter({ hasText: "P2" });
  await page.getByRole("button", { name: "Cut off P2" }).click();
  await second.filter({ hasText: "cut off" }).waitFor();
  await part(page, "cluster-news").filter({ hasText: "P2 lost what it held" }).waitFor();
  await part(page, "cluster-locks").filter({ hasNotText: "P2" }).waitFor();
  await page.getByRole("button", { name: "Heal P2" }).click();
  await second.filter({ hasText: "member" }).waitFor();
});
