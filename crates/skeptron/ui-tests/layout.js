// Whether things lie where they should: judged in the page, by its own boxes.

/** @typedef {import("playwright-core").Page} Page */

/** The sizes at which the page must be fit to be shown. */
export const SIZES = [
  { width: 1280, height: 800 },
  { width: 1920, height: 1080 },
  { width: 900, height: 800 },
];

/**
 * What is wrong with the layout now: a page that scrolls sideways, panels that overlap, controls that are
 * covered by something else.
 * @param {Page} page
 * @returns {Promise<string[]>}
 */
export function faults(page) {
  return page.evaluate(() => {
    const name = (/** @type {Element} */ element) => {
      const text = (element.getAttribute("aria-label") ?? element.textContent ?? "").trim().replace(/\s+/g, " ");
      return `<${element.tagName.toLowerCase()} class="${element.getAttribute("class") ?? ""}"> ${text.slice(0, 40)}`;
    };
    const isShown = (/** @type {Element} */ element) => element.checkVisibility({ visibilityProperty: true });

    const sideways = () => {
      const { scrollWidth, clientWidth } = document.documentElement;
      const main = /** @type {HTMLElement} */ (document.querySelector("main"));
      const wide = scrollWidth > clientWidth || main.scrollWidth > main.clientWidth;
      return wide ? [`the page scrolls sideways: ${Math.max(scrollWidth, main.scrollWidth)} px are in ${clientWidth}`] : [];
    };

    const overlapping = () => {
      const found = [];
      const panels = [...document.querySelectorAll(".panel, header.site, main > *")].filter(isShown);
      for (const [index, one] of panels.entries()) {
        for (const other of panels.slice(index + 1)) {
          if (one.parentElement !== other.parentElement || getComputedStyle(other).position === "absolute") continue;
          const [a, b] = [one.getBoundingClientRect(), other.getBoundingClientRect()];
          const width = Math.min(a.right, b.right) - Math.max(a.left, b.left);
          const height = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
          if (width > 1 && height > 1) found.push(`${name(one)} overlaps ${name(other)}`);
        }
      }
      return found;
    };

    const covered = () => {
      const found = [];
      for (const control of document.querySelectorAll("button, select, input, textarea, a[href], summary")) {
        const { left, top, width, height } = control.getBoundingClientRect();
        const [x, y] = [left + width / 2, top + height / 2];
        if (!isShown(control) || width < 2 || !isInSight(control, x, y)) continue;
        const above = document.elementFromPoint(x, y);
        // What stays in place while the rest scrolls covers nothing for good.
        if (above && isSticky(above)) continue;
        const mine = above && (control.contains(above) || above.contains(control) || above.closest("label")?.contains(control));
        if (!mine) found.push(`${name(control)} is covered by ${above ? name(above) : "nothing"}`);
      }
      return found;
    };

    const isSticky = (/** @type {Element} */ element) => {
      for (let box = /** @type {Element | null} */ (element); box; box = box.parentElement) {
        if (getComputedStyle(box).position === "sticky") return true;
      }
      return false;
    };

    /** Not scrolled away, in the window or in any box around it. */
    const isInSight = (/** @type {Element} */ control, /** @type {number} */ x, /** @type {number} */ y) => {
      if (x < 0 || y < 0 || x >= innerWidth || y >= innerHeight) return false;
      for (let box = control.parentElement; box; box = box.parentElement) {
        if (getComputedStyle(box).overflow === "visible") continue;
        const { left, right, top, bottom } = box.getBoundingClientRect();
        if (x < left || x >= right || y < top || y >= bottom) return false;
      }
      return true;
    };

    return [...sideways(), ...overlapping(), ...covered()];
  });
}

/**
 * Controls without a name: those that a screen reader cannot read out.
 * @param {Page} page
 * @returns {Promise<string[]>}
 */
export function nameless(page) {
  return page.evaluate(() => {
    const found = [];
    for (const control of document.querySelectorAll("button, select, input:not([type=hidden]), textarea, a[href]")) {
      const labels = "labels" in control ? /** @type {HTMLInputElement} */ (control).labels : null;
      const texts = [control.getAttribute("aria-label"), control.getAttribute("title"), control.textContent,
        ...[...(labels ?? [])].map((label) => label.textContent),
        document.getElementById(control.getAttribute("aria-labelledby") ?? "")?.textContent];
      const isNamed = control.tagName === "SELECT"
        ? [texts[0], texts[1], ...texts.slice(3)].some((text) => text?.trim())
        : texts.some((text) => text?.trim());
      if (!isNamed && control.checkVisibility()) found.push(control.outerHTML.slice(0, 120));
    }
    return found;
  });
}
