// The question about a quorum system: in an address, and as the server takes it.
import { construction } from "./constructions.js";
import { listed } from "./numbers.js";

/** @typedef {import("../wire.js").QuorumRequest} QuorumRequest */
/**
 * What is asked, as it is typed.
 * @typedef {{ kind: string, nodes: string, rows: string, weights: string, height: string, order: string, text: string,
 *   p: string, capacities: string, latencies: string, picture: string, of: string, curve: string }} Question
 */

/** @type {Question} */
const NOTHING = {
  kind: "projective", nodes: "13", rows: "", weights: "", height: "", order: "", text: "",
  p: "", capacities: "", latencies: "", picture: "", of: "", curve: "",
};
const NAMES = /** @type {(keyof Question)[]} */ (Object.keys(NOTHING));

/**
 * @param {URLSearchParams} params
 * @returns {Question}
 */
export function fromParams(params) {
  const question = { ...NOTHING };
  if (!params.has("kind")) return question;
  question.nodes = "";
  for (const name of NAMES) question[name] = params.get(name) ?? question[name];
  const [kind, parameter] = question.kind.split(":", 2);
  question.kind = kind;
  // A construction may come as it is typed elsewhere, as in `wall:1,2,3`.
  const takes = { wall: "rows", weighted: "weights", tree: "height", hierarchical: "height", projective: "order" }[kind];
  if (parameter && takes) question[/** @type {keyof Question} */ (takes)] = parameter;
  return question;
}

/**
 * @param {Question} question
 * @returns {URLSearchParams}
 */
export function toParams(question) {
  const asked = new Set(["kind", "p", "capacities", "latencies", "picture", "of", "curve", ...construction(question.kind).takes]);
  const given = NAMES.filter((name) => asked.has(name) && question[name] !== "");
  return new URLSearchParams(given.map((name) => [name, question[name]]));
}

/**
 * What the server is asked. Parameters that say how many nodes there are take the place of their number.
 * @param {Question} question
 * @returns {QuorumRequest}
 */
export function toRequest(question) {
  const takes = construction(question.kind).takes;
  const has = (/** @type {import("./constructions.js").Parameter} */ name) => takes.includes(name) && question[name] !== "";
  const saysNodes = has("rows") || has("weights") || has("height") || has("order");
  /** @type {QuorumRequest} */
  const request = takes.includes("text") ? { text: question.text } : { kind: question.kind };
  if (has("nodes") && !saysNodes) request.nodes = Number(question.nodes);
  if (has("rows")) request.rows = listed(question.rows);
  if (has("weights")) request.weights = listed(question.weights);
  if (has("height")) request.height = Number(question.height);
  if (has("order")) request.order = Number(question.order);
  if (question.p !== "") request.p = Number(question.p);
  if (question.capacities !== "") request.capacities = listed(question.capacities);
  if (question.latencies !== "") request.latencies = listed(question.latencies);
  if (question.picture !== "") request.picture = question.picture;
  if (question.of !== "") request.of = `P${question.of}`;
  return request;
}
