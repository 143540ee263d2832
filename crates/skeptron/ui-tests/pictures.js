// Makes the pictures of docs/pictures that the page draws: each by one export of Play.
//   SKEPTRON_BIN=../../../target/debug/skeptron npm run pictures [NAME …]
import { writeFileSync } from "node:fs";
import { launch, serve, shown } from "./harness.js";
import { goTo, saved, told } from "./play.js";

/** By name: which run, at which step, and what of it. @type {Record<string, { run: string, step: number } & import("./play.js").Wish>} */
const PICTURES = {
  "clocks-diagram": { run: "scenario=logical-clocks&clocks=lamport", step: 12, part: "steps", steps: "1..12" },
  "ricart-agrawala-diagram": { run: "scenario=ricart-agrawala-41-34", step: 12, part: "run" },
  "central-diagram": { run: "scenario=central", step: 12, part: "steps", steps: "1..12" },
  "token-ring-diagram": { run: "scenario=token-ring", step: 12, part: "steps", steps: "1..12" },
  "ring-diagram": { run: "scenario=ring-election", step: 14, part: "steps", steps: "2..14" },
  "central-topology": { run: "scenario=central", step: 7, subject: "topology" },
  "central-states": { run: "scenario=central", step: 7, subject: "states" },
  "token-ring-topology": { run: "scenario=token-ring", step: 12, subject: "topology" },
  "maekawa-phases": { run: "scenario=maekawa-13", step: 0, subject: "topology", part: "steps", steps: "3,9,21,23", each: "step-sheet" },
  "singhal-staircase": { run: "scenario=singhal-staircase", step: 0, subject: "grid" },
  "raymond-tree": { run: "scenario=raymond-seven", step: 6, subject: "topology" },
  "bully-diagram": { run: "scenario=bully", step: 14, part: "steps", steps: "1..14" },
  "ring-topology": { run: "scenario=ring-election", step: 8, subject: "topology" },
};

const wanted = process.argv.slice(2);
const server = await serve(["lab"]);
const browser = await launch();
try {
  for (const [name, { run, step, ...wish }] of Object.entries(PICTURES)) {
    if (wanted.length > 0 && !wanted.includes(name)) continue;
    const page = await (await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: "reduce", acceptDownloads: true })).newPage();
    await page.goto(`${server.url}#/play?${run}&at=0`);
    await shown(page, "play");
    await told(page);
    await goTo(page, step);
    writeFileSync(new URL(`../../../docs/pictures/${name}.svg`, import.meta.url), (await saved(page, wish)).bytes);
    await page.context().close();
  }
} finally {
  await browser.close();
  await server.stop();
}
