// Which part of the diagram is seen: time to pixels and back, scrolling, zooming, following the present.

/** Space for the names of the nodes at the left, and for the time axis at the top. */
export const GUTTER = 46;
export const AXIS = 26;
const MARGIN = 26;
/** Up to that many rows are all in sight, however low; of more each is high enough to be read. */
const MOST_FITTED = 64;
const LOWEST_FITTED = 3;
const LOWEST_ROW = 15;
const HIGHEST_ROW = 170;
/** Pixels per tick, at most. */
const CLOSEST = 4;

/** What is seen. Times are ticks, lengths pixels of the page, or of what is magnified. */
export class Camera {
  constructor() {
    this.width = 0;
    this.height = 0;
    /** The time at the left edge. */
    this.t0 = 0;
    /** Pixels per tick. */
    this.scale = 0.1;
    /** How far the rows are scrolled down. */
    this.top = 0;
    this.rows = 1;
    /** The last time there is to see. */
    this.end = 0;
  }

  get rowHeight() {
    const fair = (this.height - AXIS - 8) / this.rows;
    return Math.max(this.rows <= MOST_FITTED ? LOWEST_FITTED : LOWEST_ROW, Math.min(HIGHEST_ROW, fair));
  }

  /** The width on which time runs. */
  get span() {
    return Math.max(1, this.width - GUTTER);
  }

  /** @param {number} t */
  x(t) {
    return GUTTER + (t - this.t0) * this.scale;
  }

  /** @param {number} x */
  t(x) {
    return this.t0 + (x - GUTTER) / this.scale;
  }

  /** @param {number} row */
  y(row) {
    return AXIS + (row + 0.5) * this.rowHeight - this.top;
  }

  /** The row nearest to a height, or -1 if there is none. @param {number} y */
  row(y) {
    const row = Math.floor((y - AXIS + this.top) / this.rowHeight);
    return y >= AXIS && row >= 0 && row < this.rows ? row : -1;
  }

  /**
   * Scrolls; says whether there was anything to scroll.
   * @param {number} dx
   * @param {number} dy
   * @returns {boolean}
   */
  pan(dx, dy) {
    const { t0, top } = this;
    this.t0 += dx / this.scale;
    this.top += dy;
    this.clamp();
    return t0 !== this.t0 || top !== this.top;
  }

  /**
   * Zooms time around a place.
   * @param {number} x
   * @param {number} factor
   */
  zoom(x, factor) {
    const t = this.t(x);
    const whole = (this.span * 0.9) / Math.max(1, this.end);
    this.scale = Math.min(Math.max(this.scale * factor, Math.min(whole, this.scale)), CLOSEST);
    this.t0 = t - (x - GUTTER) / this.scale;
    this.clamp();
  }

  /** Shows all the time there is. */
  fit() {
    this.t0 = 0;
    this.scale = (this.span - MARGIN * 2) / Math.max(1, this.end);
    this.top = 0;
    this.clamp();
  }

  /**
   * Shows the beginning, each unit as wide as is easily read; all of it if that is not much more.
   * @param {number} ticksPerUnit
   */
  open(ticksPerUnit) {
    const readable = 150 / ticksPerUnit;
    this.fit();
    if (this.scale < readable * 0.45) this.scale = readable;
    this.scale = Math.min(this.scale, readable * 2);
    this.t0 = 0;
    this.clamp();
  }

  /** The time that is seen: from where to where. @returns {[number, number]} */
  get window() {
    return [this.t0, this.t0 + this.span / this.scale];
  }

  /** @param {[number, number]} window */
  set window([from, to]) {
    this.scale = Math.min(this.span / Math.max(1, to - from), CLOSEST);
    this.t0 = from;
    this.clamp();
  }

  /**
   * Scrolls so that a time is seen: gently ahead of it while it moves.
   * @param {number} t
   */
  follow(t) {
    const x = this.x(t);
    const right = GUTTER + this.span * 0.8;
    if (x > right) this.t0 += (x - right) / this.scale;
    else if (x < GUTTER + 4) this.t0 = t - (this.span * 0.3) / this.scale;
    this.clamp();
  }

  clamp() {
    const spare = MARGIN / this.scale;
    const last = this.end + spare - this.span / this.scale;
    this.t0 = Math.max(-spare, Math.min(this.t0, Math.max(last, -spare)));
    const lowest = Math.max(0, this.rows * this.rowHeight + AXIS + 8 - this.height);
    this.top = Math.max(0, Math.min(this.top, lowest));
  }
}
