// The nodes in a circle, with the links between them; of the chosen lock who has it, who waits, whom they asked.
import { h, s, clear, english } from "../lib/dom.js";
import { say } from "../lib/language.js";
import { tip, tokenMark, waitArrow } from "../play/shapes.js";
import { askedBy, tokenOf } from "./roles.js";

const SIZE = 300;
const CENTRE = SIZE / 2;
/** Up to so many nodes have room for words. */
const MOST_ROOMY = 12;

/**
 * @param {(node: number) => void} chosen called when the user points at a node
 * @returns {{ element: HTMLElement, update: (status: import("../wire.js").ClusterStatus, lock: import("../wire.js").ClusterLock | undefined, run: import("./live-run.js").LiveRun) => void }}
 */
export function ring(chosen) {
  const picture = s("svg", { class: "ring", viewBox: `0 0 ${SIZE} ${SIZE}`, role: "img", "data-test": "cluster-ring" });
  const caption = h("p", { class: "small muted", "data-test": "cluster-links" });
  const troubles = h("ul", { class: "small troubles" });
  const element = h("section", { class: "panel ring-panel", "aria-label": say("Nodes and links") }, h("h2", {}, say("Nodes and links")), picture, caption, troubles);
  let drawn = "";

  return {
    element,
    update(status, lock, { model, members }) {
      const roles = new Map(lock?.waiting.map(({ node }) => [node, "waiting"]));
      if (lock?.holder) roles.set(lock.holder.node, "inside");
      const told = tokenOf(model);
      // Whoever is inside has the token, whatever was missed.
      const token = told && lock?.holder ? { node: lock.holder.node, coming: false } : told && { node: members[told.row], coming: told.coming };
      const quorums = [...roles.keys()].map((node) => ({ node, members: [node, ...askedBy(model, members.indexOf(node)).map((row) => members[row])] })).filter(({ members }) => members.length > 2 && members.length < status.nodes.length);
      // Drawn anew only when it looks different, so that nothing flickers under the pointer.
      const key = JSON.stringify([status.links.map(({ from, to, up, connects }) => [from, to, up, connects]), status.leader, status.nodes.map(({ node, own, state }) => [node, state, own?.leaving, own?.halted, own?.awaited, own === null]), [...roles], token, quorums]);
      if (key === drawn) return;
      drawn = key;
      draw(picture, status, { roles, token, quorums }, chosen);
      describe(caption, troubles, status);
    },
  };
}

/**
 * What the chosen lock makes of the nodes.
 * @typedef {{ roles: Map<number, string>, token: { node: number, coming: boolean } | null, quorums: { node: number, members: number[] }[] }} Use
 */

/**
 * @param {SVGSVGElement} picture
 * @param {import("../wire.js").ClusterStatus} status
 * @param {Use} use
 * @param {(node: number) => void} chosen
 */
function draw(picture, status, { roles, token, quorums }, chosen) {
  clear(picture);
  const places = status.nodes.map(({ node }) => node);
  const count = places.length;
  const many = count > MOST_ROOMY;
  const radius = count === 1 ? 0 : many ? 130 : 104;
  const size = many ? Math.min(13, 380 / count) : 21;
  /** @param {number} node */
  const place = (node) => {
    const angle = (2 * Math.PI * places.indexOf(node)) / count - Math.PI / 2;
    return { x: CENTRE + radius * Math.cos(angle), y: CENTRE + radius * Math.sin(angle) };
  };
  const [all, margin] = [status.nodes.map(({ node }) => place(node)), size + 4];
  const [left, top] = [Math.min(...all.map(({ x }) => x)) - margin, Math.min(...all.map(({ y }) => y)) - margin];
  const [right, bottom] = [Math.max(...all.map(({ x }) => x)) + margin, Math.max(...all.map(({ y }) => y)) + margin];
  // Room for the words above the highest and below the lowest node.
  picture.setAttribute("viewBox", `${left} ${top - 14} ${right - left} ${bottom - top + 28}`);
  picture.classList.toggle("many", many);
  // Those that are down come last, so that nothing hides them.
  const links = [...status.links].sort((a, b) => Number(b.up) - Number(a.up));
  picture.append(s("defs", {}, tip("topo-tip-wait")));
  for (const { node, members } of quorums) picture.append(drawnQuorum(node, members.sort((a, b) => a - b).map(place), roles.get(node) ?? ""));
  for (const link of links) picture.append(drawnLink(link, place(link.from), place(link.to), !many));
  for (const node of status.nodes) picture.append(drawnNode(node, place(node.node), size, roles.get(node.node), chosen));
  const holder = [...roles].find(([, role]) => role === "inside")?.[0];
  for (const [node, role] of holder === undefined ? [] : roles) {
    if (role === "waiting" && node !== holder) picture.append(waitArrow(place(node), place(holder ?? node), size + 3, { words: say("P{node} waits for P{holder}", { node, holder }) }));
  }
  if (!token || !places.includes(token.node)) return;
  const mark = tokenMark(size, place(token.node));
  if (token.coming) mark.classList.add("coming");
  mark.append(s("title", {}, token.coming ? say("The token is on its way to P{node}", { node: token.node }) : say("P{node} has the token", { node: token.node })));
  mark.dataset.token = String(token.node);
  picture.append(mark);
}

/**
 * @param {number} node
 * @param {{ x: number, y: number }[]} places
 * @param {string} role
 */
function drawnQuorum(node, places, role) {
  return s("g", { class: "topo-asking", "data-quorum": node }, s("title", {}, say("The quorum of P{node}", { node })),
    s("polygon", { class: `topo-line ${role}`, points: places.map(({ x, y }) => `${x},${y}`).join(" ") }));
}

/**
 * @param {import("../wire.js").ClusterLink} link
 * @param {{ x: number, y: number }} a
 * @param {{ x: number, y: number }} b
 * @param {boolean} roomy
 */
function drawnLink({ from, to, up, connects, trouble }, a, b, roomy) {
  const again = connects > 1 ? say(", connected {connects} times", { connects }) : "";
  const group = s("g", { class: `link ${up ? "up" : "down"}` }, s("title", {}, `P${from} – P${to}: ${up ? say("up") : say("down##of a link")}${again}${!up && trouble ? `: ${trouble}` : ""}`));
  group.append(s("line", { x1: a.x, y1: a.y, x2: b.x, y2: b.y }));
  const mark = !up ? "×" : roomy && connects > 1 ? `↻${connects - 1}` : "";
  if (mark) {
    // Off the middle, where the lines of an even circle cross.
    const [x, y] = [a.x + (b.x - a.x) * 0.4, a.y + (b.y - a.y) * 0.4];
    group.append(s("circle", { cx: x, cy: y, r: 11 }), s("text", { x, y }, mark));
  }
  return group;
}

/**
 * @param {import("../wire.js").ClusterNode} node
 * @param {{ x: number, y: number }} at
 * @param {number} size
 * @param {string | undefined} role
 * @param {(node: number) => void} chosen
 */
function drawnNode({ node, own, address, state }, at, size, role, chosen) {
  const trouble = state === "killed" ? say("killed") : state === "paused" ? say("paused") : state === "cut" ? say("cut off") : state === "entering" ? say("entering") : own?.halted ? say("halted") : own?.leaving ? say("leaves") : own && own.awaited.length > 0 ? say("not ready") : "";
  const kind = state === "killed" ? "down" : trouble ? "apart" : (role ?? "idle");
  const word = trouble || (role === "inside" ? say("inside") : role && say("waiting")) || "";
  const group = s("g", { class: `node topo-point ${kind}${own ? "" : " far"}`, onpointerdown: () => chosen(node), "data-node": node },
    s("title", {}, [`P${node}`, word, own ? own.api.join(", ") : say("nodes at {address}", { address })].filter(Boolean).join(" · ")),
    s("circle", { class: "topo-disc", cx: at.x, cy: at.y, r: size }),
    s("text", { class: "topo-name", x: at.x, y: at.y }, size > 20 ? `P${node}` : String(node)));
  // Most lines of an upper node go down.
  if (word && size > 20) group.append(s("text", { class: "topo-sign", x: at.x, y: at.y < CENTRE - 1 ? at.y - size - 5 : at.y + size + 11 }, word));
  return group;
}

/**
 * The same in words.
 * @param {HTMLElement} caption
 * @param {HTMLElement} troubles
 * @param {import("../wire.js").ClusterStatus} status
 */
function describe(caption, troubles, status) {
  const down = status.links.filter((link) => !link.up);
  const again = status.links.reduce((sum, link) => sum + Math.max(0, link.connects - 1), 0);
  const up = status.links.length - down.length;
  caption.textContent = `${say("{n} links up", { n: up })}${say(", {down} down", { down: down.length })}${again > 0 ? say(", {again} made anew (↻)", { again }) : ""}`;
  clear(troubles);
  for (const { from, to, trouble } of down.slice(0, 4)) troubles.append(h("li", {}, say("P{from} – P{to} is down:", { from, to }), " ", trouble ? english(trouble) : say("not connected")));
  if (down.length > 4) troubles.append(h("li", {}, say("and {more} more", { more: down.length - 4 })));
  for (const { node, own, state } of status.nodes) {
    if (state === "killed") continue;
    if (own?.halted) troubles.append(h("li", {}, state === "halted" ? say("P{node} grants nothing any more:", { node }) : say("P{node} grants nothing at present:", { node }), " ", english(own.halted)));
    if (own && own.awaited.length > 0) troubles.append(h("li", {}, say("P{node} does not grant locks whose home it is before it has met {others}", { node, others: own.awaited.map((other) => `P${other}`).join(", ") })));
  }
}
