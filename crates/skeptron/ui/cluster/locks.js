// The locks in use: who holds each, with which fence, and who waits.
import { h } from "../lib/dom.js";
import { shortFence } from "../lib/fence.js";
import { numeral, say, translated } from "../lib/language.js";

/** @typedef {{ element: HTMLElement, button: HTMLElement, cells: HTMLElement[], since: number | null }} Row */

/** The titles of the columns; those of numbers stand to the right. */
const COLUMNS = [{ title: say("Lock") }, { title: say("Held by") }, { title: say("Fence"), number: true }, { title: say("For##how long"), number: true }, { title: say("Waiting##who") }, { title: say("Algorithm") }];
/** So many nodes that wait for one lock are named. */
const MOST_NAMED = 8;
const AGE = 3;

/**
 * @param {(lock: string) => void} choose called when the user wants to see a lock
 * @returns {{ element: HTMLElement, update: (locks: import("../wire.js").ClusterLocks, chosen: string, now: number) => void, tick: (now: number) => void }}
 */
export function lockTable(choose) {
  const nothing = h("tr", {}, h("td", { colspan: COLUMNS.length, class: "muted" }, say("Nobody holds or wants any lock.")));
  const body = h("tbody", { "data-test": "cluster-locks" }, nothing);
  const note = h("p", { class: "small muted" });
  const head = COLUMNS.map(({ title, number }) => h("th", { scope: "col", class: number && "number" }, title));
  const table = h("table", { class: "data" }, h("thead", {}, h("tr", {}, ...head)), body);
  const element = h("section", { class: "panel locks-panel", "aria-label": say("Locks in use") }, h("h2", {}, say("Locks in use")), h("div", { class: "scroll" }, table), note);
  /** Rows stay where they are while they change, so that they can be clicked. @type {Map<string, Row>} */
  let rows = new Map();

  /** @param {number} now */
  function tick(now) {
    for (const { cells, since } of rows.values()) cells[AGE].textContent = since === null ? "–" : age(Math.max(0, now - since));
  }

  return {
    element,
    tick,
    update(locks, chosen, now) {
      const before = [...rows.keys()].join("\n");
      rows = new Map(locks.locks.map((lock) => [lock.name, rows.get(lock.name) ?? row(lock.name, choose)]));
      for (const lock of locks.locks) fill(/** @type {Row} */ (rows.get(lock.name)), lock, lock.name === chosen, now);
      if ([...rows.keys()].join("\n") !== before) body.replaceChildren(...(rows.size > 0 ? [...rows.values()].map((row) => row.element) : [nothing]));
      const more = locks.total - locks.locks.length;
      const silent = locks.silent.length > 0 ? `${say("{nodes} did not answer: what is held there is missing.", { nodes: locks.silent.map((node) => `P${node}`).join(", ") })} ` : "";
      note.textContent = `${silent}${more > 0 ? say("And {more} more.", { more: numeral(more) }) : ""}`;
      tick(now);
    },
  };
}

/**
 * @param {string} name
 * @param {(lock: string) => void} choose
 * @returns {Row}
 */
function row(name, choose) {
  const button = h("button", { type: "button", class: "quiet lock-name", title: say("Show what happens to it"), onclick: () => choose(name) }, name);
  const cells = COLUMNS.map(({ number }) => h("td", { class: number && "number" }));
  cells[0].append(button);
  return { element: h("tr", {}, ...cells), button, cells, since: null };
}

/**
 * @param {Row} row
 * @param {import("../wire.js").ClusterLock} lock
 * @param {boolean} chosen
 * @param {number} now
 */
function fill(row, { algorithm, holder, waiting }, chosen, now) {
  const shown = waiting.slice(0, MOST_NAMED).map(({ node, waiters }) => (waiters > 1 ? `P${node} × ${waiters}` : `P${node}`));
  const queue = [...shown, ...(waiting.length > MOST_NAMED ? [say("{more} more", { more: waiting.length - MOST_NAMED })] : [])].join(", ");
  const [, who, fence, , waits, guarded] = row.cells;
  row.button.setAttribute("aria-pressed", String(chosen));
  row.since = holder ? now - holder.held : null;
  who.textContent = holder ? `P${holder.node}${holder.owner ? ` (${translated(holder.owner)})` : ""}` : "–";
  fence.textContent = holder ? shortFence(holder.fence) : "–";
  fence.title = holder ? say("{fence}: epoch·entry, as the number that resources compare", { fence: String(holder.fence) }) : "";
  waits.textContent = queue || "–";
  guarded.textContent = algorithm;
}

/** @param {number} ms */
function age(ms) {
  const seconds = ms / 1000;
  if (seconds < 100) return `${numeral(seconds, 1)} s`;
  return seconds < 6000 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`;
}
