// A picture that the server drew. It has a style sheet of its own, which must neither reach the page nor
// be inline (the page's policy forbids that), and which follows the page's theme.
import { h, picture } from "./dom.js";
import { onTheme } from "./theme.js";

const FRAME = "svg { display: block; max-width: 100%; height: auto; margin: 0 auto } .node { cursor: pointer } svg .ground.ground { fill: var(--panel) }";

/**
 * A frame for pictures. Clicking a node in one of them chooses it.
 * @param {{ chosen?: (node: number) => void }} [does]
 * @returns {{ element: HTMLElement, show: (svg: string | null) => void, end: () => void }}
 */
export function drawing({ chosen } = {}) {
  // The words in it are the server's.
  const element = h("div", { class: "drawing", lang: "en", "data-test": "picture" });
  const shadow = element.attachShadow({ mode: "open" });
  let sheet = new CSSStyleSheet();
  const end = onTheme(() => follow(sheet));
  return {
    element,
    end,
    show(text) {
      if (text === null) return shadow.replaceChildren();
      const { svg, styles } = undressed(picture(withoutStyles(text)));
      sheet = new CSSStyleSheet();
      sheet.replaceSync(`${FRAME}\n${stylesOf(text)}`);
      follow(sheet);
      shadow.adoptedStyleSheets = [sheet];
      shadow.replaceChildren(svg);
      for (const [part, style] of styles) part.style.cssText = style;
      if (chosen) for (const node of svg.querySelectorAll(".node")) choosable(node, chosen);
    },
  };
}

const STYLE = /<style>([\s\S]*?)<\/style>/g;

/** @param {string} svg */
function stylesOf(svg) {
  return [...svg.matchAll(STYLE)].map((found) => found[1]).join("\n");
}

/** @param {string} svg */
function withoutStyles(svg) {
  return svg.replace(STYLE, "").replaceAll(" style=\"", " data-style=\"");
}

/**
 * Which parts had a style of their own.
 * @param {SVGSVGElement} svg
 */
function undressed(svg) {
  /** @type {[SVGElement, string][]} */
  const styles = [];
  for (const part of svg.querySelectorAll("[data-style]")) {
    if (part instanceof SVGElement) styles.push([part, part.dataset.style ?? ""]);
  }
  return { svg, styles };
}

/**
 * The system's theme decides in a file; here the page's does.
 * @param {CSSStyleSheet} sheet
 */
function follow(sheet) {
  const isDark = getComputedStyle(document.documentElement).colorScheme === "dark";
  for (const rule of sheet.cssRules) {
    if (rule instanceof CSSMediaRule) rule.media.mediaText = isDark ? "all" : "not all";
  }
}

/**
 * @param {Element} part
 * @param {(node: number) => void} chosen
 */
function choosable(part, chosen) {
  const name = part.querySelector("title")?.textContent?.match(/^P(\d+)/);
  if (name) part.addEventListener("click", () => chosen(Number(name[1])));
}
