// What of a run is seen: the camera follows the present until the user looks elsewhere.

/** A run in which nothing has happened still has that many units of time to see. */
const FEWEST_UNITS = 6;

/** Moves the camera of a scene. */
export class Sight {
  /** Whether the camera follows the present: not while the user looks elsewhere. */
  following = true;
  /** Whether the user has chosen what of this run is seen. */
  touched = false;
  /** Which time is seen as soon as the run is known. @type {[number, number] | null} */
  wanted = null;

  /**
   * @param {import("./diagram.js").Scene} scene
   * @param {() => void} changed
   */
  constructor(scene, changed) {
    this.scene = scene;
    this.changed = changed;
  }

  /** The time that the user has chosen to see. @returns {[number, number] | null} */
  get chosen() {
    return this.touched ? this.scene.camera.window : null;
  }

  /** As much of the run is known as its model says. */
  grow() {
    const { model, camera } = this.scene;
    camera.end = Math.max(model.lastT, FEWEST_UNITS * model.header.ticks_per_unit);
  }

  /** Chooses what is seen of a run that is new, unless the user has. */
  open() {
    const { model, camera } = this.scene;
    if (this.touched || !model.end || camera.width === 0) return;
    camera.open(model.header.ticks_per_unit);
    if (!this.wanted) return;
    camera.window = this.wanted;
    this.wanted = null;
    this.touched = true;
    this.following = false;
  }

  /** Lets the present be seen, if it is followed. @param {number} now */
  follow(now) {
    if (this.following) this.scene.camera.follow(now);
  }

  /** All of it is laid out anew. */
  reset() {
    this.touched = false;
    this.following = true;
  }

  /** The user has moved the camera. */
  moved() {
    this.following = false;
    this.touched = true;
    this.changed();
  }

  fit() {
    this.scene.camera.fit();
    this.moved();
  }

  /** @param {number} factor */
  zoom(factor) {
    const { camera, now } = this.scene;
    const x = camera.x(now);
    this.touched = true;
    camera.zoom(x > 0 && x < camera.width ? x : camera.width / 2, factor);
    this.changed();
  }
}
