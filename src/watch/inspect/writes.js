/**
 * To which clients a record was written, and how long that took: one event per record and watch, and not one per
 * client.
 *
 * @typedef {import('./contract.js').InspectEvent} InspectEvent
 * @typedef {import('../../wire/publication.js').Publication} Publication
 * @typedef {import('../../observe/metrics/points.js').Client} Client
 */

/** Clients that an event lists; it counts the others. */
const MAX_CLIENTS = 50

/** A record on its way through this worker. */
export class Trace {
  /** Those that are not sent yet; there are few. @type {{ id: string, event: InspectEvent }[]} */
  #open = []
  /** Codecs whose message is marked. @type {Set<string>} */
  #marked = new Set()
  #report

  /**
   * @param {object} options
   * @param {Publication} options.publication
   * @param {number} [options.offset]
   * @param {readonly string[]} options.ids of the watches of the record itself
   * @param {number} options.startedAt monotonic ms
   * @param {(trace: Trace, connection: any, hop: import('./contract.js').Hop, reason?: string) => void} options.report
   */
  constructor ({ publication, offset, ids, startedAt, report }) {
    this.publication = publication
    this.offset = offset
    this.ids = ids
    this.startedAt = startedAt
    this.#report = report
  }

  /** @type {import('../../observe/metrics/points.js').DeliveryTrace['delivering']} */
  delivering ({ codec, context }, delivery) {
    context.turnWrites.traced = true
    if (this.#marked.has(codec)) return
    this.#marked.add(codec)
    delivery.messages(codec)[0].trace = this
  }

  /** @type {import('../../observe/metrics/points.js').DeliveryTrace['tell']} */
  tell (connection, fate) {
    if (fate !== 'withheld') this.#report(this, connection, fate)
    else if (this.offset !== undefined) this.#report(this, connection, 'behind')
    else this.#report(this, connection, 'dropped', 'slow')
  }

  /**
   * @param {string} id of a watch
   * @param {import('./contract.js').Hop} hop
   * @param {Client} connection
   * @param {{ now: number, at: number }} when monotonic, and ms since 1970
   * @param {string} [reason]
   * @returns {InspectEvent | undefined} the event, if it is new; later clients are added to it until `sent`
   */
  add (id, hop, { uid, id: sid, client }, { now, at }, reason) {
    const known = this.#find(id, hop, reason)
    const ms = round(now - this.startedAt)
    const event = known ?? this.#event(hop, at, reason)
    event.at = at
    if (ms > /** @type {number} */ (event.ms)) event.ms = ms
    event.count = (event.count ?? 0) + 1
    const clients = /** @type {import('./contract.js').Receiver[]} */ (event.clients)
    if (clients.length < MAX_CLIENTS) clients.push({ uid, sid, client, ms })
    if (known !== undefined) return undefined
    this.#open.push({ id, event })
    return event
  }

  /** Its events are about to be sent: later clients are in new ones. */
  sent () { this.#open = [] }

  /** @param {string} id @param {string} hop @param {string | undefined} reason */
  #find (id, hop, reason) {
    for (const { id: known, event } of this.#open)
      if (known === id && event.hop === hop && event.reason === reason) return event
    return undefined
  }

  /**
   * @param {import('./contract.js').Hop} hop
   * @param {number} at
   * @param {string | undefined} reason
   * @returns {InspectEvent}
   */
  #event (hop, at, reason) {
    return {
      at,
      hop,
      ...describe(this.publication),
      offset: this.offset,
      age: Math.max(0, at - this.publication.timestamp),
      ms: 0,
      reason,
      count: 0,
      clients: []
    }
  }
}

/** @param {Publication} publication @returns {Partial<InspectEvent>} what events say about it: not its value */
export const describe = ({ operator, traceId, event, guid, uid, sid }) => ({ operator, traceId, event, guid, uid, sid })

/** @param {number} ms */
const round = (ms) => Math.round(ms * 100) / 100
