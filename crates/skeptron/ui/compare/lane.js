// One of several runs that are shown on one clock: its diagram, its topology, how far it is.
import { h } from "../lib/dom.js";
import { href } from "../lib/address.js";
import { colours } from "../lib/theme.js";
import { say } from "../lib/language.js";
import { Camera } from "../play/camera.js";
import { cutsNow } from "../play/cuts.js";
import { Diagram } from "../play/diagram.js";
import { legend } from "../play/legend.js";
import { lowerBound } from "../play/model.js";
import { Session } from "../play/session.js";
import { Topology } from "../play/topology.js";

/** @typedef {import("../wire.js").SimOptions} SimOptions */

/** A run on a clock that is not its own. */
export class Lane {
  /** @type {Session | null} */
  session = null;
  /** @type {import("../play/diagram.js").Scene | null} */
  scene = null;
  /** @type {Diagram | null} */
  diagram = null;
  canvas = h("canvas", { class: "play-canvas", role: "img" });
  stage = h("div", { class: "lane-stage" }, this.canvas);
  title = h("h2", {});
  count = h("span", { class: "small muted", "data-test": "lane-count" });
  inPlay = h("a", { class: "button small", title: say("The same run in Play") }, say("Open in Play"));
  legend = h("div", { class: "play-legend small" });
  topology = new Topology({ select: () => {}, menu: () => {}, resized: () => this.wanted.changed() });
  element = h("section", { class: "panel lane", "data-test": "lane" },
    h("div", { class: "toolbar" }, this.title, this.count, h("span", { class: "grow" }), this.inPlay), this.legend,
    h("div", { class: "lane-body" }, this.stage, this.topology.element));

  /** @param {{ changed: () => void, failed: (error: unknown) => void }} wanted */
  constructor(wanted) {
    this.wanted = wanted;
  }

  /**
   * Runs something else.
   * @param {SimOptions} sim
   * @param {import("../wire.js").AlgorithmInfo | undefined} info
   */
  run(sim, info) {
    this.close();
    this.title.textContent = info?.title ?? sim.algorithm;
    this.canvas.setAttribute("aria-label", say("Space-time diagram of {title}", { title: this.title.textContent }));
    this.inPlay.href = href("play", Object.fromEntries(Object.entries(sim).map(([name, value]) => [name, String(value)])));
    const { changed, failed } = this.wanted;
    const session = new Session({
      opened: (model) => {
        const camera = new Camera();
        camera.rows = model.header.nodes;
        this.scene = { model, camera, position: 0, now: 0, acts: [], future: true, selected: -1, related: new Set(), stressed: -1, colour: colours(), font: (pixels, weight = "400") => `${weight} ${pixels}px system-ui, sans-serif` };
        this.diagram = new Diagram(this.canvas, this.scene);
        this.topology.lay(model.header, info);
      },
      grown: () => {}, cut: () => {}, ended: changed, informed: changed,
      lost: () => { if (this.session === session) failed(new Error(say("The server has forgotten this run. Reload the page to make it again."))); },
      failed: (error) => { if (this.session === session) failed(error); },
    });
    this.session = session;
    session.open({ sim });
  }

  close() {
    this.session?.close();
    this.session = null;
    this.scene = null;
  }

  /** The run, once all of it is known. */
  get model() {
    return this.scene?.model.end ? this.scene.model : null;
  }

  /** The colours of the page have changed. */
  recolour() {
    if (this.scene) this.scene.colour = colours();
  }

  /**
   * Draws a moment.
   * @param {number} now
   * @param {number} end the last moment of all lanes
   */
  show(now, end) {
    const { scene, diagram, model } = this;
    if (!scene || !diagram || !model) return;
    const { clientWidth, clientHeight } = this.stage;
    if (scene.camera.width !== clientWidth || scene.camera.height !== clientHeight) diagram.resize(clientWidth, clientHeight, 1);
    const position = model.roundUp(model.positionAt(now));
    Object.assign(scene, { now, position });
    scene.camera.end = end;
    scene.camera.open(model.header.ticks_per_unit);
    scene.camera.follow(now);
    diagram.draw();
    legend(this.legend, model, diagram.arrows.stride, false);
    const [sent, entries] = [lowerBound(model.messages.sent, position), lowerBound(model.entries, position)];
    this.count.textContent = `${say("{n} messages", { n: sent })}, ${say("{entries} entries", { n: entries, entries })}`;
    const step = model.stepsBefore(position) - 1;
    const before = step >= 0 ? this.session?.statesAt(model.steps[step]) ?? null : null;
    this.topology.cut(cutsNow(model.header, [], position, now));
    this.topology.show(model, position, this.session?.statesAt(position) ?? null, before, -1, new Set());
    this.topology.fly(model, position, now);
  }
}
