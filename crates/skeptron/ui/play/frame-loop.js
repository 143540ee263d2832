// When the view is drawn: once for each frame in which something has changed, and the panels less often while it plays fast.

/** While it plays fast, the panels are renewed at most every so many milliseconds. */
const PANEL_PAUSE = 90;
/** The browser keeps every measure: without this a long play would fill its memory. */
const MOST_MEASURES = 2000;

/** Draws what moves in each frame while it plays, and what says in words and numbers where the run is. */
export class FrameLoop {
  #stale = false;
  #frame = 0;
  #lastFrame = 0;
  #lastPanels = 0;
  #drawn = 0;
  #ended = false;

  /** @param {{ playhead: import("./playhead.js").Playhead, before: () => void, draw: () => void, panels: () => void }} given `before` each frame */
  constructor(given) {
    this.given = given;
  }

  /** Shows the present again, soon. */
  refresh() {
    this.#stale = true;
    this.schedule();
  }

  /** Draws what moves again, soon. */
  schedule() {
    if (this.#frame || this.#ended) return;
    this.#frame = requestAnimationFrame((time) => this.#tick(time));
  }

  end() {
    this.#ended = true;
    cancelAnimationFrame(this.#frame);
  }

  /** @param {number} time */
  #tick(time) {
    const { playhead, before } = this.given;
    this.#frame = 0;
    const seconds = this.#lastFrame ? (time - this.#lastFrame) / 1000 : 0;
    this.#lastFrame = playhead.playing ? time : 0;
    before();
    playhead.advance(seconds);
    this.draw();
    if (this.#stale && (!playhead.playing || time - this.#lastPanels > PANEL_PAUSE)) {
      this.#lastPanels = time;
      this.panels();
    }
    if (playhead.playing) this.schedule();
  }

  /** Draws what moves. */
  draw() {
    const begun = performance.now();
    this.given.draw();
    performance.measure("lab:draw", { start: begun });
    if (++this.#drawn % MOST_MEASURES === 0) for (const name of ["lab:draw", "lab:panels"]) performance.clearMeasures(name);
  }

  /** Renews the panels. */
  panels() {
    const begun = performance.now();
    this.#stale = false;
    this.given.panels();
    performance.measure("lab:panels", { start: begun });
  }
}
