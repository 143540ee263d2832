// The failure probability over p: the server is asked for one p after another.
import { h } from "../lib/dom.js";
import { stream } from "../lib/api.js";
import { plot } from "../lib/plot.js";
import { say } from "../lib/language.js";
import { figure, probability } from "./numbers.js";

/** @typedef {import("../wire.js").QuorumRequest} QuorumRequest */
/** @typedef {import("../wire.js").QuorumResult} QuorumResult */

const GRID = [0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5];

/** What was asked before, so that it is not asked again. @type {Map<string, Map<number, number>>} */
const known = new Map();
const MOST_KNOWN = 30;

/**
 * A plot that fills in while the server answers.
 * @returns {{ element: HTMLElement, offer: (request: QuorumRequest, name: string, atOnce: boolean) => void, end: () => void }}
 */
export function curvePanel() {
  const drawn = plot();
  const button = h("button", { type: "button", "data-test": "run-curve" }, say("Compute it for other p"));
  const says = h("p", { class: "small muted" }, "");
  const element = h("section", { class: "panel curve", "data-test": "curve" }, h("h2", {}, say("Failure probability")),
    h("p", { class: "small muted" }, say("That no quorum is left, if each node has failed with p independently. Below the dotted line it is better than one node alone.")),
    drawn.element, says, button);
  /** @type {AbortController | undefined} */
  let running;
  const end = () => running?.abort();

  /**
   * @param {QuorumRequest} request
   * @param {string} name
   */
  const run = async (request, name) => {
    end();
    const mine = running = new AbortController();
    button.hidden = true;
    const values = remembered(request);
    for (const p of GRID) {
      if (!values.has(p)) {
        says.textContent = `p = ${p} …`;
        await ask({ ...request, p, picture: "none", of: undefined }, mine.signal, values).catch((error) => {
          says.textContent = error instanceof Error ? error.message : String(error);
          mine.abort();
        });
      }
      if (mine.signal.aborted) return;
      draw(values, name);
    }
    says.textContent = "";
  };
  const draw = (/** @type {Map<number, number>} */ values, /** @type {string} */ name) => {
    const points = [...values].sort(([a], [b]) => a - b).filter(([, value]) => value > 0)
      .map(([p, value]) => ({ x: p, y: value, text: say("{name}: {value} at p = {p}", { name, value: probability(value), p: figure(p) }) }));
    drawn.show({ title: say("Failure probability"), xLabel: say("p of each node"), yLabel: say("no quorum left"), xLog: false, yLog: true, series: [
      { name: say("one node alone"), colour: "strong-line", shape: "plus", dash: "2 4", points: [], line: GRID.map((p) => ({ x: p, y: p })) },
      { name, colour: "series-1", shape: "circle", points, line: points },
    ] });
  };
  return {
    element,
    end,
    offer(request, name, atOnce) {
      end();
      const values = remembered(request);
      draw(values, name);
      says.textContent = atOnce || values.size === GRID.length ? "" : say("Computing this system took a while, so the curve is left to you.");
      button.hidden = false;
      button.onclick = () => run(request, name);
      if (atOnce || values.size === GRID.length) run(request, name);
    },
  };
}

/** @param {QuorumRequest} request */
function remembered({ p: _p, picture: _picture, of: _of, ...system }) {
  const key = JSON.stringify(system);
  const values = known.get(key) ?? new Map();
  known.delete(key);
  known.set(key, values);
  const oldest = known.keys().next().value;
  if (known.size > MOST_KNOWN && oldest !== undefined) known.delete(oldest);
  return values;
}

/**
 * @param {QuorumRequest} request
 * @param {AbortSignal} signal
 * @param {Map<number, number>} values
 */
async function ask(request, signal, values) {
  await stream("/lab/quorum", { body: request, signal, on: {
    result: (/** @type {QuorumResult} */ { report }) => {
      const failure = report.failure_probability;
      if (failure) values.set(failure.p, failure.value);
    },
  } });
}
