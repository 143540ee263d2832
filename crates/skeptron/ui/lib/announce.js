// What is said to who listens instead of looking.

/** It must be there before anything is said in it. */
const place = document.createElement("div");
place.className = "unseen";
place.setAttribute("role", "status");
place.setAttribute("aria-live", "polite");
place.dataset.test = "announced";
document.body.append(place);

/** @type {ReturnType<typeof setTimeout> | undefined} */
let pending;

/**
 * Says something. Of several things in a moment the last one counts, and the same words twice are said twice.
 * @param {string} words
 */
export function announce(words) {
  clearTimeout(pending);
  place.textContent = "";
  // A listener hears a change, and none if both come in one moment.
  pending = setTimeout(() => { place.textContent = words; }, 80);
}
