import { arriving } from '../observe/metrics/points.js'

/**
 * Arrivals from the bus: records of documents, and publications for users, connections and everyone.
 *
 * @typedef {import('../log/bus/contract.js').BusHandlers} BusHandlers
 */
export class Arrivals {
  #services
  #feeds
  #userCommands
  #directory
  /** Given to observers of an arrival, besides it. */
  #worker
  #ingestedReceived
  #receivedWritten
  #producedWritten

  /**
   * @param {Pick<import('../observe/services.js').Services, 'metrics' | 'log' | 'clock'>} services
   * @param {object} parts
   * @param {import('../documents/feeds.js').Feeds} parts.feeds
   * @param {import('./user-commands.js').UserCommands} parts.userCommands
   * @param {import('./directory.js').Directory} parts.directory
   * @param {import('./connection.js').ConnectionContext['tally']} parts.tally
   * @param {import('../documents/delivery/turn-writes.js').TurnWrites} parts.turnWrites
   */
  constructor (services, { feeds, userCommands, directory, tally, turnWrites }) {
    const { metrics } = services
    this.#services = services
    this.#feeds = feeds
    this.#userCommands = userCommands
    this.#directory = directory
    this.#worker = { by: metrics, tally, turnWrites }
    this.#ingestedReceived = metrics.stage_seconds.labels('ingested_received')
    this.#receivedWritten = metrics.stage_seconds.labels('received_written')
    this.#producedWritten = metrics.stage_seconds.labels('produced_written')
  }

  /** @type {BusHandlers['onRecord']} */
  onRecord = (record) => {
    const { clock } = this.#services
    this.#ingestedReceived.observe(Math.max(0, clock.now() - record.ingestedAt) / 1000)
    const start = clock.monotonic()
    if (arriving.start.hasSubscribers)
      arriving.traceSync(() => this.#feeds.receive(record), { ...this.#worker, ...record })
    else this.#feeds.receive(record)
    this.#receivedWritten.observe((clock.monotonic() - start) / 1000)
    // clocks of other machines may be ahead
    this.#producedWritten.observe(Math.max(0, clock.now() - record.publication.timestamp) / 1000)
  }

  /** @type {BusHandlers['onDirect']} */
  onDirect = (publication, receiptId, at) => {
    const carryOut = () => this.#userCommands.onDirect(publication, receiptId, at)
    if (!arriving.start.hasSubscribers) return carryOut()
    return arriving.traceSync(carryOut, { ...this.#worker, publication })
  }

  /** @type {BusHandlers['onOrders']} */
  onOrders = (uid, known) => this.#userCommands.onOrders(uid, known)

  onOrdersDropped = () => {
    this.#services.log.warn(
      { connections: this.#directory.size }, 'orders were lost: all clients of this worker reconnect'
    )
    for (const connection of [...this.#directory.all()]) connection.giveUp('unavailable, reconnect')
  }

  /** @type {BusHandlers['onReconnect']} */
  onReconnect = (guids) => {
    this.#feeds.check(guids).catch((error) =>
      this.#services.log.debug({ err: error }, 'documents could not be compared with their logs'))
  }
}
