// Style sheets of views and shared parts, loaded when they are first needed.

/**
 * Adds a style sheet to the page, once.
 * @param {string} path as `/ui/compare/view.css`
 */
export function sheet(path) {
  for (const known of document.querySelectorAll("link[rel=stylesheet], style[data-sheet]")) {
    if (known.getAttribute("href") === path || known.getAttribute("data-sheet") === path) return;
  }
  const link = document.createElement("link");
  link.rel = "stylesheet";
  link.href = path;
  document.head.append(link);
}
