import { Backoff } from '../common/backoff.js'
import { InkcastError } from '../common/errors.js'
import { PAGE } from './feed.js'

/**
 * Members that take less than their documents bring: they get nothing live, but what they missed from the log, no
 * faster than they take it, until nothing is missing. The documents of one member take turns, a page each.
 *
 * @typedef {import('./feed.js').Feed} Feed
 * @typedef {import('./feed.js').Member} Member
 * @typedef {import('../wire/position.js').Position} Position
 *
 * @typedef {object} Missing a document that a member is behind with
 * @property {Feed} feed
 * @property {Position} have
 * @property {number} limit records of its next page: twice what the member took of the last one
 * @property {number} from when it may be read again, after it could not be, ms
 * @property {Backoff} backoff
 */

/** Records that are read first. */
const FIRST = 8

/**
 * @param {object} dependencies
 * @param {(feed: Feed, member: Member, have: Position, wanted: () => boolean, limit: number) => Promise<null | 'epoch'
 *   | 'trimmed'>} dependencies.replayPage
 * @param {AbortSignal} dependencies.signal ends it
 * @param {(error: unknown) => void} dependencies.onFailure the log could not be read
 * @param {import('../common/log.js').Log} dependencies.log
 * @param {import('../common/clock.js').Clock} dependencies.clock
 */
export function createCatchUp ({ replayPage, signal, onFailure, log, clock }) {
  /** In the order of their turns; a member is here while it is behind with any. @type {Map<Member, Missing[]>} */
  const behind = new Map()

  /**
   * @param {Member} member
   * @param {Missing} missing
   * @returns {Promise<boolean>} whether it is done with
   */
  async function turn (member, missing) {
    const { feed, have } = missing
    // not that of a later time, if it has left and joined again
    const wanted = () => feed.missingFrom(member) === have
    const { offset } = have
    const failed = (/** @type {unknown} */ error) => {
      missing.from = clock.monotonic() + missing.backoff.next()
      onFailure(error)
      return false
    }
    /** @type {null | 'epoch' | 'trimmed'} */
    let gap
    try {
      gap = await replayPage(feed, member, have, wanted, missing.limit)
    } catch (error) {
      return failed(error)
    }
    // Nothing is awaited from here on, so no live record can come between.
    if (!wanted()) return true
    const { position } = feed
    if (have.epoch !== position.epoch) gap ??= 'epoch'
    if (gap !== null || have.offset >= position.offset) {
      feed.rejoin(member, gap === null ? have.offset : position.offset)
      if (gap !== null) member.resync(feed.guid, { ...position }, gap)
      return true
    }
    // the log has less than came live, as after a failover; it is not asked in a loop
    if (have.offset === offset && member.drained() === undefined)
      return failed(new InkcastError('unavailable', 'the log has less than came live'))
    missing.backoff.reset()
    missing.limit = Math.min(PAGE, 2 * (have.offset - offset) + 1)
    return false
  }

  /** @param {Member} member @param {Missing[]} queue */
  async function serve (member, queue) {
    try {
      while (queue.length > 0 && !signal.aborted) {
        const now = clock.monotonic()
        const next = queue.findIndex(({ from }) => from <= now)
        if (next === -1) {
          await clock.sleep(Math.min(...queue.map(({ from }) => from)) - now, signal)
          continue
        }
        const [missing] = queue.splice(next, 1)
        if (await turn(member, missing)) member.caughtUp()
        else queue.push(missing)
      }
    } catch (error) {
      if (!signal.aborted) log.error({ err: error }, 'a member that was behind does not catch up')
    } finally {
      // at once: whatever it falls behind with from here on is served anew
      behind.delete(member)
    }
  }

  /** @param {Feed} feed @param {Member} member that has just fallen behind @param {Position} have what it has */
  return (feed, member, have) => {
    member.fellBehind()
    const missing = { feed, have, limit: FIRST, from: -Infinity, backoff: new Backoff({ min: 100 }) }
    const others = behind.get(member)
    if (others !== undefined) {
      others.push(missing)
    } else {
      const queue = [missing]
      behind.set(member, queue)
      serve(member, queue)
    }
  }
}
