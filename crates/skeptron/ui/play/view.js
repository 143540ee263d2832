// The view `play`: a run that plays, and everything one can ask it and do to it.
import { h, clear, complaint, toast } from "../lib/dom.js";
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
import { FromHere } from "./from-here.js";
import { Hand } from "./hand.js";
import { Lamps } from "./lamps.js";
import { GoalBanner } from "./goal.js";
import { Kept } from "./kept.js";
import { listenToKeys } from "./keys.js";
import { legend } from "./legend.js";
import { noted, parting, recorded, wished, withEntries } from "./link.js";
import { RunModel } from "./model.js";
import { Nodes } from "./nodes.js";
import { isScenario, Notes } from "./notes.js";
import { Playhead } from "./playhead.js";
import { Pointer } from "./pointer.js";
import { Present } from "./present.js";
import { Rulebook } from "./rulebook.js";
import { Session } from "./session.js";
import { Steps } from "./steps.js";
import { Tale } from "./tale.js";
import { tabs } from "./tabs.js";
import { Topology } from "./topology.js";
import { Transport } from "./transport.js";

/** While it plays fast, the panels are renewed at most every so many milliseconds. */
const PANEL_PAUSE = 90;
/** A run in which nothing has happened still has that many units of time to see. */
const FEWEST_UNITS = 6;
/** How long to wait before asking again whether the server is back. */
const ASK_AGAIN = 1000;
const NOBODY = /** @type {import("../wire.js").RunHeader} */ ({ algorithm: "", kind: "mutex", nodes: 1, order: "any", ticks_per_unit: 1000, command: null, sim: { algorithm: "" }, recorded: false, phases: [], may_act: false, holds: false, acts: [], partitions: [],
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
  /** The run that is shown. @type {Session | null} */
  session = null;
  /** The run that was asked for last; it is shown once the server has made it. @type {Session | null} */
  asked = null;
  /** @type {import("../wire.js").AlgorithmInfo[]} */
  infos = [];
  tale = new Tale();
  /** Which time is seen as soon as the run is known. @type {[number, number] | null} */
  wantedWindow = null;
  /** Where to go as soon as that is known. @type {number | null} */
  wantedAt = null;
  /** Whether the camera follows the present: not while the user looks elsewhere. */
  following = true;
  /** Whether the user has chosen what of this run is seen. */
  touched = false;
  /** Whether the panels lag behind the playhead. */
  stale = false;
  measured = false;
  /** How many arrows one stands for in the diagram; the legend says it. */
  stride = 1;
  frame = 0;
  lastFrame = 0;
  lastPanels = 0;
  frames = 0;

  playhead = new Playhead((moved) => { if (moved) this.following = true; this.refresh(); });
  canvas = h("canvas", { class: "play-canvas", tabindex: 0, role: "application", "data-test": "play-diagram",
    "aria-label": say("Space-time diagram. Left and right arrows step, space plays, up and down choose a node or a message, Enter opens its menu. The steps are also listed in words.") });
  /** @type {import("./diagram.js").Scene} */
  scene = {
    model: new RunModel(NOBODY), camera: new Camera(), position: 0, now: 0, acts: [], future: false, selected: -1, related: new Set(), stressed: -1, colour: colours(),
    font: (pixels, weight = "400") => `${weight} ${pixels}px system-ui, sans-serif`,
  };
  diagram = new Diagram(this.canvas, this.scene);
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
    this.acting = new Acting({ session: () => this.session, playhead: this.playhead, canvas: this.canvas, begun: () => clear(this.errors), changed: () => this.refresh(), failed: (error) => this.complain(error) });
    this.hand = new Hand({
      root, model: () => this.session?.model ?? null, position: () => this.playhead.position, now: () => this.playhead.now, acts: () => this.session?.acts ?? [],
      act: (deed) => this.acting.act(deed), undo: () => this.acting.undo(), redo: () => this.acting.redo(), can: () => ({ undo: this.session?.canUndo ?? false, redo: (this.session?.future.length ?? 0) > 0 }), jump, hold: () => this.acting.hold(),
    });
    this.fromHere = new FromHere({ session: () => this.session, position: () => this.playhead.position });
    this.hand.list.before(this.fromHere.element);
    this.pointer = new Pointer(this.diagram, {
      redraw: () => this.schedule(), moved: () => { this.following = false; this.touched = true; this.schedule(); }, scrub: (t) => { this.playhead.pause(); this.playhead.jumpToTime(t); },
      node: menu, message: (message, place) => this.hand.openMessage(message, place), select, say: announce, presenting: () => this.present.on,
      event: (x, y) => this.clocks.choose(x, y),
    });
    this.clocks = new Clocks(this.scene, { session: () => this.session, redraw: () => this.refresh(), failed: (error) => this.complain(error) });
    this.scene.overlay = this.clocks;
    this.transport = new Transport(this.playhead, { future: (shown) => { this.scene.future = shown; this.refresh(); }, fit: () => this.fit(), zoom: (factor) => this.zoom(factor) });
    this.caption = new Caption(jump);
    this.lamps = new Lamps(jump);
    this.nodes = new Nodes({ select, menu, changed: () => this.refresh() });
    this.steps = new Steps(jump);
    this.rules = new Rulebook(this.caption.rule);
    this.topology = new Topology({ select: (row) => this.select(row === this.scene.selected ? -1 : row), menu, resized: () => this.refresh() });
    this.notes = new Notes({ session: () => this.session, position: () => this.playhead.position, jump, changed: (story) => this.#write(story), failed: (error) => this.complain(error) });
    this.tabs = tabs([
      { name: "nodes", title: say("Nodes"), panel: this.nodes.element }, { name: "rules", title: say("Rules"), panel: this.rules.element }, { name: "steps", title: say("Steps"), panel: this.steps.element },
      { name: "figures", title: say("Figures##tab"), panel: this.lamps.figures }, { name: "hand", title: say("By hand"), panel: this.hand.element }, { name: "notes", title: say("Notes"), panel: this.notes.element }, { name: "about", title: say("About"), panel: this.about },
    ], () => this.panels());
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
    const right = h("div", { class: "play-right" }, h("div", { class: "panel play-top" }, this.lamps.element, this.topology.element), this.tabs.element);
    this.root.append(h("div", { class: "play", "data-test": "play", tabindex: -1 }, h("h1", { class: "unseen" }, say("Play")), this.bar, this.errors, this.goal.element, h("div", { class: "play-main" }, left, right)));
  }

  #listen() {
    const { signal } = this.ended;
    listenToKeys({ playhead: this.playhead, transport: this.transport, present: this.present, acting: this.acting, zoom: (factor) => this.zoom(factor), fit: () => this.fit() }, signal);
    const sized = new ResizeObserver(() => {
      this.diagram.resize(this.stage.clientWidth, this.stage.clientHeight, this.present.magnified);
      if (!this.touched) this.#open();
      this.draw();
      this.panels();
    });
    sized.observe(this.stage);
    const unthemed = onTheme(() => { this.scene.colour = colours(); this.schedule(); });
    signal.addEventListener("abort", () => { sized.disconnect(); unthemed(); this.files.end(); cancelAnimationFrame(this.frame); this.present.close(); });
    dropZone(this.root, (file) => this.files.read(file), signal);
  }

  /** @param {URLSearchParams} params */
  async begin(params) {
    try {
      [this.infos, this.tale.gallery] = await Promise.all([algorithms(), getJson("/lab/scenarios", this.ended.signal)]);
      this.controls.infos = this.infos;
      const wish = await wished(params, this.tale.gallery, this.infos);
      onCopy(() => this.#lacking());
      await this.goal.load(params.get("goal"));
      if (wish.tab) this.tabs.open(wish.tab);
      if (wish.clocks) this.clocks.open(wish.clocks);
      this.nodes.all.checked = wish.all;
      this.wantedWindow = wish.window;
      this.scene.selected = wish.selected;
      this.scene.future = this.transport.future.checked = wish.future;
      this.run(wish.source, wish.acts, wish.at, wish.story);
    } catch (error) {
      if (!this.ended.signal.aborted) this.complain(error);
    }
  }

  close() {
    this.asked?.close();
    this.session?.close();
    this.fromHere.work.cancel();
    this.ended.abort();
  }

  /**
   * Runs something else. What is shown stays until the server has made it: if it refuses, nothing is lost.
   * @param {import("./link.js").Source} source
   * @param {import("../wire.js").Act[]} [acts]
   * @param {number | null} [at]
   * @param {import("./link.js").Story | null} [story] what is said of it instead of what the gallery says
   */
  run(source, acts, at = null, story = null) {
    if (this.asked !== this.session) this.asked?.close();
    clear(this.errors);
    performance.mark("lab:asked");
    if ("sim" in source) this.controls.show(source.sim, source.sim.nodes ?? this.scene.model.header.nodes);
    const session = new ("live" in source ? Kept : Session)({
      opened: (model) => {
        if (this.session !== session) this.session?.close();
        this.session = session;
        this.tale.begin(source, story, model.header.acts);
        this.wantedAt = at;
        this.#opened(model);
      },
      grown: () => this.#grown(),
      cut: (from) => this.#cut(from),
      ended: () => this.#runEnded(),
      informed: () => this.panels(),
      lost: () => { if (session === this.session) this.#remake(); },
      failed: (error) => { if (session === this.session || session === this.asked) this.complain(error); },
    });
    this.asked = session;
    if ("live" in source) /** @type {Kept} */ (session).play(source.live);
    else session.open("sim" in source ? { sim: source.sim, acts, notes: story?.notes } : "scenario" in source ? { scenario: source.scenario, acts } : { trace: source.trace, acts, notes: story?.notes });
  }

  /** @param {RunModel} model */
  #opened(model) {
    const { scene, playhead } = this;
    scene.model = model;
    scene.camera.rows = model.header.nodes;
    scene.stressed = -1;
    if (scene.selected >= model.header.nodes) scene.selected = -1;
    this.touched = this.measured = false;
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
    this.controls.show(model.header.sim, model.header.nodes, { scripted: this.tale.ownActs.length > 0, recorded: model.header.recorded });
    this.select(scene.selected);
    if (this.wantedAt === null && !prefersStill()) playhead.play();
  }

  #tellStory() {
    const { tale } = this;
    const story = tale.of(this.scene.model.header);
    this.caption.tell(story, tale.next);
    this.notes.tell(story);
  }

  /** Takes what somebody has written of the run. @param {import("./link.js").Story} story */
  async #write(story) {
    await this.tale.keep(story, this.session?.acts ?? []);
    this.caption.tell(story);
    this.panels();
  }

  /** What a link to what is shown would lack; else it is noted. @returns {string | null} */
  #lacking() {
    const { lack } = this.tale;
    if (!lack) this.#note();
    return lack;
  }

  #note() {
    const { session, scene, playhead, tale } = this;
    if (!session?.model || this.wantedAt !== null) return;
    const tab = this.tabs.shown();
    noted(tale.source, { acts: tale.foreign(session.acts), at: playhead.position, selected: scene.selected, future: scene.future,
      story: tale.packed, tab: tab === "nodes" ? null : tab, window: this.touched ? scene.camera.window : null, goal: this.goal.goal?.name ?? null, clocks: this.clocks.noted, all: this.nodes.all.checked });
  }

  /** Makes the run again from its address as soon as the server is back. */
  async #remake() {
    const { session, playhead, tale, ended } = this;
    const { position } = playhead;
    playhead.pause();
    this.complain(new Error(say("The server does not answer. As soon as it does, this run is made again.")));
    while (!ended.signal.aborted && session === this.session) {
      await new Promise((done) => setTimeout(done, ASK_AGAIN));
      try {
        await getJson("/lab/about", ended.signal);
      } catch {
        continue;
      }
      if (session !== this.session) return;
      this.run(tale.source, session?.acts, position, tale.own);
      if (session) this.asked?.inherit(session);
      toast(say("The server was restarted. This run was made again."));
      return;
    }
  }

  #grown() {
    const { model } = this.scene;
    this.scene.camera.end = Math.max(model.lastT, FEWEST_UNITS * model.header.ticks_per_unit);
    this.acting.grown(false);
    this.steps.renew();
    this.refresh();
  }

  /** @param {number} from */
  #cut(from) {
    this.steps.renew();
    this.scene.stressed = -1;
    this.acting.cut();
    if (this.playhead.position > from) this.playhead.jump(from);
    this.refresh();
  }

  #runEnded() {
    const { model, camera } = this.scene;
    camera.end = Math.max(model.lastT, FEWEST_UNITS * model.header.ticks_per_unit);
    if (!this.touched) this.#open();
    this.acting.grown(true);
    if (this.wantedAt !== null) this.playhead.jump(this.wantedAt);
    // Where another history begins may lie within one of its steps.
    else if (model.roundUp(this.playhead.position) !== this.playhead.position) this.playhead.jump(this.playhead.position);
    else if (prefersStill() && !this.measured && this.playhead.position === 0) this.playhead.jump(model.length);
    this.wantedAt = null;
    this.lamps.measure(model.end, this.infos.find((info) => info.name === model.header.algorithm));
    this.files.show();
    this.clocks.offer();
    this.draw();
    if (!this.measured) performance.measure("lab:load", "lab:asked");
    this.measured = true;
    this.refresh();
  }

  /** Chooses what is seen of a run that is new. */
  #open() {
    const { model, camera } = this.scene;
    if (!model.end || camera.width === 0) return;
    camera.open(model.header.ticks_per_unit);
    if (!this.wantedWindow) return;
    camera.window = this.wantedWindow;
    this.wantedWindow = null;
    this.touched = true;
    this.following = false;
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
    this.following = false;
    const missing = () => { const { states, before } = this.#shown(); return !states || (before === null && this.playhead.position > 0); };
    while (missing() && !this.ended.signal.aborted) await new Promise((done) => setTimeout(done, 20));
    this.draw();
    this.panels();
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
    this.refresh();
  }

  fit() {
    this.scene.camera.fit();
    this.following = false;
    this.touched = true;
    this.schedule();
  }

  /** @param {number} factor */
  zoom(factor) {
    const { camera, now } = this.scene;
    const x = camera.x(now);
    this.touched = true;
    camera.zoom(x > 0 && x < camera.width ? x : camera.width / 2, factor);
    this.schedule();
  }

  /** Presenting has begun or ended: all of it is laid out anew. */
  #turned() {
    this.touched = false;
    this.following = true;
    this.said = "";
    this.refresh();
  }

  /** Shows the present again, soon. */
  refresh() {
    this.stale = true;
    this.schedule();
  }

  schedule() {
    if (this.frame || this.ended.signal.aborted) return;
    this.frame = requestAnimationFrame((time) => this.#tick(time));
  }

  /** @param {number} time */
  #tick(time) {
    this.frame = 0;
    const seconds = this.lastFrame ? (time - this.lastFrame) / 1000 : 0;
    this.lastFrame = this.playhead.playing ? time : 0;
    this.playhead.leaps = prefersStill();
    this.playhead.advance(seconds);
    this.draw();
    if (this.stale && (!this.playhead.playing || time - this.lastPanels > PANEL_PAUSE)) {
      this.lastPanels = time;
      const begun = performance.now();
      this.panels();
      performance.measure("lab:panels", { start: begun });
    }
    if (this.playhead.playing) this.schedule();
  }

  /** Draws what moves. */
  draw() {
    const { scene, playhead } = this;
    scene.position = playhead.position;
    scene.now = playhead.now;
    scene.acts = this.session?.acts ?? [];
    if (this.following) scene.camera.follow(playhead.now);
    const begun = performance.now();
    this.diagram.draw();
    performance.measure("lab:draw", { start: begun });
    if (this.diagram.arrows.stride !== this.stride) this.refresh();
    this.stride = this.diagram.arrows.stride;
    // The browser keeps every measure: without this a long play would fill its memory.
    if (++this.frames % 2000 === 0) for (const name of ["lab:draw", "lab:panels"]) performance.clearMeasures(name);
    this.topology.fly(scene.model, scene.position, scene.now);
  }

  /** Renews what says in words and numbers where the run is. */
  panels() {
    const { session, scene, playhead } = this;
    const { model } = scene;
    if (!session?.model || this.ended.signal.aborted) return;
    this.stale = false;
    const { position } = playhead;
    const states = session.statesAt(position);
    const step = model.stepsBefore(position) - 1;
    const before = step >= 0 ? session.statesAt(model.steps[step]) : null;
    this.transport.show();
    this.caption.until = parting(session.acts, this.tale.acts);
    // Of a live cluster it is not known what its nodes knew, so no rule has a reason.
    const known = states?.some(({ vars }) => vars.length > 0) ?? false;
    this.rules.show(model, position, before, known ? states : null);
    this.caption.show(model, position, playhead.playing);
    this.lamps.show(model, position);
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
    if (!(("trace" in this.tale.source || "live" in this.tale.source) && playhead.playing)) this.#note();
  }
}
