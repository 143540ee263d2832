// The page: which view is shown, and what all views share.
import { h, clear, toast } from "./lib/dom.js";
import { getJson } from "./lib/api.js";
import { current, exactLink, onChange, href } from "./lib/address.js";
import { themeButton } from "./lib/theme.js";
import { languageChoice, say } from "./lib/language.js";

/** @typedef {(root: HTMLElement, address: import("./lib/address.js").Address) => (() => void)} Show */

/** The views, in the order of the navigation. Each is loaded when it is first shown. */
const VIEWS = [
  { name: "play", title: say("Play"), needs: "runs", load: () => import("./play/view.js") },
  { name: "scenarios", title: say("Scenarios"), needs: "runs", load: () => import("./scenarios/view.js") },
  { name: "exercises", title: say("Exercises"), needs: "runs", load: () => import("./exercises/view.js") },
  { name: "compare", title: say("Compare"), needs: "runs", load: () => import("./compare/view.js") },
  { name: "check", title: say("Check"), needs: "runs", load: () => import("./check/view.js") },
  { name: "quorums", title: say("Quorums"), needs: "runs", load: () => import("./quorums/view.js") },
  { name: "elections", title: say("Elections"), needs: "runs", load: () => import("./elections/view.js") },
  { name: "cluster", title: say("Cluster"), needs: "cluster", load: () => import("./cluster/view.js") },
];

const root = /** @type {HTMLElement} */ (document.getElementById("view"));
const nav = /** @type {HTMLElement} */ (document.getElementById("views"));

/** Ends the view that is shown. */
let end = () => {};
/** Counts changes of the address, so that a view that loads late is not shown over a later one. */
let turn = 0;

/** @param {import("./wire.js").About} about */
function offered(about) {
  return VIEWS.filter((view) => view.needs !== "runs" || about.runs);
}

/** @param {typeof VIEWS} views */
function fillNavigation(views) {
  clear(nav);
  for (const view of views) {
    nav.append(h("a", { href: href(view.name), "data-view": view.name }, view.title));
  }
}

/** @param {typeof VIEWS} views */
async function showCurrent(views) {
  const mine = ++turn;
  const address = current();
  const view = views.find((view) => view.name === address.view) ?? views[0];
  for (const link of nav.querySelectorAll("a")) {
    if (link.dataset.view === view.name) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${view.title} · ${say("Skeptron lab")}`;
  const module = await view.load();
  if (mine !== turn) return;
  end();
  end = () => {};
  clear(root);
  root.className = `view-${view.name}`;
  end = module.show(root, address);
}

function setUpTools() {
  const skip = /** @type {HTMLElement} */ (document.querySelector(".skip"));
  skip.textContent = say("Skip to the view");
  nav.setAttribute("aria-label", say("Views"));
  const copy = /** @type {HTMLButtonElement} */ (document.getElementById("copy-link"));
  copy.textContent = say("Copy link");
  const brand = /** @type {HTMLElement} */ (document.querySelector(".brand span"));
  brand.textContent = say("Skeptron lab");
  copy.title = say("Copy a link that shows exactly this");
  copy.addEventListener("click", async () => {
    const link = exactLink();
    if ("why" in link) return toast(say("Not copied: {why}", { why: link.why }));
    try {
      await navigator.clipboard.writeText(link.href);
      toast(say("Link copied: it shows exactly this."));
    } catch {
      toast(say("The browser does not let the page copy; take the address from its bar."));
    }
  });
  themeButton(/** @type {HTMLButtonElement} */ (document.getElementById("theme")));
  languageChoice(/** @type {HTMLSelectElement} */ (document.getElementById("language")), mayGo);
}

/** Before the page is loaded anew: notes what is shown, and asks if something would be lost. */
function mayGo() {
  const link = exactLink();
  return "href" in link || confirm(say("Another language loads the page anew, and what is shown is lost: {why}", { why: link.why }));
}

async function begin() {
  setUpTools();
  try {
    const about = /** @type {import("./wire.js").About} */ (await getJson("/lab/about"));
    const views = offered(about);
    fillNavigation(views);
    onChange(() => showCurrent(views).catch(failed));
    await showCurrent(views);
  } catch (error) {
    failed(error);
  }
}

/** @param {unknown} error */
function failed(error) {
  const why = error instanceof Error ? error.message : String(error);
  clear(root);
  root.append(h("div", { class: "notice bad", role: "alert" }, say("This cannot be shown: {why}", { why })));
}

begin();
