// The live space-time diagram of one lock: Play's diagram of a run that grows. It follows the present, or rests where the user looks.
import { announce } from "../lib/announce.js";
import { h } from "../lib/dom.js";
import { choice, field } from "../lib/form.js";
import { onTheme, colours, prefersStill } from "../lib/theme.js";
import { numeral, say, translated } from "../lib/language.js";
import { AXIS, Camera, GUTTER } from "../play/camera.js";
import { Diagram } from "../play/diagram.js";
import { legend } from "../play/legend.js";
import { Pointer } from "../play/pointer.js";
import { roundStep } from "../play/units.js";
import { LiveRun, TICKS } from "./live-run.js";

/** @typedef {import("./live-run.js").Spacing} Spacing */

/** What comes from the server is this old at most, in milliseconds: so far behind is the present drawn. */
const BEHIND = 120;
/** How much is shown at first: events, or milliseconds. Where there are many nodes, so many events for each. */
const SHOWN = { events: 36, time: 10_000 };
const SHOWN_PER_NODE = 9;
/** How often it is drawn where the user wants little to move, and how often it is told in words at most, in milliseconds. */
const STILL = 1000;
const WORDS = 250;
const MOST_WORDS = 30;
const ZOOM = 1.6;

/**
 * @param {(() => void) | null} open shows what has happened so far in Play, where there is one
 * @returns {{ element: HTMLElement, run: () => LiveRun, restart: (lock: string, of: { members: number[], algorithm: string, whole: boolean }) => void, heard: (at: number) => void, connected: (yes: boolean) => void, end: () => void }}
 */
export function diagram(open) {
  /** @type {Spacing} */
  let spacing = "events";
  let run = new LiveRun([1], "", spacing);
  let live = false;
  /** The page's clock minus the stream's. */
  let offset = Infinity;
  let follows = true;
  let [stale, drawnAt, told, toldAt] = [true, 0, -1, -Infinity];

  const canvas = h("canvas", { class: "play-canvas", tabindex: "0", role: "img", "aria-label": say("Space-time diagram of the lock's messages; the arrow keys move it, plus and minus zoom, Home shows all, End the present"), "data-test": "cluster-diagram" });
  const frame = h("div", { class: "diagram-frame" }, canvas);
  const hint = h("p", { class: "diagram-hint", "data-test": "cluster-hint" });
  const follow = h("button", { type: "button", "data-test": "cluster-follow", onclick: () => setFollows(!follows) });
  const spaced = choice([{ value: "events", title: say("event by event") }, { value: "time", title: say("by the clock") }], spacing, (value) => respace(/** @type {Spacing} */ (value)), { "data-test": "cluster-spacing" });
  const list = h("ol", { class: "mono small words", "data-test": "cluster-words" });
  const title = h("h2", {});
  const keys = h("div", { class: "play-legend small", "data-test": "cluster-kinds" });

  /** @type {import("../play/diagram.js").Scene} */
  const scene = {
    model: run.model, camera: new Camera(), position: 0, now: 0, acts: [], future: false, selected: -1, related: new Set(), stressed: -1, colour: colours(),
    font: (pixels, weight = "400") => `${weight} ${pixels}px system-ui, sans-serif`,
    axis: {
      step: (scale) => Math.max(spacing === "events" ? TICKS : 1, roundStep(scale, TICKS, 110)),
      // Nothing has happened yet right of the last event.
      words: (t, decimals) => spacing === "events" && t > scene.now ? "" : milliseconds(run.momentAt(t), decimals ?? (spacing === "events" ? 2 : scene.camera.scale > 0.05 ? 1 : 0)),
    },
    overlay: { look: () => [], draw: drawGaps },
  };
  const drawing = new Diagram(canvas, scene);
  const nothing = () => {};
  const pointer = new Pointer(drawing, { redraw: () => { stale = true; }, moved: () => setFollows(false), scrub: nothing, node: nothing, message: nothing, select: nothing, event: () => false, say: announce, presenting: () => false });
  frame.append(pointer.tip, hint);
  const { camera } = scene;
  const element = h("section", { class: "panel diagram-panel", "aria-label": say("Live space-time diagram") },
    h("div", { class: "toolbar" }, title, h("span", { class: "grow" }), field(say("Spacing"), spaced),
      h("button", { type: "button", class: "icon", title: say("Show less (+)"), "aria-label": say("Zoom in"), onclick: () => zoom(ZOOM) }, "+"),
      h("button", { type: "button", class: "icon", title: say("Show more (−)"), "aria-label": say("Zoom out"), onclick: () => zoom(1 / ZOOM) }, "−"),
      follow, open && h("button", { type: "button", "data-test": "cluster-play", title: say("Play what has happened so far, step by step"), onclick: open }, say("Open in Play"))),
    keys, frame, h("details", {}, h("summary", {}, say("The last events in words")), list));

  function present() {
    const last = run.moments.at(-1) ?? 0;
    return !live || offset === Infinity ? last : Math.max(last, performance.now() - offset - BEHIND);
  }

  /** @param {boolean} yes */
  function setFollows(yes) {
    follows = yes;
    stale = true;
    follow.setAttribute("aria-pressed", String(yes));
    follow.textContent = yes ? say("Following") : say("Paused");
    follow.title = yes ? say("Stop here, to look back (Space)") : say("Go on with the present (Space)");
  }

  /** Chooses how much is shown. */
  function reframe() {
    const units = spacing === "events" ? Math.max(SHOWN.events, SHOWN_PER_NODE * run.members.length) : SHOWN.time;
    camera.scale = camera.span / (units * TICKS);
    camera.t0 = 0;
    setFollows(true);
  }

  /** @param {Spacing} next */
  function respace(next) {
    spacing = next;
    run.space(next);
    reframe();
  }

  /** @param {number} factor */
  function zoom(factor) {
    const x = camera.x(scene.now);
    camera.zoom(x > GUTTER && x < camera.width ? x : camera.width / 2, factor);
    stale = true;
  }

  /** @param {number} share of what is seen */
  function move(share) {
    camera.pan(share * camera.span, 0);
    setFollows(false);
  }

  /** @type {Record<string, () => void>} */
  const deeds = {
    ArrowLeft: () => move(-1 / 8), ArrowRight: () => move(1 / 8), PageUp: () => move(-1), PageDown: () => move(1),
    Home: () => { camera.fit(); setFollows(false); }, End: () => setFollows(true),
    "+": () => zoom(ZOOM), "=": () => zoom(ZOOM), "-": () => zoom(1 / ZOOM), " ": () => setFollows(!follows),
  };
  canvas.addEventListener("keydown", (event) => {
    const deed = event.ctrlKey || event.metaKey || event.altKey ? undefined : deeds[event.key];
    if (!deed) return;
    event.preventDefault();
    deed();
  });

  /**
   * Where events are missing.
   * @param {CanvasRenderingContext2D} ink
   */
  function drawGaps(ink) {
    ink.strokeStyle = ink.fillStyle = scene.colour("bad");
    ink.font = scene.font(11, "600");
    ink.textAlign = "left";
    ink.lineWidth = 1;
    ink.setLineDash([3, 4]);
    for (const { at, missed } of run.gaps) {
      const x = camera.x(run.place(at));
      ink.beginPath();
      ink.moveTo(x, AXIS);
      ink.lineTo(x, camera.height);
      ink.stroke();
      ink.fillText(say("{n} events are missing here", { n: missed }), x + 4, camera.height - 6);
    }
    ink.setLineDash([]);
  }

  function draw() {
    const now = present();
    stale = run.advance(now) || stale;
    const t = run.place(now);
    stale ||= t !== scene.now || scene.model !== run.model;
    hint.hidden = run.happened.length > 0;
    if (!stale || camera.width === 0) return;
    stale = false;
    Object.assign(scene, { model: run.model, position: run.model.length, now: t });
    camera.end = t;
    if (follows) camera.follow(t);
    drawing.draw();
    if (told === run.happened.length || performance.now() - toldAt < WORDS) return;
    [told, toldAt] = [run.happened.length, performance.now()];
    list.replaceChildren(...inWords(run).map((line) => h("li", {}, line)));
    legend(keys, run.model, drawing.arrows.stride, false);
  }

  function tick() {
    frameRequest = requestAnimationFrame(tick);
    const now = performance.now();
    if (prefersStill() && now - drawnAt < STILL && !stale) return;
    drawnAt = now;
    draw();
  }
  let frameRequest = requestAnimationFrame(tick);
  const endTheme = onTheme(() => {
    scene.colour = colours();
    stale = true;
  });
  const sized = new ResizeObserver(() => {
    const isFirst = camera.width === 0;
    drawing.resize(frame.clientWidth, frame.clientHeight, 1);
    if (isFirst) reframe();
    stale = true;
  });
  sized.observe(frame);
  setFollows(true);

  return {
    element,
    run: () => run,
    restart(lock, { members, algorithm, whole }) {
      run = new LiveRun(members, algorithm, spacing);
      offset = Infinity;
      told = -1;
      camera.rows = members.length;
      frame.style.minHeight = `${Math.max(200, 46 + members.length * 24)}px`;
      reframe();
      title.textContent = say("What happens to “{lock}”", { lock });
      const remedy = whole ? say("Let all nodes ask for it, and see how the algorithm decides.") : say("Take it with skeptron lock, and see how the algorithm decides.");
      hint.textContent = `${say("Nothing has happened to “{lock}” since this page looks.", { lock })} ${remedy}`;
    },
    heard(at) {
      offset = Math.min(offset, performance.now() - at);
    },
    connected(yes) {
      live = yes;
      stale = true;
    },
    end() {
      cancelAnimationFrame(frameRequest);
      sized.disconnect();
      endTheme();
    },
  };
}

/**
 * The latest events in words, the last one first.
 * @param {LiveRun} run
 * @returns {string[]}
 */
function inWords({ happened, model }) {
  const told = happened.filter(({ record }) => record.text !== "").slice(-MOST_WORDS).reverse();
  return told.map(({ at, record }) => `${milliseconds(at)}  ${model.name(record.node - 1)} ${translated(record.text)}`);
}

/**
 * A time with as many digits as tell something.
 * @param {number} ms
 * @param {number} [digits]
 * @returns {string}
 */
function milliseconds(ms, digits = 1) {
  return `${numeral(ms, digits)} ms`;
}
