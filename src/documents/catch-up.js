import { Backoff } from '../base/common/backoff.js'
import { InkcastError } from '../base/common/errors.js'
import { PAGE } from './feed.js'

/**
 * Members that read more slowly than their documents publish. They get no live records; they get the missed ones from
 * the log, at their own speed, until none is missing. The documents of one member take turns, a page each.
 *
 * @typedef {import('./feed.js').Feed} Feed
 * @typedef {import('./feed.js').Member} Member
 * @typedef {import('../wire/position.js').Position} Position
 *
 * @typedef {object} Missing a document that a member is behind with
 * @property {Feed} feed
 * @property {Position} have
 * @property {number} limit records of the next page: twice the number that the member took of the last one
 * @property {number} from time of the next try after a failed read, ms
 * @property {Backoff} backoff
 */

/** Records of the first page. */
const FIRST = 8

/**
 * @param {object} dependencies
 * @param {(feed: Feed, member: Member, have: Position, wanted: () => boolean, limit: number) => Promise<null | 'epoch'
 *   | 'trimmed'>} dependencies.replayPage
 * @param {AbortSignal} dependencies.signal ends it
 * @param {(error: unknown) => void} dependencies.onFailure the log could not be read
 * @param {import('../base/common/log.js').Log} dependencies.log
 * @param {import('../base/common/clock.js').Clock} dependencies.clock
 * @param {import('../base/common/random.js').Random} dependencies.random
 */
export function createCatchUp ({ replayPage, signal, onFailure, log, clock, random }) {
  /** In the order of their turns; a member is here while it is behind with any. @type {Map<Member, Missing[]>} */
  const behind = new Map()

  /**
   * @param {Member} member
   * @param {Missing} missing
   * @returns {Promise<boolean>} whether the member has caught up, or has left
   */
  async function turn (member, missing) {
    const { feed, have } = missing
    // false if the member has left and joined again meanwhile
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
    // There is no await from here on, so no live record can come between.
    if (!wanted()) return true
    const { position } = feed
    if (have.epoch !== position.epoch) gap ??= 'epoch'
    if (gap !== null || have.offset >= position.offset) {
      feed.rejoin(member, gap === null ? have.offset : position.offset)
      if (gap !== null) member.resync(feed.guid, { ...position }, gap)
      return true
    }
    // the log is behind live delivery, as after a failover: retry with backoff, not in a loop
    if (have.offset === offset && member.drained(feed.guid) === undefined)
      return failed(new InkcastError('unavailable', 'the log is behind live delivery'))
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
      if (!signal.aborted) log.error({ err: error }, 'a slow member does not catch up')
    } finally {
      // at once: if the member falls behind again from here on, a new run serves it
      behind.delete(member)
    }
  }

  /** @param {Feed} feed @param {Member} member that has just fallen behind @param {Position} have its position */
  return (feed, member, have) => {
    member.fellBehind()
    const missing = { feed, have, limit: FIRST, from: -Infinity, backoff: new Backoff({ min: 100, random }) }
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
