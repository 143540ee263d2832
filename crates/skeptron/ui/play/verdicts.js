// What the judges say at the present, and what was measured beside what was published.
import { h, clear } from "../lib/dom.js";
import { numeral, say, translated } from "../lib/language.js";
import { lowerBound } from "./model.js";

/** The verdicts and the figures. */
export class Verdicts {
  /** @param {(position: number) => void} jump */
  constructor(jump) {
    this.jump = jump;
    this.element = h("div", { class: "play-verdicts", role: "group", "aria-label": say("Properties"), "data-test": "play-verdicts" });
    this.counters = h("p", { class: "small play-counters", "data-test": "play-counters" });
    this.figures = h("div", { class: "play-figures", "data-test": "play-figures" });
    this.lit = "";
  }

  /**
   * @param {import("./model.js").RunModel} model
   * @param {number} position
   */
  show(model, position) {
    const verdicts = model.end?.verdicts ?? [];
    // Most steps change no verdict, and a verdict that is made anew would lose the focus.
    const lit = verdicts.map((verdict) => `${verdict.property}${verdict.holds}${verdict.at !== null && verdict.at < position}${verdict.detail}`).join();
    if (lit !== this.lit) {
      this.lit = lit;
      clear(this.element);
      for (const verdict of verdicts) this.element.append(this.#verdict(verdict, position));
    }
    this.#count(model, position);
  }

  /**
   * @param {import("../wire.js").RunVerdict} verdict
   * @param {number} position
   */
  #verdict(verdict, position) {
    const properties = { "data-test": `verdict-${verdict.property}`, title: translated(verdict.detail) };
    if (verdict.holds === null) return h("span", { ...properties, class: "chip", "data-state": "unclaimed" }, h("span", {}, "–"), translated(verdict.property));
    const at = verdict.at;
    if (verdict.holds || (at !== null && at >= position)) return h("span", { ...properties, class: "chip good", "data-state": "good" }, h("span", {}, "✓"), translated(verdict.property));
    const violated = say("{property} violated", { property: translated(verdict.property) });
    if (at === null) return h("span", { ...properties, class: "chip bad", "data-state": "bad" }, h("span", {}, "✕"), violated);
    return h("button", { ...properties, type: "button", class: "chip bad", "data-state": "bad", onclick: () => this.jump(at + 1) }, h("span", {}, "✕"), violated);
  }

  /**
   * @param {import("./model.js").RunModel} model
   * @param {number} position
   */
  #count(model, position) {
    const sent = lowerBound(model.messages.sent, position);
    const entries = lowerBound(model.entries, position);
    const what = model.header.kind === "election" ? say("{n} leaders named", { n: entries }) : say("{entries} entries", { n: entries, entries });
    const each = model.header.kind === "mutex" && entries > 0 ? ` · ${say("{each} messages per entry", { each: numeral(sent / entries, 1) })}` : "";
    this.counters.textContent = `${say("So far:")} ${say("{n} messages", { n: sent })} · ${what}${each}`;
  }

  /**
   * Shows the figures of the whole run.
   * @param {import("../wire.js").RunEnd | null} end
   * @param {import("../wire.js").AlgorithmInfo | undefined} info
   */
  measure(end, info) {
    clear(this.figures);
    this.figures.append(this.counters);
    if (end && end.figures.length > 0) {
      this.figures.append(h("table", { class: "data" },
        h("thead", {}, h("tr", {}, [say("whole run"), say("measured"), say("published")].map((name) => h("th", {}, name)))),
        h("tbody", {}, end.figures.map(row))));
    }
    if (info) this.figures.append(h("h3", {}, say("Published")), h("dl", { class: "play-claims" }, info.claims.flatMap((claim) => [h("dt", {}, translated(claim.name)), h("dd", {}, translated(claim.text))])));
    if (end?.reason === "limit") this.figures.append(h("p", { class: "notice unsure small" }, say("The run was ended at the limit of the lab; the command line has none.")));
  }
}

/** @param {import("../wire.js").Figure} figure */
function row(figure) {
  const verdict = figure.holds === null ? "" : figure.holds ? " ✓" : " ✕";
  return h("tr", {}, h("td", {}, translated(figure.name)), h("td", {}, figure.measured), h("td", { class: figure.holds === false ? "play-off" : "" }, `${translated(figure.claimed ?? "")}${verdict}`));
}
