import { Backoff } from '../base/common/backoff.js'
import { IdleCheck } from '../base/common/idle-check.js'

/**
 * Finds lost records that no later record follows: compares the idle documents of a worker with the ends of their logs.
 * Reasons and cost: docs/internals/decisions/0050-publisher-and-idle-check.md
 */

/** Each document is compared once per cycle, ms, up to 20,000 documents. */
const CYCLE = 4000
/** ms */
const TICK = 100

/**
 * @typedef {Omit<import('./feed.js').FeedDependencies, 'onBehind' | 'createDelivery'> & {
 *   feeds: ReadonlyMap<string, import('./feed.js').Feed>, signal: AbortSignal
 * }} FeedsToCheck signal: ends the comparisons
 *
 * @param {FeedsToCheck} dependencies
 */
export function checkFeeds ({ feeds, bus, metrics, log, clock, random, signal }) {
  /** For failed calls; the next cycle compares those documents. */
  const backoff = new Backoff({ min: 100, random })

  /** @param {import('./feed.js').Feed} feed @param {import('../wire/position.js').Position | null} end of its log */
  function lookAgain (feed, end) {
    // a record that came meanwhile shows by its offset what is missing before it, and this end is too old
    if (feed.heard || !feed.lags(end)) return
    metrics.silent_losses.inc()
    feed.check(end)
  }

  return new IdleCheck({
    items: feeds,
    cycle: CYCLE,
    tick: TICK,
    clock,
    isIdle (feed) {
      const { heard } = feed
      feed.heard = false
      return !heard
    },
    async compare (idle) {
      try {
        const ends = await bus.positions(idle.map(({ guid }) => guid))
        backoff.reset()
        return idle.flatMap((feed, i) => {
          const end = ends[i]
          return end !== undefined && feed.lags(end) ? [() => lookAgain(feed, end)] : []
        })
      } catch (error) {
        log.debug({ err: error }, 'idle documents cannot be compared with their logs, retrying')
        await clock.sleep(backoff.next(), signal)
        return []
      }
    }
  }).run(signal)
}
