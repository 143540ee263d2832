// Numbers and sets as people read them.
import { locale, say } from "../lib/language.js";

/**
 * A figure in four digits.
 * @param {number} value
 * @returns {string}
 */
export function figure(value) {
  return Number(value.toPrecision(4)).toLocaleString(locale, { maximumSignificantDigits: 4, useGrouping: false });
}

/**
 * A probability; small ones as powers of ten.
 * @param {number} value
 * @returns {string}
 */
export function probability(value) {
  if (value === 0 || value >= 1e-3) return figure(value);
  const [digits, power] = value.toExponential(2).split("e");
  return `${figure(Number(digits))} · 10${superscript(Number(power))}`;
}

/** @param {number} power */
function superscript(power) {
  return String(power).replace(/./g, (digit) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(digit)]);
}

/**
 * A set of nodes; a long one is cut.
 * @param {number[]} nodes
 * @param {number} [most]
 * @returns {string}
 */
export function braced(nodes, most = 24) {
  const rest = nodes.length - most;
  return `{${nodes.slice(0, most).join(", ")}${rest > 0 ? ` ${say("… and {rest} more", { rest })}` : ""}}`;
}

/**
 * The numbers of a list like `1, 2,3`; nothing if it is empty or one of them is none.
 * @param {string | null | undefined} text
 * @returns {number[] | undefined}
 */
export function listed(text) {
  const words = (text ?? "").split(/[\s,]+/).filter(Boolean);
  const numbers = words.map(Number);
  return numbers.length > 0 && numbers.every(Number.isFinite) ? numbers : undefined;
}
