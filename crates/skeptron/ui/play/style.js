// The style sheet of this view.
import { h } from "../lib/dom.js";

/**
 * Loads the style sheet; what is built after that has its size at once.
 * @returns {Promise<void>}
 */
export function styled() {
  return new Promise((resolve) => {
    const link = h("link", { rel: "stylesheet", href: new URL("./view.css", import.meta.url).pathname });
    link.addEventListener("load", () => resolve());
    // Without its style the view is still of use.
    link.addEventListener("error", () => resolve());
    document.head.append(link);
  });
}
