// Variables of nodes as data: a node is `"P3"`, a timestamp `[41, "P3"]`, sets and lists are arrays.

/** @typedef {import("../wire.js").NodeState} NodeState */

/**
 * The value of a variable; undefined if the node is down or has none of that name.
 * @param {NodeState | undefined} state
 * @param {string} field
 * @returns {unknown}
 */
export function dataOf(state, field) {
  return state?.vars.find((variable) => variable.field === field)?.data;
}

/**
 * The row of the node that a value names, that a timestamp is of, or a timestamp with a remark; -1 if there is none.
 * @param {unknown} value
 * @returns {number}
 */
export function rowOf(value) {
  if (Array.isArray(value)) {
    const row = value.length === 2 ? rowOf(value[1]) : -1;
    return row < 0 && Array.isArray(value[0]) ? rowOf(value[0]) : row;
  }
  const number = typeof value === "string" ? /^P(\d+)$/.exec(value)?.[1] : undefined;
  return number === undefined ? -1 : Number(number) - 1;
}

/**
 * The rows of the nodes in a set, or for which a vector counts something.
 * @param {unknown} value
 * @returns {number[]}
 */
export function countedIn(value) {
  if (!Array.isArray(value) || !value.every((one) => typeof one === "number")) return rowsOf(value);
  return [...value.keys()].filter((row) => value[row] > 0);
}

/**
 * The rows of the nodes in a set, or of the timestamps in a queue.
 * @param {unknown} value
 * @returns {number[]}
 */
export function rowsOf(value) {
  return Array.isArray(value) ? value.map(rowOf).filter((row) => row >= 0) : [];
}

/**
 * The timestamps in a queue.
 * @param {unknown} value
 * @returns {{ clock: number, row: number }[]}
 */
export function stampsOf(value) {
  return (Array.isArray(value) ? value : []).flatMap((one) => (Array.isArray(one) && rowOf(one) >= 0 ? [{ clock: Number(one[0]), row: rowOf(one) }] : []));
}

/**
 * The numbers of a vector.
 * @param {unknown} value
 * @returns {number[]}
 */
export function numbersOf(value) {
  return Array.isArray(value) ? value.map(Number) : [];
}

/** A list of nodes that is longer names only the ends of its runs. */
const MOST_LISTED = 8;
const LONG_LIST = new RegExp(`P\\d+(?:, P\\d+){${MOST_LISTED},}`, "g");

/**
 * A text with its long lists of nodes in short: `P1 … P6, P8 … P64`.
 * @param {string} text
 * @returns {string}
 */
export function withRuns(text) {
  return text.replace(LONG_LIST, (list) => {
    /** @type {{ first: number, last: number }[]} */
    const runs = [];
    for (const row of list.split(", ").map(rowOf)) {
      const run = runs.at(-1);
      if (run && row === run.last + 1) run.last = row;
      else runs.push({ first: row, last: row });
    }
    return runs.map(({ first, last }) => (first === last ? nodeName(first) : `${nodeName(first)}${last === first + 1 ? "," : " …"} ${nodeName(last)}`)).join(", ");
  });
}

/** @param {number} row @returns {string} */
export const nodeName = (row) => `P${row + 1}`;
