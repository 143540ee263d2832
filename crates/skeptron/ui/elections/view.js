// Elections: one election set up by hand and seen, and all of them compared.
import { h, clear, complaint } from "../lib/dom.js";
import { note } from "../lib/address.js";
import { algorithms } from "../lib/form.js";
import { sheet } from "../lib/sheet.js";
import { say } from "../lib/language.js";
import { comparisonOf, electionComparison, paramsOfComparison } from "./comparison.js";
import { controls } from "./controls.js";
import { preview } from "./preview.js";
import { paramsOf, questionOf } from "./question.js";

/**
 * Shows the view. It runs at once what the address asks, or the textbook's election on a first visit.
 * @param {HTMLElement} root
 * @param {import("../lib/address.js").Address} address
 * @returns {() => void}
 */
export function show(root, address) {
  sheet("/ui/compare/view.css");
  sheet("/ui/elections/view.css");
  const one = h("div", { class: "election-columns" });
  const page = h("div", { class: "page compare elections" },
    h("header", {}, h("h1", {}, say("Elections")),
      h("p", {}, say("One node is chosen to lead, and everybody alive agrees. Crash nodes, let others call, and see who wins."))), one);
  root.append(page);
  let end = () => {};
  let ended = false;
  algorithms().then((all) => {
    if (!ended) end = fill(page, one, all.filter((info) => info.kind === "election"), address.params);
  }).catch((error) => {
    clear(one);
    one.append(complaint(error));
  });
  return () => {
    ended = true;
    end();
  };
}

/**
 * @param {HTMLElement} page
 * @param {HTMLElement} one
 * @param {import("../wire.js").AlgorithmInfo[]} infos
 * @param {URLSearchParams} params
 */
function fill(page, one, infos, params) {
  let question = questionOf(params);
  if (!infos.some((info) => info.name === question.algorithm)) question = { ...question, algorithm: infos[0].name };
  const comparison = comparisonOf(params);
  const noteNow = () => note("elections", { ...paramsOf(question), ...paramsOfComparison(comparison) });
  const infoOf = () => infos.find((info) => info.name === question.algorithm) ?? infos[0];

  const seen = preview({ known: (header, leader) => setUp.know(header.topology, leader) });
  const idea = h("p", { class: "small muted election-idea" });
  const setUp = controls(infos, (next) => {
    question = next;
    noteNow();
    refresh();
  });
  const refresh = () => {
    setUp.show(question);
    const { idea: text, broken } = infoOf();
    idea.textContent = broken ? say("Broken on purpose: {flaw}.", { flaw: broken.flaw }) : text;
    seen.run(question, infoOf());
  };
  one.append(h("section", { class: "panel", "aria-label": say("Set up") }, setUp.element),
    h("section", { class: "panel", "aria-label": say("What happens") }, idea, seen.element));
  const compared = electionComparison(comparison, infos.filter((info) => !info.broken), noteNow);
  page.append(compared.element);
  refresh();
  compared.compare();
  return () => {
    seen.end();
    compared.end();
  };
}
