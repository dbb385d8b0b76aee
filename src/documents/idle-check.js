import { Backoff } from '../common/backoff.js'

/**
 * Finds lost records that no later record follows: compares the idle documents of a worker with the ends of their logs,
 * one cycle after the other.
 * Why, and what it costs: docs/decisions/0050-idle-check.md
 */

/** Each document is compared once per cycle, ms, up to MAX_BATCH * CYCLE / TICK documents. */
const CYCLE = 4000
/** A cycle's work is spread over ticks, ms. */
const TICK = 100
/** Documents compared in one tick; with more than 20,000 documents a cycle takes longer. */
const MAX_BATCH = 500

/**
 * @param {object} dependencies
 * @param {ReadonlyMap<string, import('./feed.js').Feed>} dependencies.feeds
 * @param {import('../bus/contract.js').Bus} dependencies.bus
 * @param {import('../metrics/metrics.js').Metrics} dependencies.metrics
 * @param {import('../common/log.js').Log} dependencies.log
 * @param {import('../common/clock.js').Clock} dependencies.clock
 * @param {AbortSignal} dependencies.signal ends it
 */
export async function checkIdle ({ feeds, bus, metrics, log, clock, signal }) {
  // a map iterator continues at its place when entries are added or removed
  let round = feeds.values()
  /**
   * Feeds behind their logs at the last comparison; the missing records may have been on the way.
   * @type {{ feed: import('./feed.js').Feed, end: import('../wire/position.js').Position }[]}
   */
  let suspects = []

  /** For failed calls; the next cycle compares those documents. */
  const backoff = new Backoff({ min: 100 })

  /** Documents to compare in this tick; with few documents less than one in most ticks. */
  let turn = 0

  function nextIdle () {
    const idle = []
    for (turn = Math.min(MAX_BATCH, turn + feeds.size * TICK / CYCLE); turn >= 1; turn--) {
      const feed = round.next().value ?? (round = feeds.values()).next().value
      if (feed === undefined) break
      if (!feed.heard) idle.push(feed)
      feed.heard = false
    }
    return idle
  }

  while (!signal.aborted) {
    await clock.sleep(TICK, signal)
    for (const { feed, end } of suspects) {
      if (!feed.lags(end)) continue
      metrics.silent_losses.inc()
      feed.check(end)
    }
    suspects = []
    const idle = nextIdle()
    if (idle.length === 0) continue
    try {
      const ends = await bus.positions(idle.map(({ guid }) => guid))
      backoff.reset()
      idle.forEach((feed, i) => {
        const end = ends[i]
        if (end != null && feed.lags(end)) suspects.push({ feed, end })
      })
    } catch (error) {
      log.debug({ err: error }, 'idle documents cannot be compared with their logs, retrying')
      await clock.sleep(backoff.next(), signal)
    }
  }
}
