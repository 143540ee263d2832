// Notes are written onto a run, saved as a scenario, opened again, and hung into a gallery of one's own.
import assert from "node:assert/strict";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { downloaded, link, part, site } from "./harness.js";
import { actOnNode, drop, frames, goTo, openRun, steps, told } from "./play.js";

const folder = mkdtempSync(join(tmpdir(), "skeptron-gallery-"));
const lab = site("lab", "--gallery", folder);

/** @param {import("playwright-core").Page} page */
async function write(page) {
  await actOnNode(page, 2, "request");
  await part(page, "tab-notes").click();
  await part(page, "notes-title").fill("Mine");
  await part(page, "notes-title").press("Tab");
  await part(page, "notes-summary").fill("What I want to show.");
  await part(page, "notes-summary").press("Tab");
  await part(page, "notes-add").click();
  await part(page, "note-1").fill("P2 asks the coordinator.");
  await part(page, "note-1").press("Tab");
  await goTo(page, 2);
  await part(page, "notes-add").click();
  await part(page, "note-2").fill("It is free, so P2 may.");
  await part(page, "note-2").press("Tab");
}

lab.test("notes written by hand are told, linked, saved, opened and hung", async (open) => {
  const page = await openRun(open, "#/play?algorithm=central&nodes=3&workload=none&section=2&at=0");
  await write(page);
  await part(page, "play-note").filter({ hasText: "It is free" }).waitFor();
  await part(page, "note-back").click();
  await part(page, "play-note").filter({ hasText: "P2 asks" }).waitFor();
  const linked = await openRun(open, await link(page, /story=/));
  await part(linked, "play-title").filter({ hasText: "Mine" }).waitFor();
  await part(linked, "play-note").filter({ hasText: "P2 asks" }).waitFor();

  const file = await downloaded(page, () => part(page, "notes-save").click());
  assert.equal(file.name, "mine.json");
  const saved = JSON.parse(file.text);
  assert.equal(saved.sim.algorithm, "central");
  assert.deepEqual(saved.notes[0].facts[0], { record: 0, node: 2, kind: "request" });

  const other = await openRun(open, "#/play?algorithm=token-ring&nodes=3&entries=1&at=0");
  await drop(other, file.name, file.text);
  await told(other);
  await part(other, "play-title").filter({ hasText: "Mine" }).waitFor();
  assert.equal(await steps(other), await steps(page));
  await part(other, "note-next").click();
  await part(other, "play-note").filter({ hasText: "P2 asks" }).waitFor();

  writeFileSync(join(folder, "mine.json"), file.text);
  const gallery = await open("#/scenarios?words=mine");
  await gallery.getByRole("link", { name: "Play: Mine" }).click();
  await part(gallery, "play-title").filter({ hasText: "Mine" }).waitFor();
  await part(gallery, "play-doubts").waitFor({ state: "hidden" });
});

lab.test("a note that is not so any more is named", async (open) => {
  const page = await openRun(open, "#/play?algorithm=central&nodes=3&workload=none&section=2&at=0");
  await write(page);
  const { text } = await downloaded(page, () => part(page, "notes-save").click());
  const changed = JSON.parse(text);
  changed.acts[0].node = 3;
  await drop(page, "mine.json", JSON.stringify(changed));
  await told(page);
  await part(page, "play-doubts").filter({ hasText: "record 0" }).waitFor();
});

lab.test("notes on a counterexample are saved with the run itself", async (open) => {
  const page = await openRun(open, "#/play?scenario=counterexample/central-newest-first&at=0");
  await part(page, "tab-notes").click();
  await goTo(page, 1);
  await part(page, "notes-add").click();
  await part(page, "note-2").fill("The first request.");
  await part(page, "note-2").press("Tab");
  const { name, text } = await downloaded(page, () => part(page, "notes-save").click());
  const other = await openRun(open, "#/play?algorithm=token-ring&nodes=3&entries=1&at=0");
  await drop(other, name, text);
  await told(other);
  assert.equal(await steps(other), await steps(page));
  await goTo(other, 1);
  await frames(other);
  await part(other, "play-note").filter({ hasText: "The first request." }).waitFor();
});
