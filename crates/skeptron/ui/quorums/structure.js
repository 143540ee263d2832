// Information structures: judged, or searched for given rates.
import { h, clear } from "../lib/dom.js";
import { note } from "../lib/address.js";
import { choice, entry, field } from "../lib/form.js";
import { fileButton, dropZone } from "../lib/files.js";
import { job } from "../lib/job.js";
import { say } from "../lib/language.js";
import { structureReport } from "./structure-report.js";

/** @typedef {import("../wire.js").StructureRequest | import("../wire.js").OptimiseRequest} StructureRequest */
/** @typedef {{ what: string, nodes: string, quorum: string, rates: string, text: string, busiest: string, delay: string, of: string }} Question */

/** @type {{ value: string, title: string, group: string, says: string }[]} */
const STRUCTURES = [
  { value: "sanders-4", title: say("Sanders’ four nodes"), group: say("Published"), says: say("Her own example: neither Maekawa’s nor Ricart and Agrawala’s, but a mixture. P1 and P2 ask each other, P3 and P4 go through both.") },
  { value: "lamport", title: "Lamport", group: say("Published"), says: say("Everybody asks everybody, and tells everybody when it leaves.") },
  { value: "ricart-agrawala", title: "Ricart–Agrawala", group: say("Published"), says: say("Everybody asks everybody, and tells nobody else when it leaves: who was deferred is granted then.") },
  { value: "maekawa", title: say("Maekawa, from quorums"), group: say("Published"), says: say("Everybody asks and tells its quorum.") },
  { value: "star", title: say("star"), group: say("Published"), says: say("Everybody asks and tells one centre, which is a coordinator.") },
  { value: "optimise", title: say("the best for given rates (search)"), group: say("Your own"), says: say("The structure with the fewest expected messages at low load, if some nodes ask more often than others; with demands on the busiest node and on the delay.") },
  { value: "file", title: say("your own (paste)"), group: say("Your own"), says: say("JSON with a list of nodes for each node, counted from 1; whatever is wrong with it is named.") },
];
const EXAMPLE = "{\"request\": [[1,2],[1,2],[3]],\n \"inform\": [[1],[2],[3]]}";
/** @type {Question} */
const FIRST = { what: "sanders-4", nodes: "", quorum: "", rates: "", text: "", busiest: "", delay: "", of: "3" };
const NAMES = /** @type {(keyof Question)[]} */ (Object.keys(FIRST));

/**
 * @param {HTMLElement} page
 * @param {URLSearchParams} params
 * @returns {() => void} what ends it
 */
export function showStructure(page, params) {
  let question = fromParams(params);
  const work = job({ name: say("Analysis") });
  const found = h("div", { class: "structure-found" });
  const fields = h("span", { class: "fields parameters" });
  const says = h("p", { class: "small muted construction-says" });

  const run = async () => {
    const asked = question;
    const path = asked.what === "optimise" ? "/lab/optimise" : "/lab/structure";
    const outcome = await work.run(path, { body: toRequest(asked), result: (result) => {
      found.replaceChildren(...structureReport(result, layoutOf(asked), Number(asked.of) || 1, (node) => {
        question = { ...question, of: String(node) };
        note("quorums", toParams(question));
      }));
    } });
    found.classList.toggle("stale", outcome === "failed");
  };
  const set = (/** @type {Partial<Question>} */ part) => {
    question = { ...question, ...part };
    note("quorums", toParams(question));
    run();
  };
  const build = () => {
    clear(fields);
    fields.append(...parameters(question, set));
    says.textContent = STRUCTURES.find(({ value }) => value === kindOf(question))?.says ?? "";
  };
  const what = choice(STRUCTURES, kindOf(question), (what) => {
    const rates = what === "optimise" ? question.rates || "4,3,2,1" : "";
    set({ what, nodes: "", quorum: "", rates, text: what === "file" ? question.text || EXAMPLE : question.text, of: "1" });
    build();
  }, { "data-test": "structure" });
  build();
  const form = h("form", { class: "panel", "data-test": "structure-form", onsubmit: (/** @type {Event} */ event) => event.preventDefault() },
    h("div", { class: "fields" }, field(say("Structure"), what), fields), says);
  page.append(h("div", { class: "asking" }, form, h("div", { class: "work" }, work.element)), found);
  run();
  return work.cancel;
}

/**
 * The kind to which it belongs: `star:P2` is a star.
 * @param {Question} question
 */
function kindOf({ what }) {
  return what.split(":", 1)[0];
}

/**
 * @param {Question} question
 * @param {(part: Partial<Question>) => void} set
 */
function parameters(question, set) {
  const text = (/** @type {keyof Question} */ name, /** @type {string} */ placeholder, /** @type {Record<string, unknown>} */ more = {}) =>
    entry(question[name], (value) => set({ [name]: value }), { placeholder, size: 12, "data-test": name, ...more });
  const number = { type: "number", class: "count" };
  const rates = field(say("How often each asks"), text("rates", say("all equally")), say("As in 5,1,1,1; only the ratios matter."));
  const nodes = field(say("Nodes"), text("nodes", "5", { ...number, min: 1, max: 200 }));
  switch (kindOf(question)) {
    case "sanders-4": return [rates];
    case "maekawa": return [nodes, field(say("Quorums"), text("quorum", "cyclic"), say("A construction, as in grid or wall:1,2,3.")), rates];
    case "star": return [field(say("Centre"), centre(question, set), say("As in P2.")), nodes, rates];
    case "optimise": return [
      rates,
      field(say("Busiest node at most"), text("busiest", "anything", { ...number, min: 0, max: 1, step: 0.05 }), say("No node may be asked by others for more than this share of all entries.")),
      field(say("Delay at most"), text("delay", "2", { ...number, min: 1, max: 2, step: 0.1 }), say("Mean synchronisation delay in latencies, between 1 and 2.")),
    ];
    case "file": return [pasted(question, set), rates];
    default: return [nodes, rates];
  }
}

/**
 * @param {Question} question
 * @param {(part: Partial<Question>) => void} set
 */
function centre(question, set) {
  return entry(question.what.split(":")[1] ?? "", (node) => set({ what: node ? `star:${node}` : "star" }), { placeholder: "P1", size: 5 });
}

/**
 * @param {Question} question
 * @param {(part: Partial<Question>) => void} set
 */
function pasted(question, set) {
  const area = h("textarea", { rows: 4, cols: 46, spellcheck: "false", class: "mono", "data-test": "text", onchange: () => set({ text: area.value }) });
  area.value = question.text;
  const take = async (/** @type {File} */ file) => {
    area.value = await file.text();
    set({ text: area.value });
  };
  dropZone(area, take);
  return h("span", { class: "pasted" }, field(say("Request and inform sets"), area, say("A file may be dropped here.")), fileButton(say("Choose a file …"), ".json", take));
}

/**
 * @param {URLSearchParams} params
 * @returns {Question}
 */
function fromParams(params) {
  const question = { ...FIRST };
  if (!params.has("what")) return question;
  for (const name of NAMES) question[name] = params.get(name) ?? "";
  return question;
}

/** @param {Question} question */
function toParams(question) {
  const given = NAMES.filter((name) => question[name] !== "" && (name !== "text" || question.what === "file"));
  return new URLSearchParams([["show", "structures"], ...given.map((name) => [name, question[name]])]);
}

/**
 * @param {Question} question
 * @returns {StructureRequest}
 */
function toRequest(question) {
  const rates = question.rates || undefined;
  if (question.what === "optimise") {
    return { rates, busiest: numbered(question.busiest), delay: numbered(question.delay) };
  }
  if (question.what === "file") return { text: question.text, rates };
  return { what: question.what, nodes: numbered(question.nodes), quorum: question.quorum || undefined, rates };
}

/**
 * By which options a run has this structure; what was pasted or found has no name.
 * @param {Question} question
 * @returns {Record<string, string> | null}
 */
function layoutOf({ what, quorum }) {
  if (what === "optimise" || what === "file") return null;
  return quorum ? { structure: what, quorum } : { structure: what };
}

/** @param {string} text */
function numbered(text) {
  return text === "" ? undefined : Number(text);
}
