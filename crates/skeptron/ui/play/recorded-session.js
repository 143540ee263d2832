// A run that no server makes: what was recorded of a live cluster.
import { say } from "../lib/language.js";
import { RunModel } from "./model.js";
import { Session } from "./session.js";

/** Plays what it is given. What the nodes knew is not known. */
export class RecordedSession extends Session {
  /** @param {import("../cluster/live-run.js").Recording} run */
  play({ header, records }) {
    this.model = new RunModel(header);
    this.listener.opened(this.model);
    this.model.take({ from: 0, records });
    this.listener.grown();
    this.model.end = { records: records.length, reason: "over", t: this.model.lastT, verdicts: [], figures: [], doubts: [] };
    this.listener.ended();
  }

  /** @override */
  statesAt() {
    return Array.from({ length: this.model?.header.nodes ?? 0 }, () => ({ up: true, vars: [] }));
  }

  /** @override @returns {string} */
  path() {
    throw new Error(say("what was recorded of a live cluster is in the address of this page alone: copy the link"));
  }
}
