// What has happened to a lock as a run that Play shows: who asked, entered and left when, and each message. What
// the nodes knew is not told by a cluster.
import { shortFence } from "../lib/fence.js";

/** @typedef {import("../wire.js").RunHeader} RunHeader */
/** @typedef {import("../wire.js").RunRecord} RunRecord */
/** @typedef {{ lock: string, header: RunHeader, records: RunRecord[] }} LiveRun */

/** One unit of time is a millisecond, and a tick a microsecond. */
const TICKS = 1000;
/** More messages would not fit into an address. */
const MOST_MESSAGES = 1200;

/**
 * The last part of a history as a run.
 * @param {import("./history.js").History} history
 * @param {{ lock: string, algorithm: string, nodes: number }} of
 * @returns {LiveRun}
 */
export function recorded({ arrows, bars }, { lock, algorithm, nodes }) {
  // A message whose sending was not seen has no beginning.
  const whole = arrows.filter(({ sent }) => sent !== null).slice(-MOST_MESSAGES);
  const since = whole.length < MOST_MESSAGES ? -Infinity : whole[0].sent ?? 0;
  const entered = new Set(bars.flatMap(({ node, kind, from }) => (kind === "inside" ? [`${node} ${from}`] : [])));
  const kept = bars.filter(({ from }) => from >= since);
  const events = [...kept.flatMap((bar) => ofBar(bar, entered.has(`${bar.node} ${bar.to}`))), ...whole.flatMap(ofArrow)].sort((a, b) => a.t - b.t || Number(a.effect) - Number(b.effect));
  const first = events[0]?.t ?? 0;
  const header = { algorithm, kind: /** @type {const} */ ("mutex"), nodes, order: "fifo", ticks_per_unit: TICKS, command: null, sim: { algorithm, nodes }, recorded: true, phases: [], may_act: false, holds: false, acts: [], partitions: [],
    topology: { coordinator: null, tree: null, ring: null, quorums: null, request: null, inform: null, links: null } };
  return { lock, header, records: inSteps(events).map(({ t, record }) => ({ ...record, t: Math.round((t - first) * TICKS) })) };
}

/** @typedef {{ t: number, effect: boolean, record: Omit<RunRecord, "t"> }} Event what a node does about an input is an effect */

/**
 * @param {import("./history.js").Bar} bar
 * @param {boolean} entersThen whether the node is inside as soon as it waits no longer
 * @returns {Event[]}
 */
function ofBar({ node, kind, from, to, fence }, entersThen) {
  const leaves = /** @type {Event[]} */ (to === null || entersThen ? [] : [{ t: to, effect: false, record: { node, kind: "release", text: kind === "inside" ? "leaves" : "waits no longer" } }]);
  if (kind === "waiting") return [{ t: from, effect: false, record: { node, kind: "request", text: "requests" } }, ...leaves];
  const known = fence === null ? {} : { fence: Number(fence) };
  return [{ t: from, effect: true, record: { node, kind: "enter", text: `enters${fence === null ? "" : `, fence ${shortFence(fence)}`}`, ...known } }, ...leaves];
}

/** @param {import("./history.js").Arrow} arrow @param {number} message @returns {Event[]} */
function ofArrow({ from, to, label, sent, received }, message) {
  const send = /** @type {Event} */ ({ t: sent, effect: true, record: { node: from, kind: "send", text: `${label} → P${to}`, message, to, label } });
  return received === null ? [send] : [send, { t: Math.max(received, sent ?? received), effect: false, record: { node: to, kind: "deliver", text: `${label} ← P${from}`, message } }];
}

/**
 * What a node does follows the input that made it do so, at the same time, whatever others did meanwhile.
 * @param {Event[]} events in the order of time
 * @returns {Event[]}
 */
function inSteps(events) {
  /** @type {Event[][]} */
  const steps = [];
  /** @type {Map<number, Event[]>} */
  const last = new Map();
  for (const event of events) {
    const step = last.get(event.record.node);
    if (event.effect && step) step.push({ ...event, t: step[0].t });
    else {
      const begun = [event];
      steps.push(begun);
      last.set(event.record.node, begun);
    }
  }
  return steps.flat();
}
