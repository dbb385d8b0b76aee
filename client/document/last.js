import { badRequest } from '../common/error.js'
import { delayBefore } from '../connection/delay.js'
import { clock } from '../common/clock.js'

/**
 * Opens a document with its newest records. The gateway sends them with the join. A Document that is opened while the
 * client has the document joined already reads them from the history.
 *
 * @typedef {import('../types.js').Shared & { link: { isOwn: (connectionId: string) => boolean } }} Membership
 * @typedef {import('./inbox.js').Inbox} Inbox
 * @typedef {import('../types.js').LoggedRecord} LoggedRecord
 *
 * @typedef {object} Last
 * @property {{ last: number }} [last] a field of the join: the number of newest records
 * @property {(membership: Membership, inbox: Inbox) => Promise<void>} [fill] begins a further Document with the newest
 *   records; never rejects
 */

/** Reason to hold events. */
const LAST = 'last'
/** The gateway's limit. */
const MAX = 1000
/** Maximum records per request, the gateway's limit. */
const PAGE = 100

/**
 * @param {import('./options.js').OpenOptions} options with a `last`
 * @returns {Last} nothing, if there is a position: it takes precedence
 * @throws {import('../common/error.js').ClientError} bad_request
 */
export function lastOf ({ last, load, position }) {
  const count = /** @type {number} */ (last)
  if (!Number.isSafeInteger(count) || count < 1 || count > MAX) throw badRequest(`last must be a whole number from 1 to ${MAX}`)
  if (load) throw badRequest('use either `last` or `load`: a loaded document needs no earlier records')
  return position == null ? { last: { last: count }, fill: (membership, inbox) => fill(membership, inbox, count) } : {}
}

/** @param {Membership} membership @param {Inbox} inbox @param {number} count */
async function fill (membership, inbox, count) {
  const { held } = inbox
  held.reasons.add(LAST)
  for (let failures = 0; !inbox.closed; failures++) {
    try {
      const position = await membership.whenJoined()
      const records = await readNewest(membership, position, count)
      const { epoch, offset } = position
      // another log may have begun meanwhile
      const live = held.events.filter(([, [, meta]]) => !(meta?.epoch === epoch && meta.offset <= offset))
      held.replace()
      for (const { event, payload, meta } of records) {
        if (inbox.echo || !membership.link.isOwn(meta.from ?? ''))
          inbox.record(event, [payload, { ...meta, epoch }])
      }
      held.replace([...held.events, ...live])
      break
    } catch (error) {
      const { code, retryable } = /** @type {import('../common/error.js').ClientError} */ (error)
      membership.log('last failed', code)
      // without a join the error is that of a refused client, which the page may connect again
      if (!retryable && membership.joined) {
        inbox.emit('resync', [{ position: inbox.position, reason: 'trimmed' }])
        break
      }
      await new Promise((resolve) => { clock.timer(delayBefore(failures), () => resolve(undefined)) })
    }
  }
  held.release(LAST)
  membership.dealtWith()
}

/**
 * @param {Pick<Membership, 'history'>} membership
 * @param {import('./positions.js').Position} end later records arrive live
 * @param {number} count
 * @returns {Promise<LoggedRecord[]>} in order; none, if the log is another one by now
 */
export async function readNewest (membership, end, count) {
  /** @type {LoggedRecord[]} */
  let found = []
  for (let before = end.offset + 1, more = true; more && found.length < count;) {
    const page = await membership.history({ before, limit: Math.min(PAGE, count - found.length) })
    if (page.position.epoch !== end.epoch) return []
    found = [...page.records, ...found]
    more = page.more && page.records.length > 0
    before = found[0]?.meta.offset ?? 0
  }
  return found
}
