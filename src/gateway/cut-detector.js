/**
 * Notices a proxy that cuts WebSockets before the heartbeat passes: then connections end without a word, most of
 * them after the same silence, which is the proxy's time-out.
 */

/** Ends that are looked at together. */
const SAMPLE = 50
/** How many of them must be about the same. */
const ALIKE = 40
/** How far they may be apart to be about the same, ms. */
const SPREAD = 1500
/**
 * Shorter ones end for other reasons: a page that is reloaded, a deploy; and new connections are never silent for
 * longer, ms.
 */
const SHORTEST = 6000

/**
 * @param {object} dependencies
 * @param {number} dependencies.pingInterval longest time between two pings, ms
 * @param {import('../common/log.js').Log} dependencies.log
 */
export function createCutDetector ({ pingInterval, log }) {
  /** @type {number[]} the last SAMPLE, ms */
  const silences = []
  let told = false

  return {
    /**
     * A WebSocket connection ended without a word from its client.
     * @param {number} silence since something came from it last, ms
     */
    ended (silence) {
      if (told || silence < SHORTEST) return
      silences.push(silence)
      if (silences.length < SAMPLE) return
      const median = [...silences].sort((a, b) => a - b)[SAMPLE / 2]
      const alike = silences.filter((other) => Math.abs(other - median) < SPREAD).length
      silences.length = 0
      if (alike < ALIKE || median > pingInterval + SPREAD) return
      told = true
      log.warn(
        `most WebSockets end ${Math.round(median / 1000)} s after the last word from their client: a proxy between seems to cut what is idle; raise its time-out above ${Math.ceil(pingInterval / 1000)} s, or lower HEARTBEAT_MAX below ${Math.floor(median / 1000)} s`
      )
    }
  }
}
