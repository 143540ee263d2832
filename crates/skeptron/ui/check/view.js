// The view `check`: everything that a small system can do, and which assumption each algorithm needs.
import { bringIntoSight, clear, complaint, h } from "../lib/dom.js";
import { note, href } from "../lib/address.js";
import { algorithms } from "../lib/form.js";
import { job } from "../lib/job.js";
import { sheet } from "../lib/sheet.js";
import { say, translated } from "../lib/language.js";
import { fromParams, toParams } from "./question.js";
import { questionForm } from "./form.js";
import { livePlot, short } from "./live.js";
import { verdicts } from "./verdicts.js";
import { assumptions } from "./assumptions.js";

/** @typedef {import("../wire.js").CheckRequest} CheckRequest */
/** @typedef {import("../wire.js").CheckResult} CheckResult */

/** Questions worth asking first. */
const EXAMPLES = [
  { title: say("Lamport when messages overtake"), query: "algorithm=lamport&nodes=3&order=any&keep_going=1" },
  { title: say("Ricart–Agrawala, all three ask"), query: "algorithm=ricart-agrawala&nodes=3&order=any" },
  { title: say("Maekawa’s published rules on the Fano plane"), query: "algorithm=maekawa-1985&nodes=7&quorum=fano&requests=2,0,0,0,1,1,1" },
  { title: say("Suzuki–Kasami: the token’s holder crashes"), query: "algorithm=suzuki-kasami&nodes=3&crashes=1&crash_when=holding&victims=P1" },
  { title: say("Bully when an alarm rings too early"), query: "algorithm=bully&nodes=3&premature=1&keep_going=1" },
];

/** Answers of this session, so that who comes back from Play finds them. @type {Map<string, CheckResult>} */
const answers = new Map();
const MOST_ANSWERS = 12;

/**
 * @param {HTMLElement} root
 * @param {import("../lib/address.js").Address} address
 * @returns {() => void}
 */
export function show(root, address) {
  sheet("/ui/check/view.css");
  const page = h("div", { class: "page check" },
    h("header", {}, h("h1", {}, say("Check")),
      h("p", {}, say("A simulation shows one run. The checker explores every run of a small system: every order in which requests, messages and faults can come. What holds then is proved for that system; what does not is shown by a shortest run.")),
      h("div", { class: "toolbar small examples", role: "group", "aria-label": say("Examples") }, say("Try:"), " ",
        EXAMPLES.map(({ title, query }) => h("a", { class: "chip", href: href("check", new URLSearchParams(`${query}&run=1`)) }, title)))));
  root.append(page);
  let isOver = false;
  let end = () => { isOver = true; };
  algorithms().then((infos) => {
    if (!isOver) end = fill(page, infos, address.params);
  }).catch((error) => page.append(complaint(error)));
  return () => end();
}

/**
 * @param {HTMLElement} page
 * @param {import("../wire.js").AlgorithmInfo[]} infos
 * @param {URLSearchParams} params
 * @returns {() => void} what ends it
 */
function fill(page, infos, params) {
  const first = fromParams(params);
  const table = params.get("table");
  const kind = table === "mutex" || table === "election" ? table : infos.find((info) => info.name === first.algorithm)?.kind ?? "mutex";
  const noted = noting(params);
  const questions = asking(infos, first, noted.question);
  const assumed = assumptions(kind, noted.table);
  page.append(questions.element, assumed.element);
  if (table) {
    assumed.fill();
    assumed.element.scrollIntoView();
  }
  if (params.has("run") || (!params.has("algorithm") && !table)) questions.run(first);
  return () => {
    questions.end();
    assumed.end();
  };
}

/**
 * The parts of the address: the question, and which table was filled in.
 * @param {URLSearchParams} params
 */
function noting(params) {
  let question = new URLSearchParams(params);
  let table = params.get("table");
  const write = () => {
    const whole = new URLSearchParams(question);
    if (table) whole.set("table", table);
    note("check", whole);
  };
  return {
    question(/** @type {URLSearchParams} */ next) {
      question = next;
      write();
    },
    table(/** @type {string} */ kind) {
      table = kind;
      write();
    },
  };
}

/**
 * The form beside its answer.
 * @param {import("../wire.js").AlgorithmInfo[]} infos
 * @param {CheckRequest} first
 * @param {(params: URLSearchParams) => void} noteQuestion puts it into the address
 */
function asking(infos, first, noteQuestion) {
  const place = h("div", { class: "answer-body" }, h("p", { class: "muted" }, say("Nothing was asked yet: choose a system and press Check.")));
  const live = livePlot();
  const work = job({ name: say("Search"), changed: (running) => { if (!running) live.end(); } });
  const form = questionForm(infos, first, {
    changed: (request) => noteQuestion(toParams(request)),
    run: (request) => {
      run(request, true);
      bringIntoSight(answer);
    },
  });

  /**
   * @param {CheckRequest} request
   * @param {CheckResult} result
   */
  const tell = (request, result) => {
    const info = infos.find((info) => info.name === request.algorithm);
    if (info) place.replaceChildren(...verdicts(request, result, info));
  };
  /**
   * @param {CheckRequest} request
   * @param {boolean} [again] even if the answer is known
   */
  const run = async (request, again = false) => {
    const params = toParams(request);
    const question = params.toString();
    noteQuestion(new URLSearchParams([...params, ["run", "1"]]));
    const known = answers.get(question);
    if (known && !again) return tell(request, known);
    clear(place);
    live.begin();
    await work.run("/lab/check", { body: request, stage: (progress) => {
      if (progress.label) return { share: null, text: translated(progress.label) };
      live.add(progress);
      return { share: null, text: say("{states} states, depth {depth}", { states: short(progress.states), depth: progress.depth }) };
    }, result: (result) => {
      remember(question, result);
      tell(request, result);
    } });
  };
  const answer = h("section", { class: "panel answer", "aria-labelledby": "answer-title", "data-test": "answer" },
    h("h2", { id: "answer-title" }, say("Answer")), work.element, live.element, place);
  return { element: h("div", { class: "question-answer" }, form, answer), run, end: work.cancel };
}

/**
 * @param {string} question
 * @param {CheckResult} result
 */
function remember(question, result) {
  answers.delete(question);
  answers.set(question, result);
  const oldest = answers.keys().next().value;
  if (answers.size > MOST_ANSWERS && oldest !== undefined) answers.delete(oldest);
}
