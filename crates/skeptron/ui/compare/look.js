// How an algorithm looks in all plots: its family chooses the hue, and no two have the same shape.
import { SHAPES } from "../lib/plot.js";
import { say } from "../lib/language.js";

/** @typedef {{ colour: string, shape: import("../lib/plot.js").Shape, dash?: string }} Look */

/** What a family has in common, in the order of the page. @type {Record<string, { title: string, colours: string[] }>} */
export const FAMILIES = {
  central: { title: say("One decides"), colours: ["series-8"] },
  permission: { title: say("Permission of everybody"), colours: ["series-1", "series-7", "series-5"] },
  quorum: { title: say("Permission of a quorum"), colours: ["series-3"] },
  token: { title: say("Whoever has the token"), colours: ["series-6", "series-4", "series-2"] },
  timeout: { title: say("Silence is death"), colours: ["series-8"] },
  ring: { title: say("Messages go round a ring"), colours: ["series-1", "series-7", "series-5"] },
  group: { title: say("Groups merge"), colours: ["series-3"] },
  wave: { title: say("A wave floods the network and comes back"), colours: ["series-6"] },
};

const DASHES = [undefined, "7 3", "2 3"];

/**
 * The algorithms in the order of the page, by family.
 * @param {import("../wire.js").AlgorithmInfo[]} infos
 * @returns {{ family: string, title: string, members: import("../wire.js").AlgorithmInfo[] }[]}
 */
export function byFamily(infos) {
  const known = Object.keys(FAMILIES);
  const families = [...new Set(infos.map((info) => info.family))];
  families.sort((a, b) => known.indexOf(a) - known.indexOf(b));
  return families.map((family) => ({
    family,
    title: FAMILIES[family]?.title ?? family,
    members: infos.filter((info) => info.family === family),
  }));
}

/**
 * How each of the algorithms looks: the same in every plot, whichever of them are compared.
 * @param {import("../wire.js").AlgorithmInfo[]} infos all that there are of a kind
 * @returns {Map<string, Look>}
 */
export function looks(infos) {
  /** @type {Map<string, Look>} */
  const found = new Map();
  for (const { family, members } of byFamily(infos)) {
    const colours = FAMILIES[family]?.colours ?? ["series-1"];
    members.forEach((info, place) => found.set(info.name, {
      colour: colours[place % colours.length],
      shape: SHAPES[found.size % SHAPES.length],
      dash: DASHES[Math.floor(place / colours.length) % DASHES.length],
    }));
  }
  return found;
}

/**
 * How the n-th of several things looks that have no family.
 * @param {number} n
 * @returns {Look}
 */
export function nthLook(n) {
  return { colour: `series-${[1, 6, 3, 4, 2, 7, 8, 5][n % 8]}`, shape: SHAPES[n % SHAPES.length] };
}
