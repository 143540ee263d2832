// First, back, play, forward, last, how fast, and where.
import { h } from "../lib/dom.js";
import { choice } from "../lib/form.js";
import { say } from "../lib/language.js";
import { inUnits } from "./units.js";

const SPEEDS = [0.25, 0.5, 1, 2, 5, 20, 100];

/** The buttons below the diagram. */
export class Transport {
  /**
   * @param {import("./playhead.js").Playhead} playhead
   * @param {{ future: (shown: boolean) => void, fit: () => void, zoom: (factor: number) => void }} wanted
   */
  constructor(playhead, wanted) {
    this.playhead = playhead;
    const button = (/** @type {string} */ test, /** @type {string} */ sign, /** @type {string} */ title, /** @type {() => void} */ onclick) =>
      h("button", { type: "button", class: "icon", "data-test": test, title, "aria-label": title, onclick }, sign);
    this.first = button("play-first", "|◀", say("To the beginning (Home)"), () => { playhead.pause(); playhead.jump(0); });
    this.back = button("play-back", "◂", say("One step back (←)"), () => playhead.step(-1));
    this.play = h("button", { type: "button", class: "primary play-toggle", "data-test": "play-toggle", onclick: () => this.toggle() });
    this.forward = button("play-forward", "▸", say("One step forward (→)"), () => playhead.step(1));
    this.last = button("play-last", "▶|", say("To the end (End)"), () => { playhead.pause(); playhead.jump(Infinity); });
    this.slider = h("input", { type: "range", min: 0, max: 0, value: 0, class: "grow", "aria-label": say("Step"), "data-test": "play-slider",
      oninput: () => { playhead.pause(); if (playhead.model) playhead.jump(playhead.model.positionAfter(Number(this.slider.value))); } });
    this.where = h("output", { class: "play-where mono", "data-test": "play-where" });
    this.speed = choice(SPEEDS.map((speed) => ({ value: String(speed), title: `${speed} ×` })), "1", (value) => { playhead.speed = Number(value); }, { "data-test": "play-speed", "aria-label": say("Speed"), title: say("Speed") });
    this.future = h("input", { type: "checkbox", "data-test": "play-future", onchange: () => wanted.future(this.future.checked) });
    this.element = h("div", { class: "toolbar play-transport", "data-test": "play-transport" },
      this.first, this.back, this.play, this.forward, this.last, this.slider, this.where, this.speed,
      h("label", { class: "tick", title: say("Draw faintly what is still to come") }, this.future, say("Future")),
      h("span", { class: "play-zoom" },
        button("play-zoom-out", "−", say("Show more time (−)"), () => wanted.zoom(1 / 1.4)),
        button("play-fit", say("Fit"), say("Fit: show the whole run (0)"), wanted.fit),
        button("play-zoom-in", "+", say("Show less time (+)"), () => wanted.zoom(1.4))));
    this.show();
  }

  toggle() {
    if (this.playhead.playing) this.playhead.pause();
    else this.playhead.play();
  }

  /** Shows where the playhead is. */
  show() {
    const { playhead } = this;
    const { model } = playhead;
    const step = model ? model.stepsBefore(playhead.position) : 0;
    const steps = model ? model.steps.length : 0;
    /** @type {"Pause" | "Replay" | "Play"} */
    const word = playhead.playing ? "Pause" : playhead.atEnd && steps > 0 ? "Replay" : "Play";
    if (this.play.dataset.word !== word) {
      this.play.dataset.word = word;
      this.play.textContent = { Pause: say("❚❚ Pause"), Replay: say("↺ Replay"), Play: say("▶ Play") }[word];
      this.play.title = { Pause: say("Pause (Space)"), Replay: say("Replay (Space)"), Play: say("Play (Space)") }[word];
    }
    this.slider.max = String(steps);
    this.slider.value = String(step);
    this.slider.setAttribute("aria-valuetext", model ? say("step {step} of {steps}, time {time}", { step, steps, time: inUnits(playhead.now, model.header) }) : say("nothing to play"));
    this.where.textContent = `${step} / ${steps}`;
    this.first.disabled = this.back.disabled = playhead.position === 0;
    this.forward.disabled = this.last.disabled = playhead.atEnd;
  }
}
