// Taking locks from the page: one node, or all of them at once.
import { h, toast } from "../lib/dom.js";
import { choice, entry, field } from "../lib/form.js";
import { postJson } from "../lib/api.js";
import { wholeFence } from "../lib/fence.js";
import { numeral, say } from "../lib/language.js";

/** How long a node holds the lock. */
const HOLDS = [
  { value: "", title: say("until released") },
  { value: "300", title: `${numeral(0.3, 1)} s` },
  { value: "1000", title: "1 s" },
  { value: "5000", title: "5 s" },
];
/** How long each holds it when all ask: long enough to be seen, short enough to be watched. */
const TURN = 700;

/**
 * @param {string} lock
 * @param {(lock: string) => void} changed called when the user names another lock
 * @returns {{ element: HTMLElement, update: (view: import("../wire.js").ClusterView) => void, choose: (node: number) => void, name: (lock: string) => void }}
 */
export function tryIt(lock, changed) {
  /** @type {import("../wire.js").ClusterTry[]} */
  let tries = [];
  /** @type {number[]} */
  let nodes = [];
  const name = entry(lock, (value) => value && changed(value), { maxlength: 255, "data-test": "cluster-lock" });
  const node = choice([], "", () => allow(), { "data-test": "cluster-node" });
  const hold = choice(HOLDS, "", () => {}, { "data-test": "cluster-hold" });
  const acquire = h("button", { type: "button", class: "primary", "data-test": "cluster-acquire", onclick: () => ask(Number(node.value), hold.value) }, say("Acquire"));
  const release = h("button", { type: "button", "data-test": "cluster-release", onclick: () => giveBack(Number(node.value)) }, say("Release"));
  const all = h("button", { type: "button", "data-test": "cluster-all", title: say("Each node asks once, and holds the lock for {seconds} s", { seconds: numeral(TURN / 1000, 1) }), onclick: askAll }, say("All nodes ask"));
  const said = h("p", { class: "small muted", role: "status", "data-test": "cluster-said" });
  const hands = [field(say("Node"), node), field(say("Holds it"), hold, say("60 s at most: then the lock is released by itself")), acquire, release, all];
  const element = h("section", { class: "panel try-panel", "aria-label": say("Try it") }, h("h2", {}, say("Try it")),
    h("div", { class: "fields" }, field(say("Lock"), name, say("Which lock the diagram shows; any name")), ...hands), said);

  /** @param {number} node */
  const tried = (node) => tries.find((one) => one.node === node && one.lock === name.value.trim());

  function allow() {
    const own = tried(Number(node.value));
    acquire.disabled = own !== undefined;
    release.disabled = own === undefined;
    release.textContent = own && own.fence === null ? say("Stop waiting") : say("Release");
    said.textContent = !own ? "" : own.fence === null ? say("P{node} waits for “{lock}”.", { node: own.node, lock: own.lock }) : say("P{node} holds “{lock}” with fence {fence}.", { node: own.node, lock: own.lock, fence: wholeFence(own.fence) });
  }

  /**
   * @param {number} node
   * @param {string | number} hold
   */
  async function ask(node, hold) {
    const lock = name.value.trim();
    try {
      const own = await postJson("/lab/cluster/acquire", { node, lock, ...(hold === "" ? {} : { hold: Number(hold) }) });
      // The stream may have told already that it was granted, which is newer than the answer.
      if (!tries.some((one) => one.node === node && one.lock === lock)) tries = [...tries, own];
      allow();
    } catch (error) {
      toast(error instanceof Error ? error.message : String(error));
    }
  }

  /** @param {number} node */
  async function giveBack(node) {
    const lock = name.value.trim();
    try {
      await postJson("/lab/cluster/release", { node, lock });
      tries = tries.filter((one) => one.node !== node || one.lock !== lock);
      allow();
    } catch (error) {
      toast(error instanceof Error ? error.message : String(error));
    }
  }

  async function askAll() {
    all.disabled = true;
    await Promise.all(nodes.filter((node) => !tried(node)).map((node) => ask(node, TURN)));
    all.disabled = false;
  }

  return {
    element,
    update(view) {
      tries = view.locks.tries;
      for (const hand of hands) hand.hidden = !view.may_try;
      const here = view.status.nodes.filter(({ own }) => own).map(({ node }) => node);
      if (here.join() !== nodes.join()) {
        nodes = here;
        const kept = node.value;
        node.replaceChildren(...nodes.map((number) => h("option", { value: number }, `P${number}`)));
        node.value = nodes.includes(Number(kept)) ? kept : String(nodes[0] ?? "");
      }
      allow();
      if (!view.may_try) said.textContent = say("This node serves others, so the page only watches. Take locks with skeptron lock.");
    },
    choose(number) {
      if (!nodes.includes(number)) return;
      node.value = String(number);
      allow();
    },
    name(lock) {
      name.value = lock;
      allow();
    },
  };
}
