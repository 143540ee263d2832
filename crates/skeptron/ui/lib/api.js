// Talking to the server: JSON, and streams of server-sent events. A page without a server answers itself.
import { recordedAnswer, standalone } from "./recorded.js";
import { say } from "./language.js";

/** Why the server does not do what it is asked; its message is the server's sentence. */
export class Refused extends Error {
  /**
   * @param {string} message
   * @param {number} status
   */
  constructor(message, status) {
    super(message);
    this.name = "Refused";
    this.status = status;
  }
}

const SILENCE = say("the server does not answer; is it still running?");
const TOKEN = "skeptron-token";

/** @param {Record<string, string>} more */
function headers(more) {
  const token = sessionStorage.getItem(TOKEN);
  return token ? { ...more, Authorization: `Bearer ${token}` } : more;
}

/**
 * Asks, and asks the user for the API's token where the server wants one.
 * @param {string} path
 * @param {RequestInit} init
 * @returns {Promise<Response>}
 */
async function ask(path, init) {
  if (standalone) {
    const found = recorded(path, init.body);
    return new Response(typeof found === "string" ? found : JSON.stringify(found));
  }
  const more = /** @type {Record<string, string>} */ (init.headers ?? {});
  let answer;
  try {
    answer = await fetch(path, { ...init, headers: headers(more) });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new Refused(SILENCE, 0);
  }
  if (answer.status === 401) {
    const token = prompt(say("This server wants its API token (`api.token` in its configuration):"));
    if (token) {
      sessionStorage.setItem(TOKEN, token);
      return ask(path, init);
    }
  }
  if (!answer.ok) throw new Refused(await sentence(answer), answer.status);
  return answer;
}

/**
 * What a page without a server knows.
 * @param {string} path
 * @param {unknown} body
 */
function recorded(path, body) {
  const found = recordedAnswer(path, body);
  if (found === undefined) throw new Refused(say("this page plays what was recorded and has no server; `skeptron lab` does the rest"), 0);
  return found;
}

/** @param {Response} answer */
async function sentence(answer) {
  const text = await answer.text();
  try {
    const said = JSON.parse(text);
    if (typeof said.error === "string") return said.error;
  } catch {
    // Not JSON: the text itself says it.
  }
  return text || say("the server answers {status}", { status: answer.status });
}

/**
 * @param {string} path
 * @param {AbortSignal} [signal]
 * @returns {Promise<any>}
 */
export async function getJson(path, signal) {
  return (await ask(path, { signal })).json();
}

/**
 * @param {string} path
 * @param {unknown} body
 * @param {{ method?: string, signal?: AbortSignal }} [options]
 * @returns {Promise<any>}
 */
export async function postJson(path, body, options = {}) {
  const init = { method: "POST", body: JSON.stringify(body), headers: { "Content-Type": "application/json" } };
  return (await ask(path, { ...init, ...options })).json();
}

/**
 * The text of a file that the server makes.
 * @param {string} path
 * @returns {Promise<string>}
 */
export async function getText(path) {
  return (await ask(path, {})).text();
}

/**
 * The text of a file that the server makes of what it is sent.
 * @param {string} path
 * @param {unknown} body
 * @returns {Promise<string>}
 */
export async function postText(path, body) {
  return (await ask(path, { method: "POST", body: JSON.stringify(body), headers: { "Content-Type": "application/json" } })).text();
}

/**
 * Reads a stream of events until it ends or `signal` aborts it (then it returns without an error). With a
 * body it is a POST. Each event goes to the handler of its name; an `error` event without a handler is
 * thrown.
 * @param {string} path
 * @param {{ body?: unknown, signal: AbortSignal, on: Record<string, (data: any) => void> }} options
 * @returns {Promise<void>}
 */
export async function stream(path, { body, signal, on }) {
  /** @type {RequestInit} */
  const init = body === undefined
    ? { signal, headers: { Accept: "text/event-stream" } }
    : { signal, method: "POST", body: JSON.stringify(body), headers: { "Content-Type": "application/json" } };
  if (standalone) {
    for (const [event, data] of recorded(path, init.body)) if (!signal.aborted) on[event]?.(data);
    // As a run that is kept open for what a hand does.
    await new Promise((done) => (signal.aborted ? done(null) : signal.addEventListener("abort", done)));
    return;
  }
  try {
    const answer = await ask(path, init);
    if (!answer.body) return;
    for await (const { event, data } of events(answer.body)) {
      if (signal.aborted) return;
      const handler = on[event];
      if (handler) handler(JSON.parse(data));
      else if (event === "error") throw new Refused(JSON.parse(data).error, 200);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

/**
 * @param {ReadableStream<Uint8Array>} body
 * @returns {AsyncGenerator<{ event: string, data: string }>}
 */
async function* events(body) {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read().catch(() => { throw new Refused(SILENCE, 0); });
    if (done) return;
    rest += decoder.decode(value, { stream: true });
    let end;
    while ((end = rest.indexOf("\n\n")) >= 0) {
      const event = parsed(rest.slice(0, end));
      rest = rest.slice(end + 2);
      if (event) yield event;
    }
  }
}

/** @param {string} block */
function parsed(block) {
  let event = "message";
  const data = [];
  for (const line of block.split("\n")) {
    if (line.startsWith("event:")) event = line.slice(6).trim();
    else if (line.startsWith("data:")) data.push(line.slice(5).trimStart());
  }
  return data.length > 0 ? { event, data: data.join("\n") } : null;
}
