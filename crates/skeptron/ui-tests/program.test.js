// A program of one's own in the lab: checked, its counterexample played, and corrected without another start.
import assert from "node:assert/strict";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { fileURLToPath } from "node:url";
import { part, shown, site } from "./harness.js";
import { told } from "./play.js";

const examples = fileURLToPath(new URL("../../../examples/own-algorithm", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "skeptron-"));
const program = join(folder, "polite.py");
const versions = [...readFileSync(join(examples, "README.md"), "utf8").matchAll(/```python\n(.*?)```/gs)].map(([, code]) => code);

copyFileSync(join(examples, "skeptron_mutex.py"), join(folder, "skeptron_mutex.py"));
writeFileSync(program, versions[0]);
after(() => rmSync(folder, { recursive: true }));

const lab = site("lab", "--algorithm", program);
const asked = `#/check?algorithm=${encodeURIComponent(program)}&nodes=2&run=1`;

lab.test("a wrong program is refuted, its counterexample plays, and the corrected one is proved", async (open) => {
  writeFileSync(program, versions[0]);
  const page = await open(asked, { still: true });
  await part(page, "conclusion").filter({ hasText: "Not correct" }).waitFor();
  await part(page, "open-in-play").first().click();
  await shown(page, "play");
  await told(page);
  await part(page, "play-forward").click();
  assert.match((await page.locator("main").textContent()) ?? "", /MAY_I/);

  writeFileSync(program, versions[0].replace("self.wants = True", "self.wants = nobody"));
  const failed = await open(asked, { allow: /422|Unprocessable/ });
  await failed.getByText(/NameError.*the question was/).first().waitFor();

  writeFileSync(program, versions[2]);
  const again = await open(asked);
  await part(again, "conclusion").filter({ hasText: "Proved for this system" }).waitFor();
});

lab.test("a program is among the algorithms of Play and Compare", async (open) => {
  writeFileSync(program, versions[2]);
  const page = await open(`#/play?algorithm=${encodeURIComponent(program)}&nodes=3&entries=3`, { still: true });
  await told(page);
  assert.match((await page.locator("main").textContent()) ?? "", /polite/);
  const compare = await open("#/compare");
  await compare.getByText("polite", { exact: true }).first().waitFor();
});
