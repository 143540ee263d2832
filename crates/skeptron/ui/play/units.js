// Times as people read them: in units, the `1` of the options.

/**
 * A time in units, with three decimals at most, or fewer.
 * @param {number} ticks
 * @param {{ ticks_per_unit: number }} header
 * @param {number} [decimals]
 * @returns {string}
 */
export function inUnits(ticks, header, decimals = 3) {
  const parts = 10 ** decimals;
  return String(Math.round((ticks / header.ticks_per_unit) * parts) / parts);
}
