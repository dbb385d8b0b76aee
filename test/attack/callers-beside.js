/**
 * Well-behaved callers of the api and a scrape of the metrics beside an attack, with connections of their own.
 */
import { setTimeout as delay } from 'node:timers/promises'

const CALLERS = 5
/** Pause of a caller between two requests, ms. */
const PAUSE = 50
const SCRAPE_EVERY = 1000

/** @param {{ apiUrl: string, adminUrl: string, apiToken: string }} urls */
export function startCallers ({ apiUrl, adminUrl, apiToken }) {
  let over = false
  let callers = emptyResult()
  let scrapes = emptyResult()

  /** @param {string} url @param {RequestInit} options @param {() => ReturnType<typeof emptyResult>} result */
  async function ask (url, options, result) {
    const begin = performance.now()
    try {
      const answer = await fetch(url, options)
      const text = await answer.text()
      if (answer.status !== 200) throw new Error(`${answer.status} ${text.slice(0, 200)}`)
      result().latencies.push(performance.now() - begin)
    } catch (error) {
      const { failed } = result()
      if (failed.length < 10) failed.push(String(/** @type {any} */ (error).cause ?? error))
    }
  }
  const headers = { authorization: `Bearer ${apiToken}` }
  const running = [
    ...Array.from({ length: CALLERS }, async (_, i) => {
      while (!over) {
        await ask(`${apiUrl}/v1/documents/caller-${i}/position`, { headers }, () => callers)
        await delay(PAUSE)
      }
    }),
    (async () => {
      while (!over) {
        await ask(`${adminUrl}/metrics`, {}, () => scrapes)
        await delay(SCRAPE_EVERY)
      }
    })()
  ]
  return {
    /** Discards what was measured. */
    measure () { [callers, scrapes] = [emptyResult(), emptyResult()] },
    /** Ends the requests. */
    async report () {
      over = true
      await Promise.all(running)
      return { callers, scrapes }
    }
  }
}

/** @returns {{ latencies: number[], failed: string[] }} latencies in ms; failed: the first causes */
const emptyResult = () => ({ latencies: [], failed: [] })
