// Controls with labels, and the catalogue behind their choices.
import { h } from "./dom.js";
import { getJson } from "./api.js";
import { say, translated } from "./language.js";

/**
 * A control under its label, with a hint for who hesitates.
 * @param {string} label
 * @param {HTMLElement} control
 * @param {string} [hint]
 * @returns {HTMLLabelElement}
 */
export function field(label, control, hint) {
  return h("label", { class: "field", title: hint }, h("span", {}, label), control);
}

/**
 * A choice.
 * @param {{ value: string, title: string, group?: string, lang?: string }[]} choices
 * @param {string} value
 * @param {(value: string) => void} changed
 * @param {Record<string, unknown>} [properties]
 * @returns {HTMLSelectElement}
 */
export function choice(choices, value, changed, properties = {}) {
  const select = h("select", { ...properties, onchange: () => changed(select.value) });
  /** @type {Map<string, HTMLElement>} */
  const groups = new Map();
  for (const { value, title, group, lang } of choices) {
    const option = h("option", { value, lang }, title);
    if (!group) {
      select.append(option);
      continue;
    }
    let place = groups.get(group);
    if (!place) {
      place = h("optgroup", { label: group });
      groups.set(group, place);
      select.append(place);
    }
    place.append(option);
  }
  select.value = value;
  return select;
}

/**
 * A line of text or a number; `changed` is called when the user has finished with it. A number out of its
 * bounds is refused by the browser, in its own words.
 * @param {string} value
 * @param {(value: string) => void} changed
 * @param {Record<string, unknown>} [properties]
 * @returns {HTMLInputElement}
 */
export function entry(value, changed, properties = {}) {
  const input = h("input", { type: "text", autocomplete: "off", spellcheck: "false", ...properties, onchange: () => { if (refused(input)) input.reportValidity(); else changed(input.value.trim()); } });
  input.value = value;
  return input;
}

/** Whether a number is none, out of its bounds, or a fraction where none is meant. @param {HTMLInputElement} input */
function refused({ validity, step }) {
  return validity.badInput || validity.rangeUnderflow || validity.rangeOverflow || (validity.stepMismatch && step === "");
}

/**
 * An algorithm in the language of the page; its name, its formulas and what the paper is called stay as they are.
 * @param {import("../wire.js").AlgorithmInfo} info
 * @returns {import("../wire.js").AlgorithmInfo}
 */
function inWords(info) {
  const { idea, rules, notes, variables, broken } = info;
  return {
    ...info, idea: translated(idea), rules: rules.map(translated), notes: notes.map(translated),
    variables: variables.map((variable) => ({ ...variable, meaning: translated(variable.meaning) })),
    broken: broken && { ...broken, flaw: translated(broken.flaw), breaks: translated(broken.breaks) },
  };
}

/** @type {Promise<import("../wire.js").AlgorithmInfo[]> | undefined} */
let asked;

/**
 * All algorithms of the catalogue; asked for once.
 * @returns {Promise<import("../wire.js").AlgorithmInfo[]>}
 */
export function algorithms() {
  asked ??= getJson("/lab/algorithms").then((/** @type {import("../wire.js").AlgorithmInfo[]} */ infos) => infos.map(inWords));
  return asked;
}

/**
 * The choices of a select of algorithms, the broken variants in groups of their own.
 * @param {import("../wire.js").AlgorithmInfo[]} infos
 * @param {{ kind?: "mutex" | "election", broken?: boolean }} [which]
 * @returns {{ value: string, title: string, group: string, lang: string }[]}
 */
export function algorithmChoices(infos, { kind, broken = true } = {}) {
  const names = { mutex: say("Mutual exclusion"), election: say("Elections") };
  const wrong = { mutex: say("Broken on purpose (mutual exclusion)"), election: say("Broken on purpose (elections)") };
  return infos
    .filter((info) => (!kind || info.kind === kind) && (broken || !info.broken))
    .sort((a, b) => Number(a.broken !== null) - Number(b.broken !== null))
    .map((info) => ({
      value: info.name,
      title: info.broken ? info.name : info.title,
      lang: "en",
      group: info.broken ? wrong[info.kind] : names[info.kind],
    }));
}
