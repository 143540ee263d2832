// Which run is shown: one that is asked for replaces it once the server has made it, and one that is lost is made again.
import { getJson } from "../lib/api.js";
import { toast } from "../lib/dom.js";
import { say } from "../lib/language.js";
import { RecordedSession } from "./recorded-session.js";
import { Session } from "./session.js";

/** How long to wait before asking again whether the server is back. */
const ASK_AGAIN = 1000;

/** @typedef {import("./link.js").Source} Source */
/** @typedef {import("./link.js").Story} Story */
/** @typedef {import("../wire.js").Act} Act */
/** What is asked for: `story` is said of it instead of what the gallery says. @typedef {{ source: Source, acts?: Act[], at: number | null, story: Story | null }} Wish */
/**
 * What it tells.
 * @typedef {object} Listener
 * @property {(wish: Wish) => void} asked
 * @property {(model: import("./model.js").RunModel, wish: Wish) => void} opened another run is shown from now on
 * @property {() => void} grown
 * @property {(from: number) => void} cut
 * @property {() => void} ended
 * @property {() => void} informed
 * @property {() => Pick<Wish, "source" | "at" | "story">} lost says what is to be made again
 * @property {(error: unknown) => void} failed
 */

/** Makes runs. */
export class Loader {
  /** The run that is shown. @type {Session | null} */
  session = null;
  /** The run that was asked for last; it is shown once the server has made it. @type {Session | null} */
  #asked = null;

  /**
   * @param {Listener} listener
   * @param {AbortSignal} signal
   */
  constructor(listener, signal) {
    this.listener = listener;
    this.signal = signal;
    signal.addEventListener("abort", () => {
      this.#asked?.close();
      this.session?.close();
    });
  }

  /**
   * Runs something else. What is shown stays until the server has made it: if it refuses, nothing is lost.
   * @param {Wish} wish
   */
  run(wish) {
    const { source, acts, story } = wish;
    const { listener } = this;
    if (this.#asked !== this.session) this.#asked?.close();
    listener.asked(wish);
    performance.mark("lab:asked");
    const session = new ("live" in source ? RecordedSession : Session)({
      opened: (model) => {
        if (this.session !== session) this.session?.close();
        this.session = session;
        listener.opened(model, wish);
      },
      grown: () => listener.grown(),
      cut: (from) => listener.cut(from),
      ended: () => listener.ended(),
      informed: () => listener.informed(),
      lost: () => { if (session === this.session) this.#remake(session); },
      failed: (error) => { if (session === this.session || session === this.#asked) listener.failed(error); },
    });
    this.#asked = session;
    if ("live" in source) /** @type {RecordedSession} */ (session).play(source.live);
    else session.open("sim" in source ? { sim: source.sim, acts, notes: story?.notes } : "scenario" in source ? { scenario: source.scenario, acts } : { trace: source.trace, acts, notes: story?.notes });
  }

  /** Makes the run again from its address as soon as the server is back. @param {Session} session */
  async #remake(session) {
    const wish = this.listener.lost();
    while (!this.signal.aborted && session === this.session) {
      await new Promise((done) => setTimeout(done, ASK_AGAIN));
      try {
        await getJson("/lab/about", this.signal);
      } catch {
        continue;
      }
      if (session !== this.session) return;
      this.run({ ...wish, acts: session.acts });
      this.#asked?.inherit(session);
      toast(say("The server was restarted. This run was made again."));
      return;
    }
  }
}
