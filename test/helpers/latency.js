/**
 * Latency from a key on one page to the screen of another, measured in the pages: from the `input` event on the first
 * to the first frame on the second that shows the letter. Both read the same clock (performance.timeOrigin +
 * performance.now()).
 *
 * @typedef {import('./browser.js').DemoPage} DemoPage
 */

/** Keys per measurement, and the pause between two, ms. */
const KEYS = 60
const PAUSE = 60
/** Maximum number of measurements; the lowest median counts, because other processes may use the machine. */
const ROUNDS = 3

/**
 * @param {DemoPage} writer
 * @param {DemoPage} reader
 * @param {string} cell empty
 * @returns {Promise<{ median: number, p95: number, count: number }>} ms
 */
async function measure (writer, reader, cell) {
  await reader.page.evaluate(`{
    const text = document.querySelector('#sheet td[data-cell="${cell}"] .text')
    globalThis.shown = {}
    new MutationObserver(() => {
      const { length } = text.textContent
      requestAnimationFrame(() => { globalThis.shown[length] ??= performance.timeOrigin + performance.now() })
    }).observe(text, { childList: true, characterData: true, subtree: true })
  }`)
  await writer.page.evaluate(`{
    globalThis.typed = {}
    document.querySelector('#sheet td[data-cell="${cell}"]').addEventListener('input', ({ target }) => {
      globalThis.typed[target.value.length] = performance.timeOrigin + performance.now()
    }, { capture: true })
  }`)
  const text = 'a'.repeat(KEYS)
  await writer.field(cell).focus()
  await writer.page.keyboard.type(text, { delay: PAUSE })
  await reader.shows(cell, text)
  const [typed, shown] = await Promise.all([
    writer.page.evaluate('globalThis.typed'),
    reader.page.evaluate('globalThis.shown')
  ])
  // letters may be shown together; each is timed from its own key
  const lengths = Object.keys(shown).map(Number).sort((a, b) => a - b)
  const times = Array.from(
    { length: KEYS },
    (_, i) => shown[lengths.find((length) => length > i) ?? KEYS] - typed[i + 1]
  ).sort((a, b) => a - b)
  return { median: times[KEYS >> 1], p95: times[Math.floor(0.95 * KEYS)], count: KEYS }
}

/**
 * @param {import('node:test').TestContext} t
 * @param {DemoPage} writer
 * @param {DemoPage} reader
 * @param {number} enough ms; a lower median ends the measurement
 * @returns {Promise<number>} the best median, ms
 */
export async function keyToScreen (t, writer, reader, enough) {
  let best = Infinity
  for (let round = 0; round < ROUNDS && best >= enough; round++) {
    const { median, p95, count } = await measure(writer, reader, `A${8 + round}`)
    t.diagnostic(
      `keystroke to screen, ${count} letters: median ${median.toFixed(1)} ms, p95 ${p95.toFixed(1)} ms`
    )
    best = Math.min(best, median)
  }
  return best
}
