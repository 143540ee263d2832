// Where a moment is drawn: by the clock, or event by event with the same room for each.

/** @typedef {"events" | "time"} Spacing */

/** How fast the space after the last event grows, in events per second, and how far. */
const IDLE_RATE = 1;
const IDLE_MOST = 3;

/**
 * The place of a moment: milliseconds, or the number of events before it.
 * @param {Spacing} spacing
 * @param {number[]} moments in order
 * @param {number} at
 * @returns {number}
 */
export function placeOf(spacing, moments, at) {
  if (spacing === "time") return at;
  const next = firstAfter(moments, at);
  if (next === 0) return moments.length === 0 ? 0 : Math.max(-IDLE_MOST, (at - moments[0]) / 1000);
  const last = next - 1;
  if (next === moments.length) return last + Math.min(IDLE_MOST, (IDLE_RATE * (at - moments[last])) / 1000);
  return last + (at - moments[last]) / (moments[next] - moments[last]);
}

/**
 * The moment at a place.
 * @param {Spacing} spacing
 * @param {number[]} moments
 * @param {number} place
 * @returns {number}
 */
export function momentAt(spacing, moments, place) {
  if (spacing === "time" || moments.length === 0) return place;
  const last = Math.min(moments.length - 1, Math.max(0, Math.floor(place)));
  const next = moments[last + 1];
  if (next === undefined || place < 0) return moments[last];
  return moments[last] + (place - last) * (next - moments[last]);
}

/**
 * The index of the first moment after `at`.
 * @param {number[]} moments
 * @param {number} at
 */
function firstAfter(moments, at) {
  let [low, high] = [0, moments.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (moments[middle] <= at) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * The ticks of the axis between two places, about one for each `room`.
 * @param {Spacing} spacing
 * @param {number[]} moments
 * @param {number} begin
 * @param {number} end
 * @param {number} most how many have room
 * @returns {{ place: number, at: number }[]}
 */
export function ticks(spacing, moments, begin, end, most) {
  const step = spacing === "time" ? round((end - begin) / most) : Math.max(1, Math.ceil((end - begin) / most));
  const found = [];
  for (let place = Math.ceil(begin / step) * step; place <= end; place += step) {
    if (spacing === "events" && (place < 0 || place >= moments.length)) continue;
    found.push({ place, at: momentAt(spacing, moments, place) });
  }
  return found;
}

/**
 * The next larger of 1, 2, 5 and their tenfolds.
 * @param {number} rough
 */
function round(rough) {
  const power = 10 ** Math.floor(Math.log10(Math.max(rough, 1e-6)));
  return power * ([1, 2, 5].find((digit) => digit * power >= rough) ?? 10);
}
