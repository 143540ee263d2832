// Fences are strings of digits, since they pass 2^53: only as BigInt can they be taken apart.

/** So many bits of a fence count the entries of a view; the others are its epoch. */
const COUNTER_BITS = 40n;

/**
 * A fence as people read it: the epoch of its view and the entry's number in it.
 * @param {string} fence
 * @returns {string}
 */
export function shortFence(fence) {
  const number = BigInt(fence);
  return `${number >> COUNTER_BITS}·${BigInt.asUintN(Number(COUNTER_BITS), number)}`;
}

/**
 * The number that resources compare, with its parts.
 * @param {string} fence
 * @returns {string}
 */
export const wholeFence = (fence) => `${fence} (${shortFence(fence)})`;
