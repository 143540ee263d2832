// The view `play`: a run that plays, and everything one can ask it and do to it.
import { h, clear, complaint } from "../lib/dom.js";
import { getJson } from "../lib/api.js";
import { algorithms } from "../lib/form.js";
import { onCopy } from "../lib/address.js";
import { dropZone } from "../lib/files.js";
import { sheet } from "../lib/sheet.js";
import { colours, onTheme, prefersStill } from "../lib/theme.js";
import { announce } from "../lib/announce.js";
import { say } from "../lib/language.js";
import { tellAbout } from "./about.js";
import { Acting } from "./acting.js";
import { Camera } from "./camera.js";
import { Caption } from "./caption.js";
import { Clocks } from "./clocks.js";
import { Controls } from "./controls.js";
import { Diagram } from "./diagram.js";
import { exportsAndImports } from "./exports.js";
import { cutsNow } from "./cuts.js";
import { FrameLoop } from "./frame-loop.js";
import { FromHere } from "./from-here.js";
import { Hand } from "./hand.js";
import { Verdicts } from "./verdicts.js";
import { GoalBanner } from "./goal.js";
import { listenToKeys } from "./keys.js";
import { legend } from "./legend.js";
import { noted, parting, recorded, wished, withEntries } from "./link.js";
import { Loader } from "./loader.js";
import { RunModel } from "./model.js";
import { Nodes } from "./nodes.js";
import { isScenario, Notes } from "./notes.js";
import { Playhead } from "./playhead.js";
import { Pointer } from "./pointer.js";
import { Present } from "./present.js";
import { Rulebook } from "./rulebook.js";
import { Sight } from "./sight.js";
import { Steps } from "./steps.js";
import { RunStory } from "./run-story.js";
import { tabs } from "./tabs.js";
import { Topology } from "./topology.js";
import { Transport } from "./transport.js";

const NOBODY = /** @type {import("../wire.js").RunHeader} */ ({ algorithm: "", kind: "mutex", nodes: 1, order: "any", ticks_per_unit: 1000, command: null, sim: { algorithm: "" }, recorded: false, phases: [], may_act: false, holds: false, draws: 0, acts: [], partitions: [],
  topology: { coordinator: null, tree: null, ring: null, quorums: null, request: null, inform: null, links: null } });

/**
 * Shows the view.
 * @param {HTMLElement} root
 * @param {import("../lib/address.js").Address} address
 * @returns {() => void} what ends it
 */
export function show(root, address) {
  sheet("/ui/play/view.css");
  const view = new PlayView(root);
  view.begin(address.params);
  return () => view.close();
}

/** Everything of the view, and how its parts work together. */
class PlayView {
  ended = new AbortController();
  /** @type {import("../wire.js").AlgorithmInfo[]} */
  infos = [];
  runStory = new RunStory();
  /** Where to go as soon as that is known. @type {number | null} */
  wantedAt = null;
  measured = false;
  /** How many arrows one stands for in the diagram; the legend says it. */
  stride = 1;

  playhead = new Playhead((moved) => { if (moved) this.sight.following = true; this.frames.refresh(); });
  canvas = h("canvas", { class: "play-canvas", tabindex: 0, role: "application", "data-test": "play-diagram",
    "aria-label": say("Space-time diagram. Left and right arrows step, space plays, up and down choose a node or a message, Enter opens its menu. The steps are also listed in words.") });
  /** @type {import("./diagram.js").Scene} */
  scene = {
    model: new RunModel(NOBODY), camera: new Camera(), position: 0, now: 0, acts: [], future: false, selected: -1, related: new Set(), stressed: -1, colour: colours(),
    font: (pixels, weight = "400") => `${weight} ${pixels}px system-ui, sans-serif`,
  };
  diagram = new Diagram(this.canvas, this.scene);
  sight = new Sight(this.scene, () => this.frames.schedule());
  frames = new FrameLoop({ playhead: this.playhead, before: () => { this.playhead.leaps = prefersStill(); }, draw: () => this.#draw(), panels: () => this.#panels() });
  loader = new Loader({
    asked: ({ source }) => this.#asked(source), opened: (model, wish) => this.#opened(model, wish), grown: () => this.#grown(), cut: (from) => this.#cut(from), ended: () => this.#runEnded(), informed: () => this.frames.panels(),
    lost: () => this.#lost(), failed: (error) => this.complain(error),
  }, this.ended.signal);
  /** What was announced last. */
  said = "";
  errors = h("div", { class: "play-errors", "data-test": "play-error" });
  legend = h("div", { class: "play-legend small", "data-test": "play-legend" });
  about = h("div", { class: "play-about", "data-test": "play-about" });
  bar = h("div", { class: "play-bar" });
  goal = new GoalBanner();

  /** @param {HTMLElement} root */
  constructor(root) {
    this.root = root;
    const jump = (/** @type {number} */ position) => { this.playhead.pause(); this.playhead.jump(position); };
    const menu = (/** @type {number} */ row, /** @type {{ x: number, y: number }} */ place) => this.hand.openNode(row, place);
    const select = (/** @type {number} */ row) => this.select(row);
    this.acting = new Acting({ session: () => this.session, playhead: this.playhead, canvas: this.canvas, begun: () => clear(this.errors), changed: () => this.frames.refresh(), failed: (error) => this.complain(error) });
    this.hand = new Hand({
      root, model: () => this.session?.model ?? null, position: () => this.playhead.position, now: () => this.playhead.now, acts: () => this.session?.acts ?? [],
      act: (deed) => this.acting.act(deed), undo: () => this.acting.undo(), redo: () => this.acting.redo(), can: () => ({ undo: this.session?.canUndo ?? false, redo: (this.session?.future.length ?? 0) > 0 }), jump, hold: () => this.acting.hold(),
    });
    this.fromHere = new FromHere({ session: () => this.session, position: () => this.playhead.position });
    this.hand.list.before(this.fromHere.element);
    this.pointer = new Pointer(this.diagram, {
      redraw: () => this.frames.schedule(), moved: () => this.sight.moved(), scrub: (t) => { this.playhead.pause(); this.playhead.jumpToTime(t); },
      node: menu, message: (message, place) => this.hand.openMessage(message, place), select, say: announce, presenting: () => this.present.on,
      event: (x, y) => this.clocks.choose(x, y),
    });
    this.clocks = new Clocks(this.scene, { session: () => this.session, redraw: () => this.frames.refresh(), failed: (error) => this.complain(error) });
    this.scene.overlay = this.clocks;
    this.transport = new Transport(this.playhead, { future: (shown) => { this.scene.future = shown; this.frames.refresh(); }, fit: () => this.sight.fit(), zoom: (factor) => this.sight.zoom(factor) });
    this.caption = new Caption(jump);
    this.verdicts = new Verdicts(jump);
    this.nodes = new Nodes({ select, menu, changed: () => this.frames.refresh() });
    this.steps = new Steps(jump);
    this.rules = new Rulebook(this.caption.rule);
    this.topology = new Topology({ select: (row) => this.select(row === this.scene.selected ? -1 : row), menu, resized: () => this.frames.refresh() });
    this.notes = new Notes({ session: () => this.session, position: () => this.playhead.position, jump, changed: (story) => this.#write(story), failed: (error) => this.complain(error) });
    this.tabs = tabs([
      { name: "nodes", title: say("Nodes"), panel: this.nodes.element }, { name: "rules", title: say("Rules"), panel: this.rules.element }, { name: "steps", title: say("Steps"), panel: this.steps.element },
      { name: "figures", title: say("Figures##tab"), panel: this.verdicts.figures }, { name: "hand", title: say("By hand"), panel: this.hand.element }, { name: "notes", title: say("Notes"), panel: this.notes.element }, { name: "about", title: say("About"), panel: this.about },
    ], () => this.frames.panels());
    this.files = exportsAndImports({ session: () => this.session, told: () => this.caption.told(), take: (text) => this.import(text), failed: (error) => this.complain(error),
      position: () => this.playhead.position, go: (position) => this.#go(position), shown: () => this.#shown() });
    this.controls = new Controls((sim) => this.run({ sim: withEntries(sim, this.infos) }));
    this.stage = h("div", { class: "play-stage" }, this.canvas, this.pointer.tip);
    this.present = new Present({ playhead: this.playhead, caption: this.caption, topology: this.topology, clocks: this.clocks, stage: this.stage, tabs: this.tabs, turned: () => this.#turned() });
    this.transport.element.append(this.present.button);
    this.bar.append(this.controls.element, this.files.element);
    this.#place();
    this.#listen();
  }

  #place() {
    const left = h("div", { class: "play-left panel" }, this.legend, this.stage, this.caption.element, this.transport.element, this.clocks.element);
    const right = h("div", { class: "play-right" }, h("div", { class: "panel play-top" }, this.verdicts.element, this.topology.element), this.tabs.element);
    this.root.append(h("div", { class: "play", "data-test": "play", tabindex: -1 }, h("h1", { class: "unseen" }, say("Play")), this.bar, this.errors, this.goal.element, h("div", { class: "play-main" }, left, right)));
  }

  #listen() {
    const { signal } = this.ended;
    listenToKeys({ playhead: this.playhead, transport: this.transport, present: this.present, acting: this.acting, zoom: (factor) => this.sight.zoom(factor), fit: () => this.sight.fit() }, signal);
    const sized = new ResizeObserver(() => {
      this.diagram.resize(this.stage.clientWidth, this.stage.clientHeight, this.present.magnified);
      this.sight.open();
      this.frames.draw();
      this.frames.panels();
    });
    sized.observe(this.stage);
    const unthemed = onTheme(() => { this.scene.colour = colours(); this.frames.schedule(); });
    signal.addEventListener("abort", () => { sized.disconnect(); unthemed(); this.files.end(); this.frames.end(); this.present.close(); });
    dropZone(this.root, (file) => this.files.read(file), signal);
  }

  /** @param {URLSearchParams} params */
  async begin(params) {
    try {
      [this.infos, this.runStory.gallery] = await Promise.all([algorithms(), getJson("/lab/scenarios", this.ended.signal)]);
      this.controls.infos = this.infos;
      const wish = await wished(params, this.runStory.gallery, this.infos);
      onCopy(() => this.#lacking());
      await this.goal.load(params.get("goal"));
      if (wish.tab) this.tabs.open(wish.tab);
      if (wish.clocks) this.clocks.open(wish.clocks);
      this.nodes.all.checked = wish.all;
      this.sight.wanted = wish.window;
      this.scene.selected = wish.selected;
      this.scene.future = this.transport.future.checked = wish.future;
      this.run(wish.source, wish.acts, wish.at, wish.story);
    } catch (error) {
      if (!this.ended.signal.aborted) this.complain(error);
    }
  }

  close() {
    this.fromHere.work.cancel();
    this.ended.abort();
  }

  /** The run that is shown. */
  get session() {
    return this.loader.session;
  }

  /**
   * @param {import("./link.js").Source} source
   * @param {import("../wire.js").Act[]} [acts]
   * @param {number | null} [at]
   * @param {import("./link.js").Story | null} [story]
   */
  run(source, acts, at = null, story = null) {
    this.loader.run({ source, acts, at, story });
  }

  /** @param {import("./link.js").Source} source */
  #asked(source) {
    clear(this.errors);
    if ("sim" in source) this.controls.show(source.sim, source.sim.nodes ?? this.scene.model.header.nodes);
  }

  /** The server does not answer, or has forgotten the run: what is to be made again. */
  #lost() {
    const { playhead, runStory } = this;
    playhead.pause();
    this.complain(new Error(say("The server does not answer. As soon as it does, this run is made again.")));
    return { source: runStory.source, at: playhead.position, story: runStory.own };
  }

  /** @param {RunModel} model @param {import("./loader.js").Wish} wish */
  #opened(model, { source, at, story }) {
    this.runStory.begin(source, story, model.header.acts);
    this.wantedAt = at;
    const { scene, playhead } = this;
    scene.model = model;
    scene.camera.rows = model.header.nodes;
    scene.stressed = -1;
    if (scene.selected >= model.header.nodes) scene.selected = -1;
    this.sight.touched = this.measured = false;
    this.acting.begin();
    this.fromHere.begin(model);
    playhead.pause();
    playhead.model = model;
    playhead.jump(0);
    const info = this.infos.find((info) => info.name === model.header.algorithm);
    this.nodes.describe(info);
    this.rules.describe(info);
    this.topology.lay(model.header, info);
    tellAbout(this.about, info);
    this.#tellStory();
    this.controls.show(model.header.sim, model.header.nodes, { scripted: this.runStory.ownActs.length > 0, recorded: model.header.recorded });
    this.select(scene.selected);
    if (this.wantedAt === null && !prefersStill()) playhead.play();
  }

  #tellStory() {
    const { runStory } = this;
    const story = runStory.of(this.scene.model.header);
    this.caption.tell(story, runStory.next);
    this.notes.tell(story);
  }

  /** Takes what somebody has written of the run. @param {import("./link.js").Story} story */
  async #write(story) {
    await this.runStory.keep(story, this.session?.acts ?? []);
    this.caption.tell(story);
    this.frames.panels();
  }

  /** What a link to what is shown would lack; else it is noted. @returns {string | null} */
  #lacking() {
    const { lack } = this.runStory;
    if (!lack) this.#note();
    return lack;
  }

  #note() {
    const { session, scene, playhead, runStory } = this;
    if (!session?.model || this.wantedAt !== null) return;
    const tab = this.tabs.shown();
    noted(runStory.source, { acts: runStory.foreign(session.acts), at: playhead.position, selected: scene.selected, future: scene.future,
      story: runStory.packed, tab: tab === "nodes" ? null : tab, window: this.sight.chosen, goal: this.goal.goal?.name ?? null, clocks: this.clocks.noted, all: this.nodes.all.checked });
  }

  #grown() {
    this.sight.grow();
    this.acting.grown(false);
    this.steps.renew();
    this.frames.refresh();
  }

  /** @param {number} from */
  #cut(from) {
    this.steps.renew();
    this.scene.stressed = -1;
    this.acting.cut();
    if (this.playhead.position > from) this.playhead.jump(from);
    this.frames.refresh();
  }

  #runEnded() {
    const { model } = this.scene;
    this.sight.grow();
    this.sight.open();
    this.acting.grown(true);
    if (this.wantedAt !== null) this.playhead.jump(this.wantedAt);
    // Where another history begins may lie within one of its steps.
    else if (model.roundUp(this.playhead.position) !== this.playhead.position) this.playhead.jump(this.playhead.position);
    else if (prefersStill() && !this.measured && this.playhead.position === 0) this.playhead.jump(model.length);
    this.wantedAt = null;
    this.verdicts.measure(model.end, this.infos.find((info) => info.name === model.header.algorithm));
    this.files.show();
    this.clocks.offer();
    this.frames.draw();
    if (!this.measured) performance.measure("lab:load", "lab:asked");
    this.measured = true;
    this.frames.refresh();
  }

  /** What pictures are made of. @returns {import("./pictures.js").Shown} */
  #shown() {
    const { scene, session, topology, nodes } = this;
    const { position } = this.playhead;
    const step = scene.model.stepsBefore(position) - 1;
    const known = (/** @type {number} */ at) => session?.statesAt(at) ?? null;
    return { scene, topology: topology.svg, caption: topology.caption.textContent ?? "", cuts: topology.cuts.textContent ?? "", grid: topology.gridShown, states: known(position), before: step >= 0 ? known(scene.model.steps[step]) : null, variables: nodes.variables };
  }

  /** Goes to a position for a picture: until all of it is shown. The camera stays. @param {number} position */
  async #go(position) {
    this.playhead.pause();
    this.playhead.jump(position);
    this.sight.following = false;
    const missing = () => { const { states, before } = this.#shown(); return !states || (before === null && this.playhead.position > 0); };
    while (missing() && !this.ended.signal.aborted) await new Promise((done) => setTimeout(done, 20));
    this.frames.draw();
    this.frames.panels();
  }

  /** @param {string} text */
  async import(text) {
    try {
      const example = isScenario(text);
      if (!example) return this.run(await recorded(text));
      const { sim, trace, acts, title, summary, notes } = example;
      this.run(sim ? { sim } : await recorded(trace ?? ""), acts, 0, { title, summary, notes });
    } catch (error) {
      this.complain(error);
    }
  }

  /** @param {unknown} error */
  complain(error) {
    clear(this.errors);
    this.errors.append(complaint(error));
  }

  /** @param {number} row */
  select(row) {
    const { scene } = this;
    const { topology } = scene.model.header;
    scene.selected = row;
    const members = row < 0 ? [] : (topology.quorums?.[row] ?? topology.request?.[row] ?? []);
    scene.related = new Set(members.map((node) => node - 1).filter((other) => other !== row));
    this.frames.refresh();
  }

  /** Presenting has begun or ended: all of it is laid out anew. */
  #turned() {
    this.sight.reset();
    this.said = "";
    this.frames.refresh();
  }

  /** Draws what moves. */
  #draw() {
    const { scene, playhead } = this;
    scene.position = playhead.position;
    scene.now = playhead.now;
    scene.acts = this.session?.acts ?? [];
    this.sight.follow(playhead.now);
    this.diagram.draw();
    if (this.diagram.arrows.stride !== this.stride) this.frames.refresh();
    this.stride = this.diagram.arrows.stride;
    this.topology.fly(scene.model, scene.position, scene.now);
  }

  /** Renews what says in words and numbers where the run is. */
  #panels() {
    const { session, scene, playhead } = this;
    const { model } = scene;
    if (!session?.model || this.ended.signal.aborted) return;
    const { position } = playhead;
    const states = session.statesAt(position);
    const step = model.stepsBefore(position) - 1;
    const before = step >= 0 ? session.statesAt(model.steps[step]) : null;
    this.transport.show();
    this.caption.until = parting(session.acts, this.runStory.acts);
    // Of a live cluster it is not known what its nodes knew, so no rule has a reason.
    const known = states?.some(({ vars }) => vars.length > 0) ?? false;
    this.rules.show(model, position, before, known ? states : null);
    this.caption.show(model, position, playhead.playing);
    this.verdicts.show(model, position);
    this.goal.show(model, session.acts);
    legend(this.legend, model, this.diagram.arrows.stride, session.acts.length > 0);
    this.topology.cut(cutsNow(model.header, session.acts, position, playhead.now));
    this.topology.show(model, position, states, before, scene.selected, scene.related);
    if (this.tabs.shown() === "nodes") this.nodes.show(model, position, states, before, scene.selected);
    if (this.tabs.shown() === "steps") this.steps.show(model, position);
    if (this.tabs.shown() === "hand") { this.hand.show(); this.fromHere.show(); }
    if (this.tabs.shown() === "notes") this.notes.show();
    if (!playhead.playing && this.caption.said !== this.said) announce(this.said = this.caption.said);
    // A link that carries a whole recorded run is long: it is written when the play rests.
    if (!(("trace" in this.runStory.source || "live" in this.runStory.source) && playhead.playing)) this.#note();
  }
}
