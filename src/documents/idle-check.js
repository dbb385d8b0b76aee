import { Backoff } from '../common/backoff.js'

/**
 * Finds the last record that live delivery has lost while nothing follows it: compares the documents of a worker with
 * the ends of their logs, round and round.
 * Why, and what it costs: docs/decisions/0050-idle-check.md
 */

/** Every document is looked at once in this time, ms, as long as there are no more than MAX_BATCH * CYCLE / TICK. */
export const CYCLE = 4000
/** The work of a cycle is spread: so often a part of it, ms. */
export const TICK = 100
/** Documents asked for in one tick; with more than 20,000 of them a cycle takes longer. */
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
  // goes on where it was, however many are opened and closed meanwhile
  let round = feeds.values()
  /**
   * Were behind when they were last compared; what they lack may have been on its way.
   * @type {{ feed: import('./feed.js').Feed, end: import('../wire/position.js').Position }[]}
   */
  let suspects = []

  /** While nothing is answered; what was asked for then is asked for again in the next round. */
  const backoff = new Backoff({ min: 100 })

  /** How many may be looked at now: of few documents none in most ticks. */
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
      log.debug({ err: error }, 'idle documents cannot be compared with their logs, trying again')
      await clock.sleep(backoff.next(), signal)
    }
  }
}
