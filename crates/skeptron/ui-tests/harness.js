// What every test of the page stands on: the built binary, a real Chromium, and pages that are watched. A
// page fails its test by an error on its console, by an exception, and by a request that leaves its origin.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import { chromium } from "playwright-core";

/** @typedef {import("playwright-core").Page} Page */
/** @typedef {import("playwright-core").Browser} Browser */
/** @typedef {{ width?: number, height?: number, zoom?: number, dark?: boolean, still?: boolean, locale?: string, allow?: RegExp }} Look `zoom` as of a browser: fewer pixels of the page, each larger */
/** @typedef {(hash?: string, look?: Look) => Promise<Page>} Open */

/** Longer than anything here takes, even on a busy machine; so a test that hangs ends. */
const PATIENCE = 20_000;

/** After which a test has failed, whatever it waits for. */
const LONGEST_TEST = 120_000;

const BROWSERS = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/**
 * A server of the binary for the tests of one file, and a browser that visits it.
 * @param {string[]} command `lab`, or `up` with its options
 * @returns {{ test: (name: string, body: (open: Open) => Promise<void>) => void, url: () => string, restart: () => Promise<void> }}
 */
export function site(...command) {
  /** @type {Awaited<ReturnType<typeof serve>>} */
  let server;
  /** @type {Browser} */
  let browser;
  before(async () => {
    server = await serve(command);
    browser = await launch();
  });
  after(async () => {
    await browser?.close();
    await server?.stop();
  });
  return {
    url: () => server.url,
    /** Ends the server and starts another one at the same port. */
    restart: async () => {
      const { port } = new URL(server.url);
      await server.stop();
      server = await serve(command, port);
    },
    test: (name, body) => void test(name, { timeout: LONGEST_TEST }, () => watched(name, browser, server.url, body, command[0] === "lab" ? undefined : process.env.SKEPTRON_UI)),
  };
}

/**
 * A browser for the tests of one file that need no server: what it visits are files.
 * @returns {{ test: (name: string, body: (open: Open) => Promise<void>) => void }}
 */
export function files() {
  /** @type {Browser} */
  let browser;
  before(async () => { browser = await launch(); });
  after(async () => { await browser?.close(); });
  return { test: (name, body) => void test(name, { timeout: LONGEST_TEST }, () => watched(name, browser, "file://", body)) };
}

/**
 * Runs the binary to its end.
 * @param {string[]} command
 * @returns {{ code: number | null, out: string }}
 */
export function run(...command) {
  const ended = spawnSync(binary(), command, { encoding: "utf8" });
  return { code: ended.status, out: ended.stdout + ended.stderr };
}

/**
 * Something of a view by the name that it gives to tests.
 * @param {Page} page
 * @param {string} name
 */
export function part(page, name) {
  return page.locator(`[data-test="${name}"]`);
}

/**
 * The file that something offers.
 * @param {Page} page
 * @param {() => Promise<void>} deed
 * @returns {Promise<{ name: string, text: string }>}
 */
export async function downloaded(page, deed) {
  const [file] = await Promise.all([page.waitForEvent("download"), deed()]);
  const chunks = [];
  for await (const chunk of await file.createReadStream()) chunks.push(chunk);
  return { name: file.suggestedFilename(), text: Buffer.concat(chunks).toString() };
}

/**
 * The part of a page's address that makes its view, once the page has noted what the pattern says.
 * @param {Page} page
 * @param {RegExp} pattern
 * @returns {Promise<string>}
 */
export async function link(page, pattern) {
  await page.waitForURL(pattern);
  // What is shown is noted a few times a second: what comes last must be in it, too.
  await page.waitForTimeout(400);
  return new URL(page.url()).hash;
}

/**
 * Until a view is there.
 * @param {Page} page
 * @param {string} view
 */
export async function shown(page, view) {
  await page.locator(`main.view-${view} > :not(link)`).first().waitFor();
}

/**
 * Until nothing comes any more: the text of the page has been the same for a while.
 * @param {Page} page
 */
export async function settled(page) {
  let before = "";
  for (let same = 0, looked = 0; same < 4 && looked < 80; looked += 1) {
    const now = await page.evaluate(() => document.body.innerHTML);
    same = now === before ? same + 1 : 0;
    before = now;
    await page.waitForTimeout(120);
  }
}

function binary() {
  const path = process.env.SKEPTRON_BIN;
  assert(path, "SKEPTRON_BIN names the built binary: `cargo build -p skeptron` makes target/debug/skeptron");
  return path;
}

/**
 * @param {string[]} command
 * @param {string} [port]
 */
export async function serve(command, port = "0") {
  const folder = process.env.SKEPTRON_UI;
  const more = folder && command[0] === "lab" ? ["--ui", folder] : [];
  const child = spawn(binary(), [...command, "--port", port, "--json", ...more], { stdio: ["ignore", "pipe", "inherit"] });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  const ready = await Promise.race([firstLine(child.stdout), ended]);
  assert(typeof ready === "string", `skeptron ${command.join(" ")} ended before it was ready`);
  return {
    url: addressIn(JSON.parse(ready)),
    stop: () => {
      child.kill("SIGTERM");
      return ended;
    },
  };
}

/** @param {import("node:stream").Readable} stream */
async function firstLine(stream) {
  for await (const line of createInterface({ input: stream })) return line;
}

/** `lab` says its address, `up` that of its lab. @param {any} ready */
function addressIn(ready) {
  return new URL("/", ready.url ?? ready.lab).href;
}

/** @returns {Promise<Browser>} */
export function launch() {
  const executablePath = process.env.CHROMIUM ?? BROWSERS.find((path) => existsSync(path));
  assert(executablePath, "no Chromium here: install it, or name it by CHROMIUM");
  // As root Chromium has no sandbox; no name resolves, so nothing it tries reaches another machine.
  const args = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--no-first-run", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"];
  return chromium.launch({ executablePath, args });
}

/**
 * @param {string} name
 * @param {Browser} browser
 * @param {string} url
 * @param {(open: Open) => Promise<void>} body
 * @param {string} [folder] from which the page is taken instead of from the server
 */
async function watched(name, browser, url, body, folder) {
  /** @type {import("playwright-core").BrowserContext[]} */
  const contexts = [];
  /** @type {string[]} */
  const complaints = [];
  /** @type {Open} */
  const open = async (hash = "", look = {}) => {
    const context = await browser.newContext(contextFor(look));
    contexts.push(context);
    if (folder) await context.route(`${url}ui/**`, (route) => route.fulfill({ path: join(folder, new URL(route.request().url()).pathname.slice("/ui/".length)) }));
    const page = await context.newPage();
    page.setDefaultTimeout(PATIENCE);
    watch(page, url, look.allow, complaints);
    await page.goto(url + hash);
    return page;
  };
  try {
    await body(open);
    assert.deepEqual(complaints, [], "the page complains");
  } catch (error) {
    await keepPictures(name, contexts);
    if (complaints.length > 0) console.error(`${name}: the page complained: ${complaints.join("; ")}`);
    throw error;
  } finally {
    await Promise.all(contexts.map((context) => context.close()));
  }
}

/** @param {Look} look @returns {import("playwright-core").BrowserContextOptions} */
function contextFor({ width = 1280, height = 800, zoom = 1, dark = false, still = false, locale = "en-US" }) {
  return {
    viewport: { width: Math.round(width / zoom), height: Math.round(height / zoom) },
    deviceScaleFactor: zoom,
    locale,
    colorScheme: dark ? "dark" : "light",
    reducedMotion: still ? "reduce" : "no-preference",
    acceptDownloads: true,
    permissions: ["clipboard-read", "clipboard-write"],
  };
}

/**
 * @param {Page} page
 * @param {string} url
 * @param {RegExp | undefined} allow errors that the test itself provokes
 * @param {string[]} complaints
 */
function watch(page, url, allow, complaints) {
  const complain = (/** @type {string} */ what) => {
    if (!allow?.test(what)) complaints.push(what);
  };
  page.on("console", (message) => {
    if (message.type() === "error") complain(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => complain(`exception: ${error.message}`));
  page.on("request", (request) => {
    const target = request.url();
    const within = target.startsWith(url) || target.startsWith("blob:") || target.startsWith("data:");
    if (!within) complain(`request to ${target}`);
  });
}

/**
 * What was on the screen when a test failed.
 * @param {string} name
 * @param {import("playwright-core").BrowserContext[]} contexts
 */
async function keepPictures(name, contexts) {
  const folder = new URL("failures/", import.meta.url);
  mkdirSync(folder, { recursive: true });
  const pages = contexts.flatMap((context) => context.pages());
  for (const [index, page] of pages.entries()) {
    const file = `${name.replace(/[^a-z0-9]+/gi, "-")}-${index + 1}.png`;
    const path = decodeURIComponent(new URL(file, folder).pathname);
    await page.screenshot({ path }).then(() => console.error(`see ${path}`), () => {});
  }
}
