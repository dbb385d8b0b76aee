import { ClientError, badRequest, badValue } from '../common/error.js'
import { OwnState } from './own-state.js'
import { Presence } from './presence.js'

/**
 * A document's presence on this client: the other members, and this client's own part. It is loaded when a document is
 * opened with `state` or `presence`, because most pages that read need neither.
 *
 * @typedef {import('./presence.js').Page} Page
 */

/** Members per request. */
const PAGE = 500
/** Errors of a join that the presence state may have caused. */
const OF_STATES = /_too_large|bad_request/

export class Participation {
  #own
  #presence
  #membership

  /**
   * @param {import('../types.js').Shared} membership its `members` are kept up to date
   * @param {{ state?: object | undefined, presence?: boolean | 'watch' | undefined }} [options] of the first Document
   */
  constructor (membership, options = {}) {
    this.#own = new OwnState(options)
    this.#membership = membership
    this.#presence = new Presence(
      membership.members,
      (cursor) => membership.ask('doc:members', { limit: PAGE, ...(cursor !== undefined && { cursor }) }),
      (diff) => membership.emit('presence', diff)
    )
  }

  /**
   * @param {unknown} state of the page
   * @returns {any} a copy: what the page changes later must not reach a handshake
   * @throws {ClientError} bad_request, bad_value
   */
  static copyOf (state) {
    let text
    try {
      text = JSON.stringify(state, withoutBytes)
    } catch (error) {
      throw error instanceof ClientError ? error : badValue('is no JSON', error)
    }
    const copy = JSON.parse(text ?? 'null')
    if (typeof copy !== 'object' || copy === null || Array.isArray(copy)) throw badRequest('state must be an object')
    return copy
  }

  /** The fields of a join. */
  get fields () { return this.#own.fields }

  /** Called when a join is about to be sent. */
  offer () { this.#own.offer() }

  /** Called when the gateway has accepted a join. @param {Partial<Page>} page */
  joined (page) {
    this.#own.accepted()
    this.#onMembers(page)
  }

  /**
   * Called when the gateway has refused a join.
   * @param {string} code
   * @returns {boolean} whether the state may be the cause; then the accepted one is back
   */
  refused (code) { return OF_STATES.test(code) && this.#own.refused() }

  /** Called when the connection is lost. */
  lost () { this.#presence.lost() }

  /** @param {import('./presence.js').Update} update */
  apply (update) { this.#presence.apply(update) }

  /**
   * Another part of the page opens the document. The next join repeats a request that fails here.
   * @param {{ state?: object | undefined, presence?: boolean | 'watch' | undefined }} options
   */
  open ({ state, presence }) {
    const isNew = state !== undefined && JSON.stringify(state) !== JSON.stringify(this.#own.current)
    if (isNew) this.setState(state).catch(() => {})
    else if (presence && this.#own.listed !== true && presence !== this.#own.listed)
      this.#takePart('doc:join', { members: presence }, presence).catch(() => {})
  }

  /** @param {object} given by the page */
  async setState (given) {
    const state = Participation.copyOf(given)
    const { accept, refuse } = this.#own.set(state)
    try {
      await this.#takePart('doc:state', { state, ...(this.#own.idle && { idle: true }) })
      accept()
    } catch (error) {
      // if the gateway may have accepted the state, or may later, the next join sends it again
      const { retryable } = /** @type {import('../common/error.js').ClientError} */ (error)
      if (!retryable) refuse()
      throw error
    }
  }

  /** @returns {Promise<import('./presence.js').Left[]>} */
  async left () { return (await this.#membership.request('doc:members', { limit: 1, left: true })).left ?? [] }

  /** @param {boolean} idle */
  async setIdle (idle) {
    const before = this.#own.idle
    this.#own.idle = idle
    // without a part in the presence it counts from the first one on
    if (idle === before || !this.#own.listed) return
    try {
      await this.#membership.request('doc:state', { idle })
    } catch (error) {
      // otherwise the next join says it again
      if (!(/** @type {import('../common/error.js').ClientError} */ (error).retryable)) this.#own.idle = before
      throw error
    }
  }

  /** @param {string} event @param {object} argument @param {true | 'watch'} [listed] */
  async #takePart (event, argument, listed = true) {
    this.#own.listed = listed
    this.#onMembers(await this.#membership.request(event, argument))
  }

  /**
   * Applies the members in an answer; without members they are sent later.
   * @param {Partial<Page>} page
   */
  #onMembers (page) { if (page.members !== undefined) this.#presence.joined(/** @type {Page} */ (page)) }
}

/**
 * Replacer for JSON.stringify: JSON would have an object of numbers in place of bytes.
 * @this {any} @param {string} key @param {unknown} value
 */
function withoutBytes (key, value) {
  // before toJSON
  const given = this[key]
  if (given instanceof ArrayBuffer || ArrayBuffer.isView(given)) throw badRequest('state must be a JSON value')
  return value
}
