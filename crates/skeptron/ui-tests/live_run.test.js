// What is heard of a lock of a live cluster as a run that grows: by the module alone, without a browser.
import assert from "node:assert/strict";
import { test } from "node:test";
import { LiveRun, recorded } from "../ui/cluster/live-run.js";

const near = () => false;
const none = { name: "door", algorithm: "naimi-trehel", holder: null, waiting: [] };

/** @param {number} at @param {number} number @param {number} from @param {number} to @param {boolean} received */
const message = (at, number, from, to, received) => ({ at, number, from, to, label: "REQUEST", payload: "41", received });

/** @param {LiveRun} run */
const told = ({ model }) => model.records.map(({ node, kind }) => `${model.name(node - 1)} ${kind}`);

test("events of different nodes are drawn in the order in which they happened, not in that of coming", () => {
  const run = new LiveRun([1, 2], "naimi-trehel", "time");
  run.message(message(3, 1, 1, 2, true), near);
  run.lock({ at: 1, node: 1, what: "requested", fence: null });
  run.message(message(2, 1, 1, 2, false), near);
  assert.equal(run.model.length, 0, "not before the present is there");
  run.advance(10);
  assert.deepEqual(told(run), ["P1 request", "P1 send", "P2 deliver"]);
  assert.equal(run.model.messages.name(0), "REQUEST 41", "named as in Play");
  assert.equal(run.model.records[1].text, "REQUEST 41 → P2");
  assert.deepEqual(run.model.records.map(({ t }) => t), [1000, 2000, 3000]);
});

test("a message that seems to arrive before it is sent has both ends", () => {
  const run = new LiveRun([1, 2], "naimi-trehel", "time");
  run.message(message(2, 1, 1, 2, true), near);
  run.message(message(2.5, 1, 1, 2, false), near);
  run.advance(10);
  assert.deepEqual(told(run), ["P1 send", "P2 deliver"]);
  assert.equal(run.model.unseen(0), null);
});

test("an end that nobody sees is a stub, and is not recorded", () => {
  const run = new LiveRun([1, 7], "naimi-trehel", "time");
  run.message(message(1, 1, 1, 7, false), (member) => member === 7);
  run.message(message(2, 9, 7, 1, true), near);
  run.lock({ at: 3, node: 1, what: "granted", fence: "9008298766368775" });
  run.advance(10);
  assert.deepEqual([run.model.unseen(0), run.model.unseen(1)], ["end", "sent"]);
  const { header, records } = recorded(run, "door");
  assert.equal(header.nodes, 7, "members keep their numbers");
  assert.deepEqual(records.map(({ kind, to }) => [kind, to]), [["send", 7], ["enter", undefined]]);
  assert.match(records[1].text, /8193·7/);
});

test("event by event each moment has the same room, and the time after the last one grows only a little", () => {
  const run = new LiveRun([1, 2], "naimi-trehel", "events");
  for (const [k, at] of [1, 5, 900].entries()) run.message(message(at, k, 1, 2, false), near);
  run.advance(1000);
  assert.deepEqual(run.model.records.map(({ t }) => t), [0, 1000, 2000]);
  assert.equal(run.place(1_000_000), 5000);
  assert.equal(run.momentAt(1000), 5);
  run.space("time");
  assert.deepEqual(run.model.records.map(({ t }) => t), [1000, 5000, 900_000]);
});

test("nothing that lasted is sure to last where events are missing, and the list of locks fills the gap", () => {
  const run = new LiveRun([1, 2], "naimi-trehel", "time");
  run.lock({ at: 1, node: 1, what: "granted", fence: "5" });
  run.message(message(2, 1, 1, 2, false), near);
  run.lagged({ at: 4, missed: 3 });
  run.advance(4);
  assert.equal(run.model.phase(0, run.model.length), "idle");
  assert.equal(run.model.unseen(0), "end");
  run.listed(5, { ...none, holder: { node: 2, fence: "6", held: 1, owner: "" }, waiting: [{ node: 1, waiters: 2 }] }, near);
  run.advance(6);
  assert.deepEqual([run.model.phase(0, run.model.length), run.model.phase(1, run.model.length)], ["waiting", "inside"]);
  run.listed(7, none, near);
  run.advance(8);
  assert.deepEqual([run.model.phase(0, run.model.length), run.model.phase(1, run.model.length)], ["idle", "idle"]);
});

test("several who wait at a node wait until the last of them is served", () => {
  const run = new LiveRun([1], "central", "time");
  for (const at of [1, 2]) run.lock({ at, node: 1, what: "requested", fence: null });
  run.lock({ at: 3, node: 1, what: "granted", fence: "1" });
  run.lock({ at: 4, node: 1, what: "released", fence: "1" });
  run.advance(4);
  assert.equal(run.model.phase(0, run.model.length), "waiting");
  run.lock({ at: 5, node: 1, what: "withdrawn", fence: null });
  run.advance(5);
  assert.equal(run.model.phase(0, run.model.length), "idle");
});
