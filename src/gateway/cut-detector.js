/**
 * Notices a proxy that cuts WebSockets before the heartbeat passes: then connections end without a word, most of
 * them at the same age, which is the proxy's time-out.
 */

/** Ends that are looked at together. */
const SAMPLE = 50
/** How many of them must have about the same age. */
const ALIKE = 40
/** How far ages may be apart to be about the same, ms. */
const SPREAD = 1500
/** Younger ones end for other reasons: a page that is reloaded, a deploy, ms. */
const YOUNGEST = 5000

/**
 * @param {object} dependencies
 * @param {number} dependencies.pingInterval longest time between two pings, ms
 * @param {import('../log.js').Log} dependencies.log
 */
export function createCutDetector ({ pingInterval, log }) {
  /** @type {number[]} the last SAMPLE ages, ms */
  const ages = []
  let told = false

  return {
    /**
     * A WebSocket connection ended without a word from its client.
     * @param {number} age ms
     */
    ended (age) {
      if (told || age < YOUNGEST) return
      ages.push(age)
      if (ages.length < SAMPLE) return
      const median = [...ages].sort((a, b) => a - b)[SAMPLE / 2]
      const alike = ages.filter((other) => Math.abs(other - median) < SPREAD).length
      ages.length = 0
      if (alike < ALIKE || median > pingInterval + SPREAD) return
      told = true
      log.warn(`most WebSockets end ${Math.round(median / 1000)} s after they began, without a word from the client: a proxy between seems to cut what is idle; raise its time-out above ${Math.ceil(pingInterval / 1000)} s, or lower HEARTBEAT_MAX below ${Math.floor(median / 1000)} s`)
    }
  }
}
