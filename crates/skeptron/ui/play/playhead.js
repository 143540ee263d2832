// The present: which records have happened, what time it is, and how both go on while the run plays.

/** Seconds that a step stays before the next one, and that a unit of time takes, at normal speed. */
const STEP_SECONDS = 0.55;
const UNIT_SECONDS = 1.6;
/** Longer waits, in which nothing happens, are shortened to this. */
const LONGEST_WAIT_SECONDS = 2.2;

/** Moves through a run. A position is a number of records that have happened: always the end of a step. */
export class Playhead {
  /** @param {(moved: boolean) => void} changed called when the position, or whether it plays, has changed */
  constructor(changed) {
    /** @type {import("./model.js").RunModel | null} */
    this.model = null;
    this.position = 0;
    this.now = 0;
    this.playing = false;
    this.speed = 1;
    this.changed = changed;
    /** Whether the play stops where it has come to, from where it was. @type {(from: number, to: number) => boolean} */
    this.stops = () => false;
    /** Whether time leaps from step to step, for who wants little to move. */
    this.leaps = false;
    /** Seconds that the present step still stays. */
    this.rest = 0;
  }

  /** Whether everything that is known has happened. */
  get atEnd() {
    return !this.model || this.position >= this.model.length;
  }

  play() {
    if (!this.model) return;
    if (this.atEnd && this.model.end) this.#set(0);
    this.playing = true;
    this.rest = 0;
    this.changed(false);
  }

  pause() {
    if (!this.playing) return;
    this.playing = false;
    this.changed(false);
  }

  /**
   * Goes some steps forward or, with a negative number, back.
   * @param {number} by
   */
  step(by) {
    if (!this.model) return;
    this.playing = false;
    this.jump(this.model.positionAfter(Math.max(0, this.model.stepsBefore(this.position) + by)));
  }

  /**
   * Goes to the end of the step in which a position lies.
   * @param {number} position
   */
  jump(position) {
    if (!this.model) return;
    this.#set(this.model.roundUp(Math.max(0, position)));
    this.changed(true);
  }

  /**
   * Goes to a time: everything up to then has happened.
   * @param {number} t
   */
  jumpToTime(t) {
    if (!this.model) return;
    const end = Math.max(this.model.lastT, this.model.end?.t ?? 0);
    this.position = this.model.roundUp(this.model.positionAt(t));
    this.now = Math.max(this.model.timeAt(this.position), Math.min(Math.max(0, t), end));
    this.rest = 0;
    this.changed(true);
  }

  /**
   * Lets real time pass.
   * @param {number} seconds
   */
  advance(seconds) {
    if (!this.playing || !this.model) return;
    const before = this.position;
    let left = Math.min(seconds, 0.25);
    while (left > 0 && this.playing) left = this.#spend(left);
    if (before !== this.position || !this.playing) this.changed(before !== this.position);
  }

  /**
   * Spends some of the time on what comes next; returns what is left.
   * @param {number} left
   * @returns {number}
   */
  #spend(left) {
    const model = /** @type {import("./model.js").RunModel} */ (this.model);
    if (this.rest > 0) {
      const spent = Math.min(left, this.rest);
      this.rest -= spent;
      return left - spent;
    }
    if (this.atEnd) {
      // Without its end the run is still being told: more will come.
      if (model.end) this.playing = false;
      return 0;
    }
    const next = model.records[this.position].t;
    const wait = this.#wait(next - this.now);
    if (wait > left && !this.leaps) {
      this.now += ((next - this.now) * left) / wait;
      return 0;
    }
    const before = this.position;
    this.#set(model.positionAfter(model.stepsBefore(before) + 1));
    this.rest = STEP_SECONDS / this.speed + (this.leaps ? wait : 0);
    if (this.stops(before, this.position)) this.playing = false;
    return this.leaps ? left : left - wait;
  }

  /** @param {number} ticks */
  #wait(ticks) {
    const units = ticks / (this.model?.header.ticks_per_unit ?? 1);
    return Math.min(units * UNIT_SECONDS, LONGEST_WAIT_SECONDS) / this.speed;
  }

  /** @param {number} position */
  #set(position) {
    this.position = position;
    this.now = this.model ? this.model.timeAt(position) : 0;
    this.rest = 0;
  }
}
