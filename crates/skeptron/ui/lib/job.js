// A job of the server: asked by POST, answered by a stream. One place shows how far it is, lets the user
// cancel it, and says what went wrong.
import { h, clear, complaint } from "./dom.js";
import { stream } from "./api.js";
import { numeral, say, translated } from "./language.js";

/** @typedef {{ share: number | null, text: string }} Stage how far: a share of 1 if known, and words */
/** @typedef {"done" | "cancelled" | "failed"} Outcome */
/**
 * @typedef {object} Ask
 * @property {unknown} body what is asked
 * @property {(result: any) => void} result takes the result
 * @property {Record<string, (data: any) => void>} [on] takes other events as they come, as `rows` or `cell`
 * @property {(progress: any) => Stage} [stage] reads an event `progress`; without it `{done, total, label}`
 */
/**
 * @typedef {object} Job
 * @property {HTMLElement} element shows progress, cancel button and complaint; empty and hidden at rest
 * @property {(path: string, ask: Ask) => Promise<Outcome>} run asks the server; what ran before is cancelled
 * @property {() => void} cancel ends what runs, if anything does; closing the stream tells the server
 * @property {() => boolean} running
 */

/**
 * A place for one job at a time. A view calls `cancel` when it ends.
 * @param {{ changed?: (running: boolean) => void, name?: string }} [options] `changed` is told when a job
 *   begins and ends; `name` says for people what runs, as in “Comparison”
 * @returns {Job}
 */
export function job({ changed = () => {}, name = say("Job") } = {}) {
  const element = h("div", { class: "job", "data-test": "job", hidden: true });
  /** @type {AbortController | undefined} */
  let running;

  const cancel = () => {
    if (!running) return;
    running.abort();
    running = undefined;
    put(element, h("p", { class: "muted small", role: "status" }, say("{name} cancelled.", { name })));
    changed(false);
  };

  /** @type {Job["run"]} */
  const run = async (path, ask) => {
    running?.abort();
    const mine = running = new AbortController();
    const shown = progressLine(name, cancel);
    put(element, shown.element);
    changed(true);
    /** Says how it ended, unless another job has taken the place meanwhile. @param {HTMLElement} [last] */
    const end = (last) => {
      shown.end();
      if (running !== mine) return;
      running = undefined;
      put(element, last);
      changed(false);
    };
    try {
      await answered(path, ask, mine.signal, shown.update);
      if (mine.signal.aborted) return "cancelled";
      end();
      return "done";
    } catch (error) {
      end(complaint(error));
      return "failed";
    } finally {
      shown.end();
    }
  };

  return { element, run, cancel, running: () => running !== undefined };
}

/**
 * Reads the stream to its end; a stream that ends without a result is an error.
 * @param {string} path
 * @param {Ask} ask
 * @param {AbortSignal} signal
 * @param {(stage: Stage) => void} update
 */
async function answered(path, { body, result, on = {}, stage = counted }, signal, update) {
  let complete = false;
  await stream(path, { body, signal, on: {
    progress: (data) => update(stage(data)),
    ...on,
    result: (data) => {
      complete = true;
      result(data);
    },
  } });
  if (!complete && !signal.aborted) throw new Error(say("The server ended this without a result; ask again."));
}

/**
 * @param {import("../wire.js").Progress} progress
 * @returns {Stage}
 */
function counted({ done, total, label }) {
  return { share: total > 0 ? done / total : null, text: total > 0 ? say("{done} of {total}: {what}", { done, total, what: translated(label) }) : translated(label) };
}

/**
 * @param {string} name
 * @param {() => void} cancel
 */
function progressLine(name, cancel) {
  const bar = h("progress", { max: 1, "aria-label": say("{name}: how far", { name }), "data-test": "progress" });
  const text = h("span", { class: "small muted", "data-test": "progress-text" }, say("asked …"));
  const clock = h("span", { class: "small muted nowrap" }, "");
  const button = h("button", { type: "button", onclick: cancel, "data-test": "cancel" }, say("Cancel"));
  const began = performance.now();
  const timer = setInterval(() => {
    clock.textContent = `${numeral((performance.now() - began) / 1000)} s`;
  }, 500);
  return {
    element: h("div", { class: "job-line" }, bar, h("div", { class: "toolbar" }, text, h("span", { class: "grow" }), clock, button)),
    end: () => clearInterval(timer),
    /** @param {Stage} stage */
    update({ share, text: words }) {
      if (share === null) bar.removeAttribute("value");
      else bar.value = share;
      text.textContent = words;
    },
  };
}

/**
 * @param {HTMLElement} place
 * @param {HTMLElement} [what]
 */
function put(place, what) {
  clear(place);
  if (what) place.append(what);
  place.hidden = !what;
}
