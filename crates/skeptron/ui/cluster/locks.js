// The locks in use: who holds each, with which fence, and who waits.
import { h, clear } from "../lib/dom.js";

/**
 * @param {(lock: string) => void} choose called when the user wants to see a lock
 * @returns {{ element: HTMLElement, update: (locks: import("../wire.js").ClusterLocks, chosen: string, now: number) => void, tick: (now: number) => void }}
 */
export function lockTable(choose) {
  const body = h("tbody", { "data-test": "cluster-locks" });
  const note = h("p", { class: "small muted" });
  const head = ["Lock", "Held by", "Fence", "For", "Waiting", "Algorithm"].map((title) => h("th", { scope: "col", class: title === "Fence" || title === "For" ? "number" : false }, title));
  const table = h("table", { class: "data" }, h("thead", {}, h("tr", {}, ...head)), body);
  const element = h("section", { class: "panel locks-panel", "aria-label": "Locks in use" }, h("h2", {}, "Locks in use"), h("div", { class: "scroll" }, table), note);
  /** Cells that show how long a lock is held, and since when. @type {{ cell: HTMLElement, since: number }[]} */
  let ages = [];

  /** @param {number} now */
  function tick(now) {
    for (const { cell, since } of ages) cell.textContent = age(Math.max(0, now - since));
  }

  return {
    element,
    tick,
    update(locks, chosen, now) {
      const focused = document.activeElement instanceof HTMLElement && body.contains(document.activeElement) ? document.activeElement.dataset.lock : undefined;
      clear(body);
      ages = [];
      for (const lock of locks.locks) {
        const row = line(lock, lock.name === chosen, choose);
        body.append(row.element);
        if (lock.holder) ages.push({ cell: row.age, since: now - lock.holder.held });
      }
      if (locks.total === 0) body.append(h("tr", {}, h("td", { colspan: 6, class: "muted" }, "Nobody holds or wants any lock.")));
      const more = locks.total - locks.locks.length;
      const silent = locks.silent.length > 0 ? `${locks.silent.map((node) => `P${node}`).join(", ")} did not answer: what is held there is missing. ` : "";
      note.textContent = `${silent}${more > 0 ? `And ${more.toLocaleString("en")} more.` : ""}`;
      tick(now);
      if (focused !== undefined) [...body.querySelectorAll("button")].find((button) => button.dataset.lock === focused)?.focus();
    },
  };
}

/**
 * @param {import("../wire.js").ClusterLock} lock
 * @param {boolean} chosen
 * @param {(lock: string) => void} choose
 */
function line({ name, algorithm, holder, waiting }, chosen, choose) {
  const age = h("td", { class: "number" }, "");
  const button = h("button", { type: "button", class: "quiet lock-name", "aria-pressed": String(chosen), "data-lock": name, title: "Show what happens to it", onclick: () => choose(name) }, name);
  const who = holder ? `P${holder.node}${holder.owner ? ` (${holder.owner})` : ""}` : "–";
  const fence = holder ? h("td", { class: "number", title: `entry ${holder.fence % 2 ** 40} of epoch ${Math.floor(holder.fence / 2 ** 40)}` }, holder.fence) : h("td", { class: "number" }, "–");
  const queue = waiting.map(({ node, waiters }) => (waiters > 1 ? `P${node} × ${waiters}` : `P${node}`)).join(", ");
  return { element: h("tr", {}, h("td", {}, button), h("td", {}, who), fence, age, h("td", {}, queue || "–"), h("td", {}, algorithm)), age };
}

/** @param {number} ms */
function age(ms) {
  const seconds = ms / 1000;
  if (seconds < 100) return `${seconds.toFixed(1)} s`;
  return seconds < 6000 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`;
}
