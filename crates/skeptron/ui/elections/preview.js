// One election: its run on the server, its summary and its diagram.
import { h, clear, complaint } from "../lib/dom.js";
import { getText, postJson, stream } from "../lib/api.js";
import { href } from "../lib/address.js";
import { commandLine } from "../lib/command.js";
import { drawing } from "../lib/drawing.js";
import { say, translated } from "../lib/language.js";
import { checkParams, playParams, simOf, situationNow } from "./question.js";

/** @typedef {import("../wire.js").RunHeader} RunHeader */
/** @typedef {import("../wire.js").RunEnd} RunEnd */
/** @typedef {import("../wire.js").AlgorithmInfo} Info */
/** @typedef {import("./question.js").Question} Question */

/**
 * A place for the preview of one election at a time.
 * @param {{ known: (header: RunHeader, leader: number | null) => void }} options `known` is told the
 *   topology, and who leads at the end
 */
export function preview({ known }) {
  const picture = drawing();
  const summary = h("div", { class: "election-summary", "aria-live": "polite", "data-test": "summary" });
  const links = h("div", { class: "toolbar" });
  const command = h("div");
  const sheet = h("div", { class: "election-diagram scroll", tabindex: 0, role: "region", "aria-label": say("Space-time diagram of the election") }, picture.element);
  const element = h("div", { class: "election-preview" }, summary, links, sheet, command);
  /** @type {AbortController | undefined} */
  let asked;

  const run = async (/** @type {Question} */ question, /** @type {Info} */ info) => {
    asked?.abort();
    const mine = asked = new AbortController();
    const sim = simOf(question, info);
    clear(links);
    links.append(
      h("a", { class: "button primary", href: href("play", playParams(sim)), "data-test": "open-in-play" }, say("Open in Play")),
      h("a", { class: "button", href: href("check", checkParams(question, info)), "data-test": "open-in-check" },
        info.broken ? say("Refute it in Check") : say("Check every interleaving")));
    try {
      const { id } = await postJson("/lab/runs", { sim }, { signal: mine.signal });
      const { header, end } = await ended(id, mine.signal);
      const svg = await getText(`/lab/runs/${id}/export?format=svg`);
      if (mine.signal.aborted) return;
      known(header, leaderOf(end));
      clear(summary);
      summary.append(...summaryOf(end, situationNow(question, info)));
      picture.show(svg);
      // Wide diagrams shrink only as far as their text stays legible; then they scroll.
      picture.element.style.minWidth = `${Math.round(widthOf(svg) * 0.8)}px`;
      command.replaceChildren(...(header.command ? [commandLine(header.command)] : []));
      sheet.hidden = false;
    } catch (error) {
      if (mine.signal.aborted) return;
      clear(summary);
      summary.append(complaint(error));
      sheet.hidden = true;
      clear(command);
    }
  };

  return {
    element,
    run,
    end() {
      asked?.abort();
      picture.end();
    },
  };
}

/**
 * Follows a run to its end.
 * @param {string} id
 * @param {AbortSignal} signal
 * @returns {Promise<{ header: RunHeader, end: RunEnd }>}
 */
async function ended(id, signal) {
  const enough = new AbortController();
  const leave = () => enough.abort();
  signal.addEventListener("abort", leave);
  /** @type {RunHeader | undefined} */
  let header;
  /** @type {RunEnd | undefined} */
  let end;
  await stream(`/lab/runs/${id}`, { signal: enough.signal, on: {
    run: (data) => { header = data; },
    end: (data) => {
      end = data;
      leave();
    },
  } });
  signal.removeEventListener("abort", leave);
  if (!header || !end) throw new Error(say("The server ended the run without a result; ask again."));
  return { header, end };
}

/** @param {string} svg */
function widthOf(svg) {
  return Number(/<svg[^>]* width="(\d+)/.exec(svg)?.[1] ?? 0);
}

/** @param {RunEnd} end */
function leaderOf(end) {
  const said = end.figures.find((figure) => figure.name === "leader")?.measured;
  const number = /^P(\d+)/.exec(String(said ?? ""));
  return number ? Number(number[1]) : null;
}

/**
 * @param {RunEnd} end
 * @param {import("./question.js").Situation | undefined} situation
 * @returns {HTMLElement[]}
 */
function summaryOf(end, situation) {
  const leader = leaderOf(end);
  const figure = (/** @type {string} */ name) => end.figures.find((one) => one.name === name);
  const judged = (/** @type {"messages" | "time"} */ name, /** @type {string} */ title) => {
    const found = figure(name);
    // Of means over random rings a single run is no judge: the formula is shown alone.
    const claimed = found?.claimed?.replace(/ when .*$/, "") ?? situation?.[name] ?? null;
    return found ? tile(title, String(found.measured), claimSaid(claimed, found.holds)) : null;
  };
  const tiles = [tile(say("Leader"), leader === null ? say("nobody") : `★ P${leader}`, ""), judged("messages", say("Messages")), judged("time", say("Time, in T"))];
  const verdicts = end.verdicts.filter((verdict) => verdict.holds !== null).map(({ property, holds, detail }) =>
    h("span", { class: `chip ${holds ? "good" : "bad"}`, title: translated(detail) }, holds ? `✓ ${translated(property)}` : say("✗ {property} violated", { property: translated(property) })));
  const causes = /* what figures are called */ ["calls", "alarms", "suspicions", "false suspicions"].map((name) => `${translated(name)} ${figure(name)?.measured ?? 0}`).join(" · ");
  const why = { over: "", limit: say("The run was ended at the lab’s limit."), time: say("The run was ended at its time limit.") }[end.reason];
  const quiet = String(figure("calls")?.measured ?? "") === "0"
    ? h("p", { class: "notice" }, say("Nobody called: no live initiator suspects the leader. Crash the leader, or set when they call.")) : null;
  return [h("dl", { class: "tiles" }, tiles), ...(quiet ? [quiet] : []),
    h("div", { class: "toolbar" }, verdicts, h("span", { class: "muted small" }, causes), why ? h("span", { class: "muted small" }, why) : null)];
}

/**
 * @param {string | null} claimed
 * @param {boolean | null} holds
 */
function claimSaid(claimed, holds) {
  if (claimed === null) return say("no claim for this situation");
  return `${say("claim {claimed}", { claimed: translated(claimed) })}${holds === null ? "" : holds ? " ✓" : ` ${say("✗ missed")}`}`;
}

/**
 * @param {string} name
 * @param {string} value
 * @param {string} below
 */
function tile(name, value, below) {
  return h("div", { class: "tile" }, h("dt", { class: "small muted" }, name),
    h("dd", {}, h("strong", {}, value), below ? h("span", { class: "small muted" }, below) : null));
}
