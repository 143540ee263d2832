// One run to predict, question by question, and as a sheet of paper.
import { h, clear } from "../lib/dom.js";
import { href } from "../lib/address.js";
import { say, translated } from "../lib/language.js";
import { questions, soFar } from "./predict.js";
import { wholeRun } from "./run.js";
import { back, hintsOf, rulesOf } from "./parts.js";
import { told } from "../play/words.js";

/** @typedef {import("./predict.js").Question} Question */

/**
 * @param {import("./view.js").Stage} stage
 * @param {string} name
 */
export async function showPrediction({ place, items, infos, signal }, name) {
  const run = await wholeRun({ scenario: name }, signal);
  if (signal.aborted) return;
  const item = items.find((item) => item.name === name);
  const info = infos.find((info) => info.name === run.model.header.algorithm);
  const all = questions(run.model, item?.notes ?? []);
  const here = h("div", { "data-test": "prediction" });
  const score = h("p", { role: "status", "data-test": "exercise-score" });
  const title = say("Predict: {title}", { title: translated(item?.title ?? name) });
  const answers = h("input", { type: "checkbox", "data-test": "sheet-answers" });
  let at = 0;
  let right = 0;
  const next = () => {
    score.textContent = say("Question {at} of {all} · {right} right so far", { at: Math.min(at + 1, all.length), all: all.length, right });
    clear(here);
    if (at < all.length) return here.append(ask(all[at]));
    score.textContent = say("{right} of {all} right.", { right, all: all.length });
    here.append(h("p", {}, h("a", { href: href("play", { scenario: name }) }, say("Play the whole run"))));
  };
  const ask = (/** @type {Question} */ question) => {
    const said = h("div", { role: "status", "data-test": "exercise-verdict" });
    const choices = question.choices.map((choice) => h("button", { type: "button", class: "exercise-choice", "data-test": "exercise-choice", onclick: (/** @type {MouseEvent} */ event) => {
      const is = choice === question.answer;
      if (is) right++;
      at++;
      for (const button of choices) {
        button.disabled = true;
        button.classList.toggle("right", button.textContent === question.answer);
      }
      if (!is) /** @type {HTMLElement} */ (event.currentTarget).classList.add("wrong");
      const note = item?.notes.find((note) => note.at === question.after)?.text;
      said.append(h("p", {}, h("strong", {}, is ? say("Right.") : say("No.")), " ", told(run.model, question.after), note ? ` ${translated(note)}` : ""),
        h("button", { type: "button", class: "primary", "data-test": "exercise-next", onclick: next }, at < all.length ? say("Next question") : say("The end")));
    } }, choice));
    const known = async (/** @type {HTMLElement} */ list) => {
      const state = (await run.statesAt(question.before))[question.node - 1];
      for (const { field, value } of state.vars) {
        const symbol = info?.variables.find((variable) => variable.field === field)?.symbol ?? field;
        list.append(h("dt", {}, symbol), h("dd", { class: "mono" }, value));
      }
    };
    const variables = () => {
      const list = h("dl", { class: "exercise-vars" });
      known(list);
      return h("div", {}, say("What P{node} knows before:", { node: question.node }), list);
    };
    return h("div", { class: "exercise-question panel" }, soFar(run.model, question),
      h("h2", {}, `${question.asks} ${say("What does it do?")}`), h("div", { class: "exercise-choices" }, choices), said, hintsOf([variables, () => rulesOf(info)]));
  };
  place.append(back(), h("h2", {}, title), score, here,
    h("div", { class: "toolbar" }, h("button", { type: "button", "data-test": "sheet-print", onclick: () => print(paper(title, run.model, all, answers.checked)) }, say("Print a worksheet")),
      h("label", { class: "tick" }, answers, say("with the answers on a page of their own"))));
  next();
}

/**
 * The questions on paper.
 * @param {string} title
 * @param {import("../play/model.js").RunModel} model
 * @param {Question[]} all
 * @param {boolean} withAnswers
 */
function paper(title, model, all, withAnswers) {
  const letter = (/** @type {number} */ k) => String.fromCharCode(65 + k);
  return h("div", { class: "worksheet", "data-test": "worksheet" }, h("h1", {}, title), h("p", {}, `${say("Name:")} ______________________________`),
    h("ol", {}, all.map((question) => h("li", {}, soFar(model, question), h("p", {}, h("strong", {}, `${question.asks} ${say("What does it do?")}`)),
      h("ul", {}, question.choices.map((choice, k) => h("li", {}, `☐ ${letter(k)} ${choice}`))), h("p", {}, `${say("Because:")} ____________________________________________________________`)))),
    withAnswers && h("section", { class: "worksheet-answers" }, h("h2", {}, say("Answers")),
      h("ol", {}, all.map((question) => h("li", {}, `${letter(question.choices.indexOf(question.answer))}. ${told(model, question.after)}`)))));
}

/** Prints a sheet instead of the page. @param {HTMLElement} sheet */
function print(sheet) {
  document.querySelector(".worksheet")?.remove();
  document.body.append(sheet);
  window.print();
}
