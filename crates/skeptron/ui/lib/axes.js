// Axes of plots: where a value lies, and which values are written beside the axis.

/** @typedef {{ at: (value: number) => number, ticks: { at: number, text: string }[] }} Axis */

/** How many pixels there are between a break of a logarithmic axis and its zero. */
const ZERO_STRIP = 20;

/**
 * An axis through `values` from pixel `from` to pixel `to`. A logarithmic one shows zeros, too: below a
 * break at its beginning.
 * @param {number[]} values
 * @param {{ from: number, to: number, log: boolean, marks?: number[], apart: number }} options
 *   `marks` are the values to write, if they are given; `apart` is how far apart two must be
 * @returns {Axis}
 */
export function axis(values, { from, to, log, marks, apart }) {
  const finite = values.filter(Number.isFinite);
  const at = log ? logarithmic(finite, from, to) : linear(finite, from, to, marks === undefined);
  const wanted = marks ?? (log ? decades(finite) : even(finite));
  return { at, ticks: spread(wanted, at, [from, to], apart) };
}

/**
 * Whether the values range so far that a linear axis would hide the small ones.
 * @param {number[]} values
 * @returns {boolean}
 */
export function rangeFar(values) {
  const positive = values.filter((value) => value > 0);
  return positive.length > 0 && Math.max(...positive) > 12 * Math.min(...positive);
}

/**
 * @param {number[]} values
 * @param {number} from
 * @param {number} to
 * @param {boolean} zero whether the axis begins at zero
 */
function linear(values, from, to, zero) {
  const low = Math.min(...(zero ? [0] : []), ...values);
  const high = Math.max(...values);
  const span = high > low ? (high - low) * 1.06 : 1;
  const start = zero && low >= 0 ? low : low - span * 0.03;
  return (/** @type {number} */ value) => from + ((value - start) / span) * (to - from);
}

/**
 * @param {number[]} values
 * @param {number} from
 * @param {number} to
 */
function logarithmic(values, from, to) {
  const positive = values.filter((value) => value > 0);
  if (positive.length === 0) return () => from;
  const strip = values.some((value) => value <= 0) ? Math.sign(to - from) * ZERO_STRIP : 0;
  const low = Math.log(Math.min(...positive));
  const high = Math.log(Math.max(...positive));
  const pad = Math.max((high - low) * 0.05, 0.05);
  const begin = from + strip;
  return (/** @type {number} */ value) =>
    value > 0 ? begin + ((Math.log(value) - low + pad) / (high - low + 2 * pad)) * (to - begin) : from;
}

/**
 * Round values at even distances.
 * @param {number[]} values
 */
function even(values) {
  const low = Math.min(0, ...values);
  const high = Math.max(...values);
  const rough = (high - low || 1) / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10);
  const ticks = [];
  for (let i = Math.ceil(low / step); i * step <= high * 1.0001; i++) ticks.push(i * step);
  return ticks;
}

/**
 * Powers of ten, and what lies between them where they are few; zero where it is a value.
 * @param {number[]} values
 */
function decades(values) {
  const positive = values.filter((value) => value > 0);
  const ticks = values.length > positive.length ? [0] : [];
  if (positive.length === 0) return ticks;
  if (Math.max(...positive) < 8 * Math.min(...positive)) return [...ticks, ...even(positive).filter((tick) => tick > 0)];
  const low = Math.floor(Math.log10(Math.min(...positive)));
  const high = Math.ceil(Math.log10(Math.max(...positive)));
  const factors = high - low <= 3 ? [1, 2, 5] : [1];
  for (let power = low; power <= high; power++) {
    for (const factor of factors) ticks.push(factor * 10 ** power);
  }
  return ticks;
}

/**
 * Those of the values that lie on the axis and do not crowd each other.
 * @param {number[]} values
 * @param {(value: number) => number} at
 * @param {[number, number]} ends
 * @param {number} apart
 */
function spread(values, at, ends, apart) {
  const [low, high] = [Math.min(...ends) - 0.5, Math.max(...ends) + 0.5];
  /** @type {Axis["ticks"]} */
  const ticks = [];
  for (const value of values) {
    const place = at(value);
    const last = ticks.at(-1);
    if (place < low || place > high || (last && Math.abs(place - last.at) < apart)) continue;
    ticks.push({ at: place, text: short(value) });
  }
  return ticks;
}

/**
 * A number as people read it: few digits, no noise of binary fractions.
 * @param {number} value
 * @returns {string}
 */
export function short(value) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-3) return value.toExponential(1).replace("e+", "e");
  const digits = size >= 100 ? 1 : size >= 1 ? 2 : 3;
  return String(Number(value.toFixed(digits))).replace("-", "−");
}
