// The live cluster of `skeptron up` or `skeptron node`: nodes, links, locks, and one lock's messages.
import { h, clear, complaint } from "../lib/dom.js";
import { getJson, stream } from "../lib/api.js";
import { go, note, pack } from "../lib/address.js";
import { sheet } from "../lib/sheet.js";
import { numeral, say } from "../lib/language.js";
import { ring } from "./ring.js";
import { lockTable } from "./locks.js";
import { members } from "./members.js";
import { news } from "./news.js";
import { rates } from "./rates.js";
import { recorded } from "./live-run.js";
import { tryIt } from "./tryit.js";
import { diagram } from "./diagram.js";

/** The lock that is shown if the address names none: the one of the examples of `skeptron up`. */
const FIRST = "demo";
/** How long to wait before the next try to reach the cluster, in milliseconds. */
const BACKOFF = { first: 1000, longest: 10_000 };

/**
 * @param {HTMLElement} root
 * @param {import("../lib/address.js").Address} address
 * @returns {() => void}
 */
export function show(root, address) {
  const ending = new AbortController();
  const place = h("div", { class: "cluster" });
  /** @type {(() => void) | undefined} */
  let end;
  async function begin() {
    try {
      const about = await getJson("/lab/about", ending.signal);
      if (ending.signal.aborted) return;
      if (about.cluster) end = watch(place, address.params.get("lock") || FIRST, about.runs);
      else place.append(explanation());
    } catch (error) {
      if (!ending.signal.aborted) place.append(complaint(error));
    }
  }
  // Nodes look as in Play.
  sheet("/ui/play/view.css");
  sheet("/ui/cluster/view.css");
  root.append(place);
  begin();
  return () => {
    ending.abort();
    end?.();
  };
}

function explanation() {
  /** @param {string} command */
  const command = (command) => h("pre", { class: "command" }, command);
  return h("div", { class: "page", "data-test": "cluster-none" },
    h("header", {}, h("h1", {}, say("Cluster")), h("p", {}, say("Here you watch real nodes that speak over real connections: who holds which lock, and each message as it goes. This lab runs without a cluster."))),
    h("section", { class: "panel" }, h("h2", {}, say("Three nodes on this machine")),
      h("p", {}, say("Start them in a terminal, then open the address that it prints:")), command("skeptron up"),
      h("p", {}, say("Any algorithm and any number of nodes will do:")), command("skeptron up --nodes 7 --algorithm maekawa")),
    h("section", { class: "panel" }, h("h2", {}, say("A node in service")),
      h("p", {}, say("Every skeptron node serves this view of itself where it answers clients, by default at http://127.0.0.1:7470/. There the page only watches."))));
}

/**
 * Watches the cluster until it is told to end.
 * @param {HTMLElement} root
 * @param {string} first
 * @param {boolean} plays whether this page has Play
 * @returns {() => void} what ends it
 */
function watch(root, first, plays) {
  let lock = first;
  /** @type {import("../wire.js").ClusterView | null} */
  let view = null;
  /** Ends the stream of the lock that is shown. */
  let turn = new AbortController();
  let backoff = BACKOFF.first;
  let ended = false;
  /** @type {(() => void) | undefined} */
  let hurry;

  const links = ring((node) => tries.choose(node));
  const table = lockTable(choose);
  const flow = rates();
  const tries = tryIt(lock, choose);
  const drawn = diagram(plays ? openInPlay : null);
  const who = members((seen) => {
    view = seen;
    showStatus(seen.status);
    tries.update(seen);
  });
  const happened = news();
  const name = h("h1", {}, say("Cluster"));
  const facts = h("div", { class: "toolbar facts", "data-test": "cluster-facts" });
  const state = h("div", { role: "status", "data-test": "cluster-state" });
  const parts = h("div", { class: "cluster-parts" }, links.element, h("div", { class: "middle" }, tries.element, table.element), flow.element, drawn.element, who.element, happened.element);
  root.append(h("header", { class: "cluster-head" }, name, facts), state, parts);
  const ages = setInterval(() => table.tick(performance.now()), 200);

  async function openInPlay() {
    if (!view) return;
    go("play", { live: await pack(JSON.stringify(recorded(drawn.run(), lock))) });
  }

  /** @param {string} next */
  function choose(next) {
    if (next === lock) return;
    lock = next;
    tries.name(lock);
    note("cluster", { lock });
    turn.abort();
    hurry?.();
  }

  /** @param {import("../wire.js").ClusterStatus} status */
  function showStatus(status) {
    if (!view) return;
    view.status = status;
    links.update(status, chosen(), drawn.run());
    flow.update(status);
    who.update(view);
    // Where nobody votes nothing changes.
    parts.classList.toggle("fixed", status.voters.length === 0);
    clear(facts);
    facts.append(...said(view).map((fact) => h("span", { class: "chip" }, fact)));
    const leaving = status.nodes.filter(({ own }) => own?.leaving).map(({ node }) => `P${node}`);
    if (leaving.length > 0) warn(say("{nodes} are shutting down.", { n: leaving.length, nodes: leaving.join(", ") }));
  }

  /** @param {import("../wire.js").ClusterLocks} locks */
  function showLocks(locks) {
    if (!view) return;
    view.locks = locks;
    table.update(locks, lock, performance.now());
    tries.update(view);
    drawn.run().listed(locks.at, chosen(), isFar);
    links.update(view.status, chosen(), drawn.run());
  }

  const chosen = () => view?.locks.locks.find(({ name }) => name === lock);
  /** @param {number} node */
  const isFar = (node) => !view?.status.nodes.some((one) => one.node === node && one.own);

  /** @param {string} text */
  function warn(text) {
    state.replaceChildren(h("p", { class: "notice bad" }, text, " ", h("button", { type: "button", onclick: () => hurry?.() }, say("Try now"))));
  }

  /** One stream, until it ends. */
  async function read() {
    turn = new AbortController();
    const { signal } = turn;
    const seen = /** @type {import("../wire.js").ClusterView} */ (await getJson("/lab/cluster", signal));
    view = seen;
    name.textContent = say("Cluster “{name}”", { name: seen.name });
    drawn.restart(lock, { members: seen.status.nodes.map(({ node }) => node), algorithm: chosen()?.algorithm ?? seen.algorithm, whole: seen.may_try });
    flow.restart();
    showStatus(seen.status);
    tries.update(seen);
    table.update(seen.locks, lock, performance.now());
    await stream(`/lab/cluster/events?${new URLSearchParams({ lock })}`, {
      signal,
      on: {
        status: (status) => {
          state.replaceChildren();
          backoff = BACKOFF.first;
          drawn.heard(status.at);
          drawn.connected(true);
          showStatus(status);
        },
        locks: showLocks,
        lock: (event) => drawn.run().lock(event),
        message: (event) => drawn.run().message(event, isFar),
        cluster: (event) => happened.tell(event),
        lagged: (event) => drawn.run().lagged(event),
      },
    });
  }

  /** Reads one stream after the other: another lock is chosen, or the cluster is there again. */
  async function readOn() {
    while (!ended) {
      let why = say("The cluster has ended, or cannot be reached any more.");
      try {
        await read();
      } catch (error) {
        if (error instanceof Error && !turn.signal.aborted) why = sentence(error.message);
      }
      drawn.connected(false);
      if (ended || turn.signal.aborted) continue;
      warn(`${why} ${say("Trying again in {seconds} s.", { seconds: Math.round(backoff / 1000) })}`);
      await pause(backoff);
      backoff = Math.min(2 * backoff, BACKOFF.longest);
    }
  }

  /** @param {number} ms */
  function pause(ms) {
    return /** @type {Promise<void>} */ (new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      hurry = () => {
        clearTimeout(timer);
        resolve();
      };
    }));
  }

  readOn();
  return () => {
    ended = true;
    turn.abort();
    hurry?.();
    clearInterval(ages);
    drawn.end();
  };
}

/** @param {string} text */
function sentence(text) {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.?!]$/.test(text) ? "" : "."}`;
}

/**
 * The cluster in a few words.
 * @param {import("../wire.js").ClusterView} view
 * @returns {string[]}
 */
function said({ algorithm, prefixes, status }) {
  const owned = status.nodes.flatMap(({ own }) => own ?? []);
  const entries = owned.reduce((sum, own) => sum + own.entries, 0);
  const up = Math.max(0, ...owned.map((own) => own.up));
  const elsewhere = status.nodes.length - owned.length;
  return [
    `${say("{n} nodes", { n: status.nodes.length })}${elsewhere > 0 ? say(", {elsewhere} elsewhere", { elsewhere }) : ""}`,
    say("locks by {algorithm}", { algorithm }),
    ...prefixes.map(([prefix, other]) => say("{prefix}… by {algorithm}", { prefix, algorithm: other })),
    say("epoch {epoch}", { epoch: status.epoch }),
    say("up for {time}", { time: span(up) }),
    say("{entries} entries", { n: entries, entries: numeral(entries) }),
  ];
}

/** @param {number} ms */
function span(ms) {
  const seconds = Math.floor(ms / 1000);
  if (seconds < 100) return `${seconds} s`;
  return seconds < 6000 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`;
}
