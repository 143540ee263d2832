// A whole run for an exercise: what the engine did is the answer.
import { say } from "../lib/language.js";
import { RunModel } from "../play/model.js";
import { Session } from "../play/session.js";

/** @typedef {{ model: RunModel, session: Session, statesAt: (position: number) => Promise<import("../wire.js").NodeState[]> }} WholeRun */

/**
 * Makes a run and waits until all of it is known.
 * @param {import("../wire.js").RunRequest} request
 * @param {AbortSignal} signal
 * @returns {Promise<WholeRun>}
 */
export function wholeRun(request, signal) {
  return new Promise((resolve, reject) => {
    let informed = () => {};
    const session = new Session({
      opened: () => {}, grown: () => {}, cut: () => {}, informed: () => informed(),
      lost: () => reject(new Error(say("the server does not answer; is it still running?"))),
      failed: reject,
      ended: () => resolve({ session, model: /** @type {RunModel} */ (session.model), statesAt: (position) => new Promise((known) => {
        informed = () => {
          const states = session.statesAt(position);
          if (states) known(states);
        };
        informed();
      }) }),
    });
    signal.addEventListener("abort", () => session.close(), { once: true });
    session.open(request);
  });
}
