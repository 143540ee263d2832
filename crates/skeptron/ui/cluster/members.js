// Who belongs to the cluster, who leads its voters, and what is done to a member.
import { h, toast } from "../lib/dom.js";
import { postJson } from "../lib/api.js";
import { numeral, say } from "../lib/language.js";

/** @typedef {import("../wire.js").ClusterNode} ClusterNode */
/** @typedef {{ element: HTMLElement, cells: HTMLElement[], kill: HTMLButtonElement, pause: HTMLButtonElement, cut: HTMLButtonElement }} Row */

/** The titles of the columns; those of numbers stand to the right. */
const COLUMNS = [{ title: say("Node") }, { title: say("State") }, { title: say("Role") }, { title: say("Epoch"), number: true }, { title: say("Lease"), number: true }, { title: say("Holds"), number: true }, { title: say("Waiting##how many"), number: true }];
/** What a state is called, and how it looks. */
const STATES = {
  member: { title: say("member"), look: "good" },
  entering: { title: say("entering"), look: "" },
  killed: { title: say("killed"), look: "bad" },
  paused: { title: say("paused"), look: "bad" },
  cut: { title: say("cut off"), look: "bad" },
  halted: { title: say("halted"), look: "bad" },
};

/**
 * @param {(view: import("../wire.js").ClusterView) => void} acted called with what an act made of the cluster
 * @returns {{ element: HTMLElement, update: (view: import("../wire.js").ClusterView) => void }}
 */
export function members(acted) {
  const head = COLUMNS.map(({ title, number }) => h("th", { scope: "col", class: number && "number" }, title));
  const hands = h("th", { scope: "col", "aria-label": say("Try") });
  const body = h("tbody", { "data-test": "cluster-members" });
  const caption = h("p", { class: "small muted", "data-test": "cluster-view" });
  const table = h("table", { class: "data" }, h("thead", {}, h("tr", {}, ...head, hands)), body);
  const element = h("section", { class: "panel members-panel", "aria-label": say("Members") }, h("h2", {}, say("Members")), h("div", { class: "scroll" }, table), caption);
  /** Rows stay where they are, so that they can be clicked. @type {Map<number, Row>} */
  let rows = new Map();

  /**
   * @param {number} node
   * @param {string} act
   */
  async function perform(node, act) {
    const row = rows.get(node);
    for (const button of row ? [row.kill, row.pause, row.cut] : []) button.disabled = true;
    try {
      acted(await postJson("/lab/cluster/act", { node, act }));
    } catch (error) {
      toast(error instanceof Error ? error.message : String(error));
      for (const button of row ? [row.kill, row.pause, row.cut] : []) button.disabled = false;
    }
  }

  /** @param {number} node @returns {Row} */
  function row(node) {
    /** @param {string} name */
    const button = (name) => h("button", { type: "button", "data-test": `cluster-${name}-${node}`, onclick: (/** @type {Event} */ event) => perform(node, /** @type {HTMLElement} */ (event.currentTarget).dataset.act ?? "") });
    const [kill, pause, cut] = [button("kill"), button("pause"), button("cut")];
    const cells = COLUMNS.map(({ number }) => h("td", { class: number && "number" }));
    return { element: h("tr", { "data-node": node }, ...cells, h("td", { class: "hands" }, kill, pause, cut)), cells, kill, pause, cut };
  }

  return {
    element,
    update(view) {
      const { status } = view;
      const before = [...rows.keys()].join();
      rows = new Map(status.nodes.map(({ node }) => [node, rows.get(node) ?? row(node)]));
      for (const node of status.nodes) fill(/** @type {Row} */ (rows.get(node.node)), node, view);
      if ([...rows.keys()].join() !== before) body.replaceChildren(...[...rows.values()].map(({ element }) => element));
      hands.hidden = !view.may_act;
      caption.textContent = inWords(status);
    },
  };
}

/**
 * @param {Row} row
 * @param {ClusterNode} node
 * @param {import("../wire.js").ClusterView} view
 */
function fill({ cells, kill, pause, cut }, node, { status, may_act }) {
  const { own, state } = node;
  const [name, how, role, epoch, lease, held, waiting] = cells;
  const { title, look } = STATES[state];
  name.textContent = `P${node.node}`;
  const shown = `${state} ${own?.halted ?? ""}`;
  if (how.dataset.shown !== shown) {
    how.dataset.shown = shown;
    how.replaceChildren(h("span", { class: `chip ${look}`, title: own?.halted ?? "" }, title));
  }
  const runs = state !== "killed";
  role.textContent = status.leader === node.node && runs ? say("leads the voters") : status.voters.includes(node.node) ? say("votes") : "";
  epoch.textContent = own && runs && own.epoch > 0 ? String(own.epoch) : "–";
  lease.textContent = own && runs && own.lease !== null ? (own.lease > 0 ? `${numeral(own.lease / 1000, 1)} s` : say("over")) : "–";
  held.textContent = own && runs ? String(own.held) : "–";
  waiting.textContent = own && runs ? String(own.waiters) : "–";
  const hands = /** @type {HTMLElement} */ (kill.parentElement);
  hands.hidden = !may_act;
  const servesThis = own?.api.includes(location.origin) ?? false;
  label(kill, state === "killed" ? "restart" : "kill", state === "killed" ? say("Restart") : say("Kill"), node.node);
  kill.disabled = servesThis && state !== "killed";
  kill.title = kill.disabled ? say("This page comes from this member: open the lab’s own address to kill it") : "";
  label(pause, state === "paused" ? "resume" : "pause", state === "paused" ? say("Go on") : say("Pause"), node.node);
  pause.disabled = state === "killed" || (servesThis && state !== "paused");
  pause.title = servesThis ? say("This page comes from this member: open the lab’s own address to pause it") : say("It stands still, as a process that was stopped: it neither hears nor speaks, and does not know how long");
  label(cut, state === "cut" ? "heal" : "cut", state === "cut" ? say("Heal") : say("Cut off"), node.node);
  cut.disabled = state === "killed" || state === "paused";
}

/**
 * @param {HTMLButtonElement} button
 * @param {string} act
 * @param {string} text
 * @param {number} node
 */
function label(button, act, text, node) {
  if (button.dataset.act === act) return;
  button.dataset.act = act;
  button.textContent = text;
  button.setAttribute("aria-label", `${text} P${node}`);
}

/** @param {import("../wire.js").ClusterStatus} status */
function inWords({ epoch, members, leader, voters }) {
  /** @param {number[]} nodes */
  const named = (nodes) => nodes.map((node) => `P${node}`).join(", ");
  if (members.length === 0) return say("Nobody may grant anything: a majority of the voters{who} must be up and connected.", { who: voters.length > 0 ? ` (${named(voters)})` : "" });
  const led = leader === null ? say("; nobody is known to lead them") : voters.length > 1 ? say(", led by P{leader}", { leader }) : "";
  const who = voters.length > 0 ? ` ${say("{voters} decide who belongs to it{led}.", { n: voters.length, voters: named(voters), led })}` : "";
  return `${say("The view of epoch {epoch}: {members}.", { epoch, members: named(members) })}${who}`;
}
