// The rule that fires: every step of every algorithm follows one, and what is given as its reason is true of the step.
import assert from "node:assert/strict";
import { part, shown, site } from "./harness.js";
import { goTo, openRun } from "./play.js";

const lab = site("lab");

/** @typedef {import("../ui/wire.js").SimOptions} SimOptions */
/** @typedef {{ step: number, input: string, told: string, rules: { number: number, reason: string }[] }} Followed */

/** Runs in which much happens: contention, messages that overtake each other, crashes and returns of nodes that elect. */
const MUTEX = [
  { nodes: 4, entries: 12, latency: "uniform:0.1..2", think: "exp:2", seed: 1 },
  { nodes: 7, entries: 14, latency: "exp:1", section: "0.3", seed: 2 },
  { nodes: 5, entries: 6, latency: "1", think: "exp:10", seed: 3 },
  { nodes: 1, entries: 2, seed: 1 },
];
const ELECTION = [
  { nodes: 5, initiators: "2@0,4@0.5", latency: "uniform:0.2..1", seed: 1 },
  { nodes: 5, crash: ["5@1..14"], initiators: "1,2", latency: "uniform:0.2..1", until: "80", seed: 2 },
  { nodes: 6, crash: ["6@0", "3@2..12"], initiators: "1@0,2@3", latency: "exp:0.5", until: "120", seed: 3 },
  { nodes: 4, crash: ["4@2", "2@5..9"], initiators: "1@1,3@6", latency: "uniform:0.1..1", until: "120", seed: 4 },
  { nodes: 5, partition: ["1,2|3,4,5@0..12"], initiators: "1@0.5,3@1", latency: "1", until: "60", seed: 5 },
  { nodes: 1, initiators: "1@0", seed: 6 },
];

for (const kind of /** @type {const} */ (["mutex", "election"])) {
  lab.test(`every step of every algorithm follows a rule, and its reason is true: ${kind}`, async (open) => {
    const page = await open("#/scenarios?words=nothing", { still: true });
    await shown(page, "scenarios");
    const infos = (await sound(page)).filter((info) => info.kind === kind);
    assert(infos.length > 5, `${infos.length} algorithms`);
    for (const { name, rules } of infos) {
      const seen = new Set();
      for (const options of kind === "election" ? ELECTION : MUTEX) {
        const followed = await follow(page, { algorithm: name, ...options });
        assert(followed.length > 0, `${name}: nothing happened`);
        const without = followed.filter(({ rules }) => rules.length === 0).map(({ step, input, told }) => `${name}, seed ${options.seed}, step ${step} (${input}): ${told}`);
        assert.deepEqual(without, []);
        for (const { number, reason } of followed.flatMap(({ rules }) => rules)) {
          seen.add(number);
          assert(!/[{}]|undefined|NaN/.test(reason.replace(/\{(P\d+(, P\d+)*)?\}/g, "")), `${name}: ${reason}`);
          for (const [, left, right] of reason.matchAll(/(P?\d+) < (P?\d+)/g)) assert(Number(left.replace("P", "")) < Number(right.replace("P", "")), `${name}: ${reason}`);
        }
      }
      // What an algorithm begins with is no step.
      const never = rules.flatMap((text, k) => (seen.has(k + 1) || text.startsWith("Start") ? [] : [`${name}, rule ${k + 1}`]));
      if (never.length > 0) console.log(`nobody followed ${never.join(", ")} in these runs`);
    }
  });
}

lab.test("a step that no rule allows is told from the others: there the flaw of a broken variant shows", async (open) => {
  const page = await open("#/scenarios?words=nothing", { still: true });
  await shown(page, "scenarios");
  /** @type {SimOptions[]} */
  const broken = [
    { algorithm: "ricart-agrawala-no-tie-break", nodes: 2, entries: 4, seed: 1 },
    { algorithm: "ricart-agrawala-id-first", nodes: 3, entries: 20, latency: "uniform:0.1..2", think: "exp:2", seed: 1 },
    { algorithm: "central-newest-first", nodes: 4, entries: 8, seed: 1 },
    { algorithm: "maekawa-naive", nodes: 13, quorum: "maekawa-13", requesters: "P7,P8,P11", entries: 6, latency: "uniform:0.1..2", seed: 1 },
    { algorithm: "token-ring-passes-inside", nodes: 2, entries: 4, section: "2", seed: 1 },
    { algorithm: "carvalho-roucairol-forgets-to-ask", nodes: 3, entries: 20, latency: "uniform:0.1..2", seed: 1 },
  ];
  for (const options of broken) {
    const followed = await follow(page, options);
    const strange = followed.filter(({ rules }) => rules.length === 0);
    assert(strange.length > 0, `${options.algorithm}: every step has its rule`);
    assert(strange.length < followed.length / 2, `${options.algorithm}: ${strange.length} of ${followed.length}`);
  }
});

lab.test("the rule that fires stands beside the run, with its reason in values", async (open) => {
  const page = await openRun(open, "#/play?scenario=ricart-agrawala-41-34&at=0");
  const line = part(page, "play-fired");
  assert.equal(await line.innerText(), "");
  await goTo(page, 3);
  assert.match(await line.innerText(), /Rule 2\s*34 < 41, so P2 defers\./);
  await goTo(page, 5);
  assert.match(await line.innerText(), /Rule 3\s*34 < 41, so P1 replies at once\./);
  await part(page, "tab-rules").click();
  const fired = part(page, "play-rules").locator("li.fired");
  assert.equal(await fired.count(), 1);
  assert.match(await fired.innerText(), /REQUEST at any other node: REPLY at once\.\s*34 < 41/);
});

lab.test("of a broken variant the page says where no rule allows the step", async (open) => {
  const page = await openRun(open, "#/play?algorithm=ricart-agrawala-no-tie-break&nodes=2&entries=2&seed=1&at=0");
  const line = part(page, "play-fired");
  for (let step = 1; ; step += 1) {
    assert(step < 12, "the flaw was not seen");
    await goTo(page, step);
    if (/No rule/.test(await line.innerText())) break;
  }
  assert.match(await line.innerText(), /requests with equal clocks are not ordered by id/);
});

/** @param {import("playwright-core").Page} page @returns {Promise<import("../ui/wire.js").AlgorithmInfo[]>} */
async function sound(page) {
  const all = /** @type {import("../ui/wire.js").AlgorithmInfo[]} */ (await page.evaluate(async () => (await fetch("/lab/algorithms")).json()));
  return all.filter(({ broken }) => broken === null);
}

/**
 * Which rules the steps of a run follow, as the page finds out.
 * @param {import("playwright-core").Page} page
 * @param {SimOptions} sim
 * @returns {Promise<Followed[]>}
 */
function follow(page, sim) {
  return page.evaluate(async (sim) => {
    const load = (/** @type {string} */ path) => import(path);
    const [{ Session }, { casesOf, fired, stepAt }, { told }] = await Promise.all([load("/ui/play/session.js"), load("/ui/play/rules.js"), load("/ui/play/words.js")]);
    const infos = await (await fetch("/lab/algorithms")).json();
    const cases = casesOf(infos.find((/** @type {{ name: string }} */ { name }) => name === sim.algorithm));
    let informed = () => {};
    const session = await new Promise((/** @type {(session: any) => void} */ resolve, reject) => {
      const made = new Session({ opened: () => {}, grown: () => {}, cut: () => {}, ended: () => resolve(made), informed: () => informed(), failed: reject });
      made.open({ sim });
    });
    const states = async (/** @type {number} */ position) => {
      for (;;) {
        const heard = new Promise((/** @type {(_: void) => void} */ resolve) => { informed = resolve; });
        const known = session.statesAt(position);
        if (known) return known;
        await heard;
      }
    };
    const { model } = session;
    const found = [];
    for (let step = 0; step < model.steps.length; step += 1) {
      const position = model.positionAfter(step + 1);
      const one = stepAt(model, position, await states(model.steps[step]), await states(position));
      if (one) found.push({ step: step + 1, input: one.input, told: told(model, position), rules: fired(cases, one) });
    }
    session.close();
    return found;
  }, sim);
}
