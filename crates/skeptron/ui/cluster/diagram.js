// The live space-time diagram of one lock: follows the present, or rests where the user looks.
import { h } from "../lib/dom.js";
import { choice, field } from "../lib/form.js";
import { onTheme, colours, kindColour, prefersStill } from "../lib/theme.js";
import { say } from "../lib/language.js";
import { History, inWords } from "./history.js";
import { placeOf, momentAt } from "./scale.js";
import { paint, nearest, describe } from "./paint.js";

/** What comes from the server is this old at most, in milliseconds: so far behind is the present drawn. */
const BEHIND = 120;
/** How much is shown at first, and how little and how much can be. */
const SHOWN = { events: 36, time: 10_000 };
/** Where there are many nodes, so many events for each. */
const SHOWN_PER_NODE = 9;
const LEAST = { events: 6, time: 0.5 };
const MOST = { events: 600, time: 600_000 };
/** How often it is drawn where the user wants little to move. */
const STILL = 1000;
/** How often it is told in words at most. */
const WORDS = 250;

/**
 * @param {(() => void) | null} open shows what has happened so far in Play, where there is one
 * @returns {{ element: HTMLElement, history: () => History, restart: (lock: string) => void, members: (numbers: number[], whole: boolean) => void, heard: (at: number) => void, connected: (yes: boolean) => void, end: () => void }}
 */
export function diagram(open) {
  let history = new History();
  /** @type {number[]} */
  let members = [];
  let whole = true;
  let live = false;
  /** The page's clock minus the stream's. */
  let offset = Infinity;
  /** @type {import("./scale.js").Spacing} */
  let spacing = "events";
  const width = { ...SHOWN };
  /** Where the right edge rests; null while it follows the present. @type {number | null} */
  let rest = null;
  let colour = colours();
  let [drawn, drawnAt, words, wordsAt] = ["", 0, -1, -Infinity];

  const canvas = h("canvas", { tabindex: "0", role: "img", "aria-label": say("Space-time diagram of the lock's messages; the arrow keys move it, plus and minus zoom, Home shows all, End the present"), "data-test": "cluster-diagram" });
  const frame = h("div", { class: "diagram-frame" }, canvas);
  const hint = h("p", { class: "diagram-hint", "data-test": "cluster-hint" });
  const told = h("p", { class: "small muted told", "data-test": "cluster-told" }, say("Point at an arrow or a bar to read what it is."));
  const follow = h("button", { type: "button", "aria-pressed": "true", "data-test": "cluster-follow", onclick: () => setRest(rest === null ? edge() : null) }, say("Following"));
  const spaced = choice([{ value: "events", title: say("event by event") }, { value: "time", title: say("by the clock") }], spacing, (value) => respace(/** @type {import("./scale.js").Spacing} */ (value)), { "data-test": "cluster-spacing" });
  const list = h("ol", { class: "mono small words", "data-test": "cluster-words" });
  const listed = h("details", {}, h("summary", {}, say("The last events in words")), list);
  const title = h("h2", {});
  /** The kinds of messages that have been seen, each in its colour. */
  const kinds = h("span", { class: "diagram-kinds", "data-test": "cluster-kinds" });
  const element = h("section", { class: "panel diagram-panel", "aria-label": say("Live space-time diagram") },
    h("div", { class: "toolbar" }, title,
      h("div", { class: "legend small muted" }, h("span", { class: "swatch waiting" }), say("waits"), h("span", { class: "swatch inside" }), say("inside"), kinds),
      h("span", { class: "grow" }), field(say("Spacing"), spaced),
      h("button", { type: "button", class: "icon", title: say("Show less (+)"), "aria-label": say("Zoom in"), onclick: () => zoom(1 / 1.6, 1) }, "+"),
      h("button", { type: "button", class: "icon", title: say("Show more (−)"), "aria-label": say("Zoom out"), onclick: () => zoom(1.6, 1) }, "−"),
      follow, open && h("button", { type: "button", "data-test": "cluster-play", title: say("Play what has happened so far, step by step"), onclick: open }, say("Open in Play"))),
    frame, told, listed);
  frame.append(hint);

  function present() {
    if (!live || offset === Infinity) return history.moments.at(-1) ?? 0;
    return Math.max(history.moments.at(-1) ?? 0, performance.now() - offset - BEHIND);
  }

  /** The place of the right edge. */
  function edge() {
    if (rest !== null) return rest;
    return last();
  }

  /** The place of the right edge that follows the present, once there is more than has room. */
  function last() {
    const [first, now] = [history.moments[0] ?? 0, present()].map((at) => placeOf(spacing, history.moments, at));
    return Math.max(now + width[spacing] * 0.04, first + width[spacing] * 0.97);
  }

  /** @param {number | null} value */
  function setRest(value) {
    rest = value;
    follow.setAttribute("aria-pressed", String(rest === null));
    follow.textContent = rest === null ? say("Following") : say("Paused");
    follow.title = rest === null ? say("Stop here, to look back (Space)") : say("Go on with the present (Space)");
    drawn = "";
  }

  /** @param {import("./scale.js").Spacing} next */
  function respace(next) {
    const at = rest === null ? null : momentAt(spacing, history.moments, rest);
    spacing = next;
    setRest(at === null ? null : placeOf(spacing, history.moments, at));
  }

  /**
   * @param {number} factor
   * @param {number} about which part of the width stays where it is
   */
  function zoom(factor, about) {
    const before = width[spacing];
    width[spacing] = Math.min(MOST[spacing], Math.max(LEAST[spacing], before * factor));
    if (rest !== null) setRest(rest + (width[spacing] - before) * (1 - about));
    drawn = "";
  }

  /** @param {number} by in places */
  function move(by) {
    const first = placeOf(spacing, history.moments, history.moments[0] ?? 0);
    const next = Math.max(edge() + by, first + width[spacing] * 0.2);
    setRest(next >= last() ? null : next);
  }

  /** Shows everything that is remembered. */
  function showAll() {
    const [first, now] = [history.moments[0] ?? 0, present()].map((at) => placeOf(spacing, history.moments, at));
    width[spacing] = Math.min(MOST[spacing], Math.max(LEAST[spacing], (now - first) * 1.08));
    setRest(null);
  }

  /** @type {Record<string, () => void>} */
  const keys = {
    ArrowLeft: () => move(-width[spacing] / 8),
    ArrowRight: () => move(width[spacing] / 8),
    PageUp: () => move(-width[spacing]),
    PageDown: () => move(width[spacing]),
    Home: showAll,
    End: () => setRest(null),
    "+": () => zoom(1 / 1.6, 1),
    "=": () => zoom(1 / 1.6, 1),
    "-": () => zoom(1.6, 1),
    " ": () => setRest(rest === null ? edge() : null),
  };
  canvas.addEventListener("keydown", (event) => {
    const act = event.ctrlKey || event.metaKey || event.altKey ? undefined : keys[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
  canvas.addEventListener("wheel", (event) => {
    const perPixel = width[spacing] / canvas.clientWidth;
    if (event.ctrlKey) {
      zoom(Math.exp(event.deltaY / 300), event.offsetX / canvas.clientWidth);
    } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      move((event.deltaX || event.deltaY) * perPixel);
    } else {
      return;
    }
    event.preventDefault();
  }, { passive: false });
  /** @type {number | null} */
  let dragged = null;
  canvas.addEventListener("pointerdown", (event) => {
    dragged = event.clientX;
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointerup", () => { dragged = null; });
  canvas.addEventListener("pointermove", (event) => {
    if (dragged !== null && event.buttons > 0) {
      move(((dragged - event.clientX) * width[spacing]) / canvas.clientWidth);
      dragged = event.clientX;
      return;
    }
    const thing = nearest(view(), event.offsetX, event.offsetY);
    if (thing) told.textContent = describe(thing, present());
  });

  /** What is drawn. @returns {import("./paint.js").View} */
  function view() {
    const end = edge();
    return { history, members, whole, spacing, begin: end - width[spacing], end, now: present(), width: canvas.clientWidth, height: canvas.clientHeight };
  }

  function draw() {
    const shown = view();
    const step = shown.width / width[spacing];
    // Nothing to do where not even a pixel would be different.
    const key = [history.changes, Math.round(shown.end * step), width[spacing], shown.width, shown.height, spacing, members.length, live].join();
    if (key !== drawn) {
      drawn = key;
      paint(canvas, shown, colour);
    }
    if (words !== history.changes && performance.now() - wordsAt > WORDS) {
      [words, wordsAt] = [history.changes, performance.now()];
      list.replaceChildren(...inWords(history, 30).map((line) => h("li", {}, line)));
      showKinds(kinds, [...new Set(history.arrows.map(({ label }) => label))].sort());
    }
    hint.hidden = history.moments.length > 0;
  }

  function tick() {
    frameRequest = requestAnimationFrame(tick);
    const now = performance.now();
    if (prefersStill() && now - drawnAt < STILL && drawn !== "") return;
    drawnAt = now;
    draw();
  }
  let frameRequest = requestAnimationFrame(tick);
  const endTheme = onTheme(() => {
    colour = colours();
    drawn = "";
  });
  setRest(null);

  return {
    element,
    history: () => history,
    restart(lock) {
      history = new History();
      offset = Infinity;
      setRest(null);
      title.textContent = say("What happens to “{lock}”", { lock });
      const remedy = whole ? say("Let all nodes ask for it, and see how the algorithm decides.") : say("Take it with skeptron lock, and see how the algorithm decides.");
      hint.textContent = `${say("Nothing has happened to “{lock}” since this page looks.", { lock })} ${remedy}`;
    },
    members(numbers, all) {
      if (numbers.length !== members.length) width.events = Math.min(MOST.events, Math.max(SHOWN.events, SHOWN_PER_NODE * numbers.length));
      [members, whole] = [numbers, all];
      frame.style.minHeight = `${Math.max(200, 46 + members.length * 24)}px`;
    },
    heard(at) {
      offset = Math.min(offset, performance.now() - at);
    },
    connected(yes) {
      live = yes;
      drawn = "";
    },
    end() {
      cancelAnimationFrame(frameRequest);
      endTheme();
    },
  };
}

/**
 * @param {HTMLElement} place
 * @param {string[]} labels
 */
function showKinds(place, labels) {
  if (place.dataset.key === labels.join(" ")) return;
  place.dataset.key = labels.join(" ");
  place.replaceChildren(...labels.map((label) => {
    const name = h("span", { class: "diagram-kind" }, `⟶ ${label}`);
    name.style.color = `var(--${kindColour(label)})`;
    return name;
  }));
}
