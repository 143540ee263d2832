// Fences pass 2^53: only as BigInt can they be taken apart.

/** So many bits of a fence count the entries of a view; the others are its epoch. */
const COUNTER_BITS = 40n;

/**
 * A fence as people read it: the epoch of its view and the entry's number in it, `3·17`; of a run without
 * views the number alone, `#17`.
 * @param {string | number} fence
 * @returns {string}
 */
export function shortFence(fence) {
  const number = BigInt(fence);
  const counter = BigInt.asUintN(Number(COUNTER_BITS), number);
  const epoch = number >> COUNTER_BITS;
  return hasEpoch(fence) ? `${epoch}·${counter}` : `#${counter}`;
}

/**
 * Whether a fence is of a cluster, whose views have epochs; a simulated run has none.
 * @param {string | number} fence
 */
export const hasEpoch = (fence) => BigInt(fence) >> COUNTER_BITS > 0n;

/**
 * A fence as people read it, and the number that resources compare.
 * @param {string} fence
 * @returns {string}
 */
export const wholeFence = (fence) => `${shortFence(fence)} (${fence})`;
