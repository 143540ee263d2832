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

/**
 * How the axis of a diagram is divided, and how its times are written.
 * @typedef {{ step: (scale: number) => number, words: (t: number, decimals?: number) => string }} Axis
 */

/** The axis of a run in units. @param {{ ticks_per_unit: number }} header @returns {Axis} */
export function axisOf(header) {
  return { step: (scale) => roundStep(scale, header.ticks_per_unit, 70), words: (t, decimals) => inUnits(t, header, decimals) };
}

/**
 * How many ticks apart the lines of an axis are: 1, 2 or 5 times a power of ten of a unit.
 * @param {number} scale pixels per tick
 * @param {number} unit ticks of a unit
 * @param {number} room pixels that a time takes
 * @returns {number}
 */
export function roundStep(scale, unit, room) {
  const wanted = room / (scale * unit);
  const power = 10 ** Math.floor(Math.log10(wanted));
  const step = [1, 2, 5, 10].find((factor) => factor * power >= wanted) ?? 10;
  return Math.max(1, step * power * unit);
}
