/**
 * Deliveries of traced records. A stage lasts from the record's arrival at this worker until what it queued is written:
 * at the end of the turn.
 *
 * @param {object} dependencies
 * @param {import('../tracing/tracing.js').Tracing} dependencies.tracing
 * @param {{ json: number, msgpack: number, bytes: number }} dependencies.tally deliveries of this worker
 * @param {import('../delivery/turn-writes.js').TurnWrites} dependencies.turnWrites
 * @param {Pick<import('../common/clock.js').Clock, 'now'>} dependencies.clock
 */
export const createTracedDeliveries = ({ tracing, tally, turnWrites, clock }) =>
  /**
   * @template T
   * @param {import('../wire/publication.js').Publication} publication
   * @param {import('../tracing/stage.js').Details} details
   * @param {() => T} deliver
   * @returns {T}
   */
  function traced (publication, details, deliver) {
    const stage = tracing.begin('deliver', publication)
    if (stage === undefined) return deliver()
    const age = Math.max(0, clock.now() - publication.timestamp)
    const before = tally.json + tally.msgpack
    const bytesBefore = tally.bytes
    const result = deliver()
    const clients = tally.json + tally.msgpack - before
    const bytes = tally.bytes - bytesBefore
    turnWrites.afterFlush(() => stage.end({ ...details, age, clients, bytes }))
    return result
  }
