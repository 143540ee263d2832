// Messages per second: one line of history for each node, one bar for each kind.
import { h, s, clear } from "../lib/dom.js";
import { kindColour } from "../lib/theme.js";
import { numeral, say } from "../lib/language.js";

/** So many seconds are shown. */
const SECONDS = 60;
const WIDTH = 120;
const HEIGHT = 24;

/**
 * @returns {{ element: HTMLElement, update: (status: import("../wire.js").ClusterStatus) => void, restart: () => void }}
 */
export function rates() {
  const nodes = h("div", { class: "rates-nodes", "data-test": "cluster-rates" });
  const kinds = h("div", { class: "rates-kinds" });
  const element = h("section", { class: "panel rates-panel", "aria-label": say("Messages per second") },
    h("h2", {}, say("Messages per second")), nodes, h("h3", { class: "muted" }, say("By kind, all nodes")), kinds);
  /** @type {import("../wire.js").ClusterStatus | null} */
  let last = null;
  /** @type {Map<number, number[]>} */
  const past = new Map();

  return {
    element,
    restart() {
      last = null;
      past.clear();
    },
    update(status) {
      const seconds = last ? (status.at - last.at) / 1000 : 0;
      if (seconds > 0.2 && last) {
        for (const [node, rate] of perNode(last, status, seconds)) past.set(node, [...(past.get(node) ?? []), rate].slice(-SECONDS));
        showKinds(kinds, perKind(last, status, seconds));
      } else if (!last) {
        for (const { node, own } of status.nodes) if (own) past.set(node, []);
        showKinds(kinds, perKind(status, status, 1));
      }
      showNodes(nodes, past);
      last = status;
    },
  };
}

/** @param {import("../wire.js").ClusterNode} node */
function sent({ own }) {
  return own ? own.messages.reduce((sum, kind) => sum + kind.sent, 0) : 0;
}

/**
 * @param {import("../wire.js").ClusterStatus} before
 * @param {import("../wire.js").ClusterStatus} now
 * @param {number} seconds
 * @returns {Map<number, number>}
 */
function perNode(before, now, seconds) {
  const then = new Map(before.nodes.map((node) => [node.node, sent(node)]));
  return new Map(now.nodes.filter(({ own }) => own).map((node) => [node.node, Math.max(0, sent(node) - (then.get(node.node) ?? 0)) / seconds]));
}

/**
 * @param {import("../wire.js").ClusterStatus} before
 * @param {import("../wire.js").ClusterStatus} now
 * @param {number} seconds
 * @returns {Map<string, number>}
 */
function perKind(before, now, seconds) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const [status, sign] of /** @type {const} */ ([[before, -1], [now, 1]])) {
    for (const { own } of status.nodes) {
      for (const { algorithm, label, sent } of own?.messages ?? []) {
        const key = `${label} of ${algorithm}`;
        counts.set(key, (counts.get(key) ?? 0) + (sign * sent) / seconds);
      }
    }
  }
  return counts;
}

/**
 * @param {HTMLElement} place
 * @param {Map<number, number[]>} past
 */
function showNodes(place, past) {
  const most = Math.max(1, ...[...past.values()].flat());
  place.replaceChildren(...[...past].map(([node, rates]) => {
    const step = WIDTH / (SECONDS - 1);
    const begin = WIDTH - (rates.length - 1) * step;
    const points = rates.map((rate, place) => `${(begin + place * step).toFixed(1)},${(HEIGHT - 1 - (rate / most) * (HEIGHT - 3)).toFixed(1)}`);
    return h("div", { class: "rate" }, h("span", {}, `P${node}`),
      s("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true" }, s("polyline", { points: points.join(" ") })),
      h("span", { class: "value" }, shown(rates.at(-1) ?? 0)));
  }));
}

/**
 * @param {HTMLElement} place
 * @param {Map<string, number>} counts
 */
function showKinds(place, counts) {
  const most = Math.max(1, ...counts.values());
  clear(place);
  const algorithms = [...new Set([...counts.keys()].map((kind) => kind.split(" of ")[1]))];
  for (const algorithm of algorithms) {
    if (algorithms.length > 1) place.append(h("p", { class: "small muted" }, algorithm));
    const own = [...counts].filter(([kind]) => kind.split(" of ")[1] === algorithm);
    place.append(...own.map(([kind, rate]) => kindLine(kind, rate, most)));
  }
}

/**
 * @param {string} kind
 * @param {number} rate
 * @param {number} most
 */
function kindLine(kind, rate, most) {
  const bar = h("span", { class: "bar" });
  const [label, algorithm] = kind.split(" of ");
  bar.style.width = `${Math.max(0, (100 * rate) / most)}%`;
  bar.style.background = `var(--${kindColour(label)})`;
  return h("div", { class: "kind" }, h("span", { class: "name", title: say("{label} of {algorithm}", { label, algorithm }) }, label), h("span", { class: "track" }, bar), h("span", { class: "value" }, shown(Math.max(0, rate))));
}

/** @param {number} rate */
function shown(rate) {
  return rate >= 10 || rate < 0.05 ? numeral(rate) : numeral(rate, 1);
}
