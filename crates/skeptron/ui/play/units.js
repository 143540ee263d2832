// Times as people read them: in units, the `1` of the options.

/**
 * A time in units, with three decimals at most.
 * @param {number} ticks
 * @param {{ ticks_per_unit: number }} header
 * @returns {string}
 */
export function inUnits(ticks, header) {
  return String(Math.round((ticks / header.ticks_per_unit) * 1000) / 1000);
}
