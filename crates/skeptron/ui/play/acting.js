// Acting by hand: a deed goes to the server, and what comes of it is shown; deeds are undone and done again.
import { toast } from "../lib/dom.js";
import { say } from "../lib/language.js";
import { prefersStill } from "../lib/theme.js";
import { SILENT } from "./hand.js";

/**
 * @typedef {object} Given
 * @property {() => import("./session.js").Session | null} session
 * @property {import("./playhead.js").Playhead} playhead
 * @property {HTMLElement} canvas what gets the focus where nothing else had it
 * @property {() => void} begun a deed is tried: what went wrong before is of no interest any more
 * @property {() => void} changed
 * @property {(error: unknown) => void} failed
 */

/** What is done to the run that is shown. */
export class Acting {
  /** What becomes of a deed that is under way: whether its step is shown, and whether the run plays on. @type {{ does: string, after: number, shows: boolean, plays: boolean, cut: boolean } | null} */
  #deed = null;

  /** @param {Given} given */
  constructor(given) {
    this.given = given;
  }

  /** Another run is shown: nothing is under way in it. */
  begin() {
    this.#deed = null;
  }

  /** @param {import("../wire.js").Deed} deed */
  async act(deed) {
    const { playhead, session, begun } = this.given;
    const acted = session();
    if (!acted) return;
    // While it rests, time stands still: what is done next is done at the same time.
    const { position, now, playing } = playhead;
    begun();
    await this.#do(deed.do, position, playing, () => acted.act(deed, position, now));
  }

  async undo() {
    const { playhead, session, failed, changed } = this.given;
    playhead.pause();
    try {
      await session()?.undo();
      toast(say("The last thing done by hand is undone."));
    } catch (error) {
      failed(error);
    }
    changed();
  }

  async redo() {
    const { playhead, session } = this.given;
    const acted = session();
    const act = acted?.future.at(-1)?.at(-1);
    if (!acted || !act) return;
    playhead.pause();
    playhead.jump(act.after);
    await this.#do(act.do, act.after, false, () => acted.redo());
  }

  /**
   * @param {string} does
   * @param {number} after
   * @param {boolean} plays
   * @param {() => Promise<void>} send
   */
  async #do(does, after, plays, send) {
    const { playhead, failed, changed } = this.given;
    this.#deed = { does, after, shows: !SILENT.has(does), plays, cut: false };
    playhead.pause();
    try {
      await send();
    } catch (error) {
      this.#deed = null;
      failed(error);
    }
    changed();
  }

  /** Stops the play while something is chosen; what is returned lets it go on. */
  hold() {
    const { playhead, canvas } = this.given;
    const { playing } = playhead;
    const focused = document.activeElement;
    playhead.pause();
    return () => {
      const back = focused instanceof HTMLElement && focused.isConnected && focused !== document.body ? focused : canvas;
      back.focus({ preventScroll: true });
      if (!playing) return;
      if (this.#deed) this.#deed.plays = true;
      else playhead.play();
    };
  }

  /** Another history has begun: by the deed that is under way? */
  cut() {
    const last = this.given.session()?.acts.at(-1);
    if (this.#deed && last?.do === this.#deed.does && last.after === this.#deed.after) this.#deed.cut = true;
  }

  /** More of the run is known, or all of it: shows what the deed did, once that is among it. @param {boolean} all */
  grown(all) {
    const { playhead } = this.given;
    if (!this.#deed?.cut || !(all || !playhead.atEnd)) return;
    const { shows, plays } = this.#deed;
    this.#deed = null;
    if (shows && !playhead.atEnd) playhead.step(1);
    if (plays && !playhead.atEnd && !prefersStill()) playhead.play();
  }
}
