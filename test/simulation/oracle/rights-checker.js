import { LeaseLook } from './lease-look.js'

/**
 * @typedef {import('./rights-ledger.js').Line} Line
 * @typedef {import('./rights-ledger.js').OrderKind} OrderKind
 *
 * @typedef {object} Asked what a page has asked for
 * @property {Line} line
 * @property {string} event
 * @property {string} guid
 * @property {number} at virtual ms
 * @property {boolean} wasWithoutLease whether the lease of the worker had ended then
 */

/** Events that use a right. */
const USES = new Set(['doc:join', 'doc:send', 'doc:signal', 'doc:history'])

/** Judges what pages see by what a service has ordered, and by the leases of the workers. */
export class RightsChecker {
  /** Number of checks of each kind. */
  counts = { accepted: 0, forbidden: 0, 'not joined': 0, unavailable: 0, delivered: 0, ends: 0, 'without a lease': 0 }

  /**
   * @param {object} parts
   * @param {import('../world/world.js').World} parts.world
   * @param {import('../parts/cluster.js').Cluster} parts.cluster
   * @param {import('./rights-ledger.js').RightsLedger} parts.ledger
   */
  constructor ({ world, cluster, ledger }) {
    this.world = world
    this.ledger = ledger
    this.leases = new LeaseLook({ world, cluster })
  }

  /** @param {Line} line @param {string} sentence */
  #violation (line, sentence) { this.world.violation(`${line.page} of ${line.uid} (${line.sid}) ${sentence}`) }

  /** @param {Line} line */
  connected (line) {
    const ban = this.ledger.banned(line.uid, line.begunAt)
    if (ban !== undefined) this.#violation(line, `is connected after ${ban}`)
  }

  /** @param {Line} line @param {string} code */
  refusedHandshake (line, code) {
    if (code === 'banned' && !this.ledger.isOrdered(['kick'], line.uid, '', 0))
      this.#violation(line, 'is banned without a ban')
  }

  /** The gateway has ended a connection. @param {Line} line @param {string} code */
  ended (line, code) {
    this.counts.ends++
    if (code === 'kicked' && !this.ledger.isOrdered(['kick'], line.uid, '', line.begunAt))
      this.#violation(line, 'is disconnected by a kick that was answered before it began')
  }

  /**
   * A document is open: after a request of the page, or because a service has opened it.
   * @param {Line} line @param {string} guid @param {boolean} wasAsked
   */
  joined (line, guid, wasAsked) {
    const begun = wasAsked ? line.begunAt : this.ledger.firstJoin(line, guid)
    if (begun === undefined) return this.#violation(line, `has ${guid} opened without a request or an order`)
    const withdrawn = this.ledger.withdrawn(line, guid, begun)
    if (withdrawn !== undefined) this.#violation(line, `has ${guid} opened after ${withdrawn}`)
  }

  /** A document was taken off. @param {Line} line @param {string} guid @param {OrderKind[]} kinds of orders that do */
  lost (line, guid, kinds) {
    this.counts.ends++
    const since = line.documents.get(guid)?.askedAt ?? line.begunAt
    if (!this.ledger.isOrdered(kinds, line.uid, guid, since))
      this.#violation(line, `loses ${guid} by an order (${kinds.join(' or ')}) that was answered before it had it`)
  }

  /**
   * A page has got something of a document.
   * @param {Line} line @param {string} guid
   * @param {number} begun when it began to be published, virtual ms
   */
  got (line, guid, begun) {
    this.counts.delivered++
    const { ledger } = this
    const why = ledger.withdrawn(line, guid, begun) ?? ledger.ended(line, begun) ?? ledger.closed(line, guid, begun)
    if (why !== undefined) this.#violation(line, `gets what was published to ${guid} after ${why}`)
  }

  /** @param {Line} line @param {string} event @param {string} guid @returns {Asked} */
  asks (line, event, guid) {
    return { line, event, guid, at: this.world.time, wasWithoutLease: this.leases.hasEnded(line.sid) }
  }

  /** @param {Asked} asked @param {any} answer */
  answered ({ line, event, guid, at, wasWithoutLease }, answer) {
    if (!USES.has(event)) return
    const isWithout = wasWithoutLease && this.leases.hasEnded(line.sid)
    if (isWithout) this.counts['without a lease']++
    if (!answer.ok) return this.#refused(answer.error)
    this.counts.accepted++
    const { ledger } = this
    const why = ledger.withdrawn(line, guid, at) ?? ledger.ended(line, at) ??
      (event === 'doc:join' ? undefined : ledger.closed(line, guid, at))
    if (why !== undefined) this.#violation(line, `may ${event} in ${guid} after ${why}`)
    if (isWithout) this.#violation(line, `may ${event} in ${guid} on a worker whose lease has ended`)
  }

  /** @param {{ code: string }} error */
  #refused ({ code }) {
    if (code === 'forbidden') this.counts.forbidden++
    if (code === 'not_joined') this.counts['not joined']++
    if (code === 'unavailable') this.counts.unavailable++
  }
}
