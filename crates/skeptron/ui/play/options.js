// What a run is made of, as parameters of an address.

/** @typedef {import("../wire.js").SimOptions} SimOptions */

const TEXTS = /** @type {const} */ ([
  "algorithm", "coordinator", "quorum", "structure", "tree", "arbitration", "capacity", "readers", "read_quorums", "begin", "ring", "graph", "clusters", "clocks",
  "requesters", "workload", "think", "section", "latency", "order", "initiators", "detector", "bound", "until",
]);
const NUMBERS = /** @type {const} */ (["nodes", "entries", "loss", "duplicate", "seed"]);
const LISTS = /** @type {const} */ (["crash", "pause", "partition"]);

/**
 * The options of a simulation as parameters: each under its own name, a list by repeating it. What is
 * left out, or empty, is left to the server.
 * @param {SimOptions} sim
 * @returns {URLSearchParams}
 */
export function toParams(sim) {
  const params = new URLSearchParams();
  for (const name of [...TEXTS, ...NUMBERS]) {
    const value = sim[name];
    if (value !== undefined && value !== null && value !== "") params.set(name, String(value));
  }
  for (const name of LISTS) {
    for (const value of sim[name] ?? []) params.append(name, value);
  }
  return params;
}

/**
 * What `toParams` made parameters of. What is not an option is passed over, and a number that is none is
 * left out.
 * @param {URLSearchParams} params
 * @returns {SimOptions}
 */
export function fromParams(params) {
  /** @type {SimOptions} */
  const sim = { algorithm: params.get("algorithm") ?? "ricart-agrawala" };
  for (const name of TEXTS) {
    const value = params.get(name);
    if (value) sim[name] = value;
  }
  for (const name of NUMBERS) {
    const value = params.get(name);
    if (value && Number.isFinite(Number(value))) sim[name] = Number(value);
  }
  for (const name of LISTS) {
    const values = params.getAll(name).filter(Boolean);
    if (values.length > 0) sim[name] = values;
  }
  return sim;
}
