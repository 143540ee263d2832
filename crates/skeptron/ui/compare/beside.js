// Two algorithms side by side: the same nodes, the same arrivals by the same seed, one clock.
import { h, clear, complaint } from "../lib/dom.js";
import { note } from "../lib/address.js";
import { algorithms, algorithmChoices, choice, entry, field } from "../lib/form.js";
import { sheet } from "../lib/sheet.js";
import { onTheme, prefersStill } from "../lib/theme.js";
import { say, translated } from "../lib/language.js";
import { inUnits } from "../play/units.js";
import { Lane } from "./lane.js";

/** All texts as in the options of `sim`. @typedef {{ a: string, b: string, nodes: string, workload: string, entries: string, latency: string, seed: string }} Question */

/** @type {Question} */
const FIRST = { a: "ricart-agrawala", b: "suzuki-kasami", nodes: "5", workload: "poisson:0.25", entries: "8", latency: "1", seed: "1" };
const WORKLOADS = [
  { value: "poisson:0.25", title: say("now and then") },
  { value: "poisson:1", title: say("often") },
  { value: "bursts:3,12", title: say("three at once, every 12") },
  { value: "hot:1,0.7,0.3", title: say("one node most of all") },
  { value: "closed", title: say("always (saturated)") },
];
const LATENCIES = [{ value: "1", title: say("constant 1") }, { value: "uniform:0.5..1.5", title: say("uniform 0.5 … 1.5") }, { value: "exp:1", title: say("exponential, mean 1") }];
/** Seconds for a unit of time while it plays. */
const UNIT_SECONDS = 0.9;

/**
 * @param {HTMLElement} page
 * @param {URLSearchParams} params
 * @returns {() => void} what ends it
 */
export function showBeside(page, params) {
  sheet("/ui/play/view.css");
  const question = /** @type {Question} */ (Object.fromEntries(Object.entries(FIRST).map(([name, value]) => [name, params.get(name) ?? value])));
  const ended = new AbortController();
  let now = Number(params.get("at") ?? 0);
  let [playing, frame, last] = [false, 0, 0];
  /** @type {import("../wire.js").AlgorithmInfo[]} */
  let infos = [];

  const errors = h("div", { "data-test": "beside-error" });
  const lanes = [0, 1].map(() => new Lane({ changed: () => changed(), failed: (error) => { clear(errors); errors.append(complaint(error)); } }));
  const play = h("button", { type: "button", class: "primary", "data-test": "beside-play", onclick: () => toggle() }, say("▶ Play"));
  const step = (/** @type {string} */ sign, /** @type {string} */ title, /** @type {1 | -1} */ by) => h("button", { type: "button", class: "icon", title, "aria-label": title, "data-test": by > 0 ? "beside-forward" : "beside-back", onclick: () => { pause(); moveTo(nextMoment(by)); } }, sign);
  const slider = h("input", { type: "range", min: 0, max: 0, value: 0, class: "grow", "aria-label": say("Time"), "data-test": "beside-slider", oninput: () => { pause(); moveTo(Number(slider.value)); } });
  const time = h("output", { class: "mono", "data-test": "beside-time" });
  const same = h("p", { class: "small muted", "data-test": "beside-same" });
  const table = h("tbody");
  const head = h("tr");
  const form = h("form", { class: "panel fields", "data-test": "beside-form", onsubmit: (/** @type {Event} */ event) => event.preventDefault() });
  const figures = h("section", { class: "panel", "data-test": "beside-figures" }, h("h2", {}, say("Whole runs")), h("table", { class: "data" }, h("thead", {}, head), table));
  const transport = h("div", { class: "panel toolbar" }, step("◂", say("To the step before in either run"), -1), play, step("▸", say("To the next step in either run"), 1), slider, time);
  page.append(form, errors, transport, ...lanes.map((lane) => lane.element), same, figures);

  const models = () => lanes.flatMap(({ model }) => model ?? []);
  const end = () => Math.max(1, ...models().map((model) => Math.max(model.lastT, model.end?.t ?? 0)));
  const noteNow = () => note("compare", { show: "beside", ...question, at: String(Math.round(now)) });

  function draw() {
    for (const lane of lanes) lane.show(now, end());
    slider.max = String(end());
    slider.value = String(now);
    const [model] = models();
    time.textContent = model ? `t = ${inUnits(now, model.header, 2)}` : "";
    play.textContent = playing ? say("❚❚ Pause") : say("▶ Play");
  }

  /** @param {number} t */
  function moveTo(t) {
    now = Math.max(0, Math.min(t, end()));
    draw();
    noteNow();
  }

  /** When something happens next in either run. @param {1 | -1} by */
  function nextMoment(by) {
    const moments = models().flatMap((model) => model.records.map(({ t }) => t));
    return by > 0 ? Math.min(end(), ...moments.filter((t) => t > now)) : Math.max(0, ...moments.filter((t) => t < now));
  }

  function pause() {
    playing = false;
    cancelAnimationFrame(frame);
    last = 0;
  }

  function toggle() {
    if (playing) pause();
    else {
      if (now >= end()) now = 0;
      playing = true;
      frame = requestAnimationFrame(tick);
    }
    draw();
  }

  /** @param {number} at */
  function tick(at) {
    const seconds = last ? Math.min(0.25, (at - last) / 1000) : 0;
    last = at;
    now = Math.min(end(), now + (seconds / UNIT_SECONDS) * (models()[0]?.header.ticks_per_unit ?? 1000));
    if (now >= end()) pause();
    draw();
    noteNow();
    if (playing) frame = requestAnimationFrame(tick);
  }

  function changed() {
    if (models().length < lanes.length) return;
    if (!params.has("at") && prefersStill() && now === 0) now = end();
    now = Math.min(now, end());
    compareRequests();
    compareFigures();
    draw();
  }

  /** How many requests come at the same time in both: one at a node that still waits comes later. */
  function compareRequests() {
    const [a, b] = models().map((model) => model.records.filter(({ kind }) => kind === "request").map(({ t, node }) => `${t} ${node}`));
    const common = new Set(b);
    const both = a.filter((request) => common.has(request)).length;
    same.textContent = say("{both} of {all} requests are made by the same node at the same time in both. A node that still waits, or is inside, makes its next one later; if it is to be saturated, that is every one.", { both, all: Math.max(a.length, b.length) });
  }

  function compareFigures() {
    const ends = models().map((model) => model.end?.figures ?? []);
    const names = [...new Set(ends.flat().map(({ name }) => name))];
    head.replaceChildren(...["", ...lanes.map((lane) => lane.title.textContent ?? "")].map((name) => h("th", {}, name)));
    table.replaceChildren(...names.map((name) => h("tr", {}, h("td", {}, translated(name)), ends.map((figures) => h("td", {}, figures.find((figure) => figure.name === name)?.measured ?? "–")))));
  }

  function run() {
    clear(errors);
    pause();
    const { a, b, nodes, entries, seed, ...rest } = question;
    const sim = { ...rest, nodes: Number(nodes), entries: Number(entries), seed: Number(seed) };
    [a, b].forEach((algorithm, k) => lanes[k].run({ algorithm, ...sim }, infos.find((info) => info.name === algorithm)));
    noteNow();
  }

  const set = (/** @type {keyof Question} */ name) => (/** @type {string} */ value) => {
    question[name] = value;
    now = 0;
    run();
  };
  algorithms().then((all) => {
    if (ended.signal.aborted) return;
    infos = all.filter((info) => info.kind === "mutex");
    const choices = algorithmChoices(infos, { kind: "mutex" });
    const withOwn = (/** @type {{ value: string, title: string }[]} */ known, /** @type {string} */ value) => (known.some((one) => one.value === value) ? known : [...known, { value, title: value }]);
    form.append(
      field(say("Above"), choice(choices, question.a, set("a"), { "data-test": "beside-a" })), field(say("Below"), choice(choices, question.b, set("b"), { "data-test": "beside-b" })),
      field(say("Nodes"), entry(question.nodes, set("nodes"), { type: "number", min: 2, max: 16, "data-test": "beside-nodes" })),
      field(say("Who asks"), choice(withOwn(WORKLOADS, question.workload), question.workload, set("workload"), { "data-test": "beside-workload" })),
      field(say("Entries"), entry(question.entries, set("entries"), { type: "number", min: 1, max: 200 })),
      field(say("Latency"), choice(withOwn(LATENCIES, question.latency), question.latency, set("latency"))),
      field(say("Seed"), entry(question.seed, set("seed"), { type: "number", min: 0, "data-test": "beside-seed" })));
    run();
  }).catch((error) => errors.append(complaint(error)));

  const sized = new ResizeObserver(() => draw());
  for (const lane of lanes) sized.observe(lane.stage);
  const unthemed = onTheme(() => { for (const lane of lanes) lane.recolour(); draw(); });
  return () => {
    ended.abort();
    pause();
    sized.disconnect();
    unthemed();
    for (const lane of lanes) lane.close();
  };
}
