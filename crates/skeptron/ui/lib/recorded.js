// A page that needs no server carries the answers that one would give.

/** What is answered, by what is asked: `PATH`, or `PATH BODY`. @type {Record<string, any> | null} */
const answers = JSON.parse(document.getElementById("answers")?.textContent ?? "null");

/** Whether this page has no server. */
export const standalone = answers !== null;

/**
 * The answer that this page carries; undefined if there is none.
 * @param {string} path
 * @param {unknown} [body] as it would be sent
 * @returns {any}
 */
export function recordedAnswer(path, body) {
  return answers?.[typeof body === "string" ? `${path} ${body}` : path];
}
