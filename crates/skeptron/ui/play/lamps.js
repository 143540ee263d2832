// What the judges say at the present, and what was measured beside what was published.
import { h, clear } from "../lib/dom.js";
import { numeral, say, translated } from "../lib/language.js";
import { lowerBound } from "./model.js";

/** The lamps and the figures. */
export class Lamps {
  /** @param {(position: number) => void} jump */
  constructor(jump) {
    this.jump = jump;
    this.element = h("div", { class: "play-lamps", role: "group", "aria-label": say("Properties"), "data-test": "play-lamps" });
    this.counters = h("p", { class: "small play-counters", "data-test": "play-counters" });
    this.figures = h("div", { class: "play-figures", "data-test": "play-figures" });
    this.lit = "";
  }

  /**
   * @param {import("./model.js").RunModel} model
   * @param {number} position
   */
  show(model, position) {
    const lamps = model.end?.lamps ?? [];
    // Most steps change no lamp, and a lamp that is made anew would lose the focus.
    const lit = lamps.map((lamp) => `${lamp.property}${lamp.holds}${lamp.at !== null && lamp.at < position}${lamp.detail}`).join();
    if (lit !== this.lit) {
      this.lit = lit;
      clear(this.element);
      for (const lamp of lamps) this.element.append(this.#lamp(lamp, position));
    }
    this.#count(model, position);
  }

  /**
   * @param {import("../wire.js").Lamp} lamp
   * @param {number} position
   */
  #lamp(lamp, position) {
    const properties = { "data-test": `lamp-${lamp.property}`, title: translated(lamp.detail) };
    if (lamp.holds === null) return h("span", { ...properties, class: "chip", "data-state": "unclaimed" }, h("span", {}, "–"), translated(lamp.property));
    const at = lamp.at;
    if (lamp.holds || (at !== null && at >= position)) return h("span", { ...properties, class: "chip good", "data-state": "good" }, h("span", {}, "✓"), translated(lamp.property));
    const violated = say("{property} violated", { property: translated(lamp.property) });
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
