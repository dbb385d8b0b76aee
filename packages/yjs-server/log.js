/** @typedef {{ info: (message: string) => void, error: (message: string) => void }} Log */

/** Time within which the same text is written once, ms. */
const QUIET = 60_000
const MAX_TEXTS = 1000

/** A line each, with its time; the same text at most once a minute. @returns {Log} */
export function createLog () {
  /** @type {Map<string, number>} */
  const written = new Map()
  const line = (/** @type {(line: string) => void} */ write) => (/** @type {string} */ message) => {
    const now = performance.now()
    if (now - (written.get(message) ?? -Infinity) < QUIET) return
    if (written.size >= MAX_TEXTS) written.clear()
    written.set(message, now)
    write(`${new Date().toISOString()} ${message}`)
  }
  return { info: line((text) => console.log(text)), error: line((text) => console.error(text)) }
}
