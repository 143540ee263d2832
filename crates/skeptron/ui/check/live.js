// How fast a search goes: a small plot that grows while it runs.
import { h, s, clear } from "../lib/dom.js";
import { say } from "../lib/language.js";

/** @typedef {import("../wire.js").CheckProgress} CheckProgress */

const WIDTH = 320;
const HEIGHT = 56;
/** Older samples are merged in pairs, so that the plot always shows the whole search. */
const MOST_SAMPLES = 160;

/**
 * A plot of states per second over time.
 * @returns {{ element: HTMLElement, begin: () => void, add: (progress: CheckProgress) => void, end: () => void }}
 */
export function livePlot() {
  const line = s("polyline", { class: "rate" });
  const chart = s("svg", {
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": say("states per second over time"),
  }, line);
  const most = h("span", { class: "small muted" }, "");
  const figures = h("dl", { class: "figures", "aria-live": "off" });
  const element = h("div", { class: "live", hidden: true, "data-test": "live" },
    figures, h("div", { class: "live-plot" }, chart, most));
  /** @type {{ states: number, seconds: number }[]} */
  let samples = [];

  return {
    element,
    begin() {
      samples = [];
      line.setAttribute("points", "");
      most.textContent = "";
      clear(figures);
      element.hidden = false;
    },
    add({ states, depth, seconds }) {
      samples.push({ states, seconds });
      if (samples.length > MOST_SAMPLES) samples = samples.filter((_, i) => i % 2 === 0 || i === samples.length - 1);
      const rates = ratesOf(samples);
      const highest = Math.max(1, ...rates);
      line.setAttribute("points", points(rates, highest));
      most.textContent = say("states per second, up to {highest}", { highest: short(highest) });
      figures.replaceChildren(
        ...figure(say("states"), short(states)),
        ...figure(say("depth"), String(depth)),
        ...figure(say("states/s"), short(rates.at(-1) ?? 0)),
      );
    },
    end() {
      element.hidden = true;
    },
  };
}

/** @param {{ states: number, seconds: number }[]} samples */
function ratesOf(samples) {
  return samples.slice(1).map((sample, i) => {
    const before = samples[i];
    return Math.max(0, sample.states - before.states) / Math.max(1e-3, sample.seconds - before.seconds);
  });
}

/**
 * @param {number[]} rates
 * @param {number} highest
 */
function points(rates, highest) {
  const step = WIDTH / Math.max(1, rates.length - 1);
  return rates.map((rate, i) => `${(i * step).toFixed(1)},${(HEIGHT - 2 - (rate / highest) * (HEIGHT - 6)).toFixed(1)}`).join(" ");
}

/**
 * @param {string} name
 * @param {string} value
 */
function figure(name, value) {
  return [h("dt", {}, name), h("dd", {}, value)];
}

/**
 * A large number in three digits, as the command writes it.
 * @param {number} value
 * @returns {string}
 */
export function short(value) {
  const [divisor, unit] = value >= 1e9 ? [1e9, " G"] : value >= 1e6 ? [1e6, " M"] : value >= 1e4 ? [1e3, " k"] : [1, ""];
  const shown = value / divisor;
  return `${unit === "" ? Math.round(shown) : shown.toPrecision(3)}${unit}`;
}
