// A dense diagram is kept as a picture: scrolling moves it and draws only the strip that comes into sight.

/** The picture of what happened, and what it is a picture of. */
export class Layer {
  constructor() {
    this.canvas = document.createElement("canvas");
    this.ink = /** @type {CanvasRenderingContext2D} */ (this.canvas.getContext("2d"));
    /** What the picture shows, apart from where it begins: if that changes, all is drawn again. @type {unknown[]} */
    this.shows = [];
    this.t0 = 0;
  }

  /**
   * Shows the run of a diagram on its canvas.
   * @param {import("./diagram.js").Diagram} diagram
   */
  show(diagram) {
    const { scene } = diagram;
    const { camera } = scene;
    const dots = diagram.canvas.width / camera.width;
    const shows = [scene.model, scene.model.length, scene.position, scene.now, scene.future, scene.selected, scene.colour, camera.scale, camera.top, camera.width, camera.height, dots, diagram.arrows.stride];
    const shift = Math.round((this.t0 - camera.t0) * camera.scale * dots);
    const same = shows.every((value, k) => value === this.shows[k]) && Math.abs(shift) < diagram.canvas.width * 0.8;
    this.shows = shows;
    if (!same) this.#renew(diagram, dots);
    else if (shift !== 0) this.#scroll(diagram, shift, dots);
    diagram.ink.drawImage(this.canvas, 0, 0, camera.width, camera.height);
  }

  /**
   * @param {import("./diagram.js").Diagram} diagram
   * @param {number} dots
   */
  #renew(diagram, dots) {
    const { camera } = diagram.scene;
    this.canvas.width = diagram.canvas.width;
    this.canvas.height = diagram.canvas.height;
    this.ink.setTransform(dots, 0, 0, dots, 0, 0);
    this.t0 = camera.t0;
    diagram.drawRun(this.ink, 0, camera.width);
  }

  /**
   * @param {import("./diagram.js").Diagram} diagram
   * @param {number} shift in dots of the screen: whole ones, so that nothing blurs
   * @param {number} dots
   */
  #scroll(diagram, shift, dots) {
    const { ink } = this;
    const { camera } = diagram.scene;
    const wanted = camera.t0;
    this.t0 -= shift / (camera.scale * dots);
    ink.save();
    ink.setTransform(1, 0, 0, 1, 0, 0);
    ink.globalCompositeOperation = "copy";
    ink.drawImage(this.canvas, shift, 0);
    ink.restore();
    const width = Math.abs(shift) / dots;
    const left = shift > 0 ? 0 : camera.width - width;
    ink.save();
    ink.beginPath();
    ink.rect(left, 0, width, camera.height);
    ink.clip();
    // The strip must fit the picture, which lies on whole dots, not the camera, which does not.
    camera.t0 = this.t0;
    diagram.drawRun(ink, left, left + width);
    camera.t0 = wanted;
    ink.restore();
  }
}
