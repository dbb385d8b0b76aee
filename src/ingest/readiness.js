/**
 * Minimum duration of a rebalance of the consumer group that makes this process unready, ms. Exported for tests: a
 * bound.
 */
export const REBALANCE_TIME = 15_000

/**
 * Whether ingest is ready, as a member of its consumer group. A rebalance takes it out of the group for a moment; the
 * first one often follows the join at once, when the replaced process leaves.
 *
 * @param {object} dependencies
 * @param {() => { ready: boolean, reason?: string }} dependencies.status of the consumer
 * @param {Pick<import('../base/common/clock.js').Clock, 'monotonic'>} dependencies.clock
 */
export function createReadiness ({ status, clock }) {
  let joinedAt = -Infinity

  /** @returns {boolean} whether it is in the group now */
  function hasJoined () {
    const { ready } = status()
    if (ready) joinedAt = clock.monotonic()
    return ready
  }

  return {
    hasJoined,

    /** @returns {string | null} reason why it is not ready; null: ready */
    problem () {
      if (hasJoined() || clock.monotonic() - joinedAt < REBALANCE_TIME) return null
      return status().reason ?? 'not in the consumer group'
    }
  }
}
