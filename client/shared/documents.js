import { readNewest } from '../document/last.js'
import { readBetween } from '../document/load.js'
import { isExcepted, tabOf, takeExcept } from './except.js'

/**
 * The documents of the tabs: each is joined once over the shared connection. A tab that opens a document which is open
 * already gets the records since its own position from the document's log, and then the live ones.
 *
 * @typedef {import('./hub-tab.js').HubTab} HubTab
 * @typedef {import('../document/positions.js').Position} Position
 *
 * @typedef {object} Part of a tab in a document
 * @property {any[][] | null} held live events, until the tab has what precedes them; null: it has
 * @property {object} [state] of presence
 * @property {object} [accepted] the state that the gateway has not refused, for when it refuses the next one
 * @property {true | 'watch'} [members]
 * @property {object} [join] its last one: an older one that fails does not end the part
 *
 * @typedef {object} SharedDocument
 * @property {Map<HubTab, Part>} parts in the order in which the tabs joined, or set their state
 * @property {Position | null} position up to which records have arrived; the epoch is '' until it is known
 * @property {boolean} joined
 * @property {Promise<unknown>} turn the last join or leave, which the next one waits for
 */

/** Maximum events held for a tab; above it the tab loads the document again. */
const MAX_HELD = 10_000

export class SharedDocuments {
  #hub
  /** By guid. @type {Map<string, SharedDocument>} */
  #documents = new Map()

  /**
   * @param {object} hub
   * @param {(event: string, argument: any) => Promise<any>} hub.request asks the gateway
   * @param {(tab: HubTab, ...event: any[]) => void} hub.emit
   * @param {(tabs: HubTab[], ...event: any[]) => void} hub.emitAll
   */
  constructor (hub) { this.#hub = hub }

  /** @param {string} guid @returns {boolean} whether it is open, or being left */
  has (guid) { return this.#documents.has(guid) }

  /** @param {string} guid @returns {HubTab[]} */
  tabsOf (guid) { return [...this.#documents.get(guid)?.parts.keys() ?? []] }

  /** The connection is lost: the tabs join again. */
  clear () {
    for (const document of this.#documents.values()) {
      // joins and leaves that still wait for their turn are not for the next connection
      document.parts.clear()
      document.joined = false
    }
    this.#documents.clear()
  }

  /**
   * @param {HubTab} tab
   * @param {{ guid: string, position?: Position, last?: number, state?: object, members?: true | 'watch' }} join the
   *   tab's request
   * @returns {Promise<any>} the answer
   */
  join (tab, join) {
    const { guid, position, last, state, members } = join
    let document = this.#documents.get(guid)
    if (document === undefined) {
      document = { parts: new Map(), position: position ?? null, joined: false, turn: Promise.resolve() }
      this.#documents.set(guid, document)
    }
    // one that only takes part otherwise goes on where it is. One that has what the connection has gets what follows,
    // but not what the connection still has to get: the gateway may not know this tab yet
    const before = position === undefined && !last ? document.parts.get(tab) : undefined
    const isLevel = document.joined && document.parts.size > 0 && isAt(position, document.position)
    const part = before ?? { held: isLevel ? null : [] }
    document.parts.delete(tab)
    document.parts.set(tab, Object.assign(part, { state, accepted: state, members, join }))
    return this.#inTurn(document, async (now) => {
      if (now.parts.get(tab) !== part) return gone(guid)
      return now.joined ? this.#follow(now, part, tab, join) : this.#first(now, part, tab, join)
    })
  }

  /**
   * @param {HubTab} tab
   * @param {string} guid
   * @returns {Promise<object>} the answer
   */
  leave (tab, guid) {
    const document = this.#documents.get(guid)
    if (!document?.parts.has(tab)) return Promise.resolve({ ok: true, guid })
    const before = JSON.stringify(presenceOf(document).state)
    document.parts.delete(tab)
    return this.#inTurn(document, async (now) => {
      if (now.parts.size === 0) {
        // records that arrive before the answer are for no tab
        const answer = now.joined ? await this.#hub.request('doc:leave', { guid }) : { ok: true, guid }
        now.joined = false
        now.position = null
        this.#forgetUnused(guid, now)
        return answer
      }
      const { state } = presenceOf(now)
      if (state && JSON.stringify(state) !== before) await this.#hub.request('doc:state', { guid, state })
      return { ok: true, guid }
    })
  }

  /** @param {HubTab} tab that has ended */
  leaveAll (tab) { for (const [guid, { parts }] of this.#documents) if (parts.has(tab)) this.leave(tab, guid) }

  /**
   * @param {HubTab} tab
   * @param {{ guid: string, state?: object, idle?: boolean }} argument
   * @returns {Promise<any>} the answer
   */
  async setState (tab, argument) {
    const { guid, state } = argument
    const parts = this.#documents.get(guid)?.parts
    const part = parts?.get(tab)
    if (!part || !state) return this.#hub.request('doc:state', argument)
    // the newest one is what others see
    parts?.delete(tab)
    parts?.set(tab, Object.assign(part, { state }))
    const answer = await this.#hub.request('doc:state', argument)
    if (answer.ok) part.accepted = state
    else if (!answer.error.retryable && part.state === state) part.state = part.accepted
    return answer
  }

  /**
   * @param {string} event of the gateway
   * @param {any} told
   */
  onEvent (event, told) {
    const document = this.#documents.get(told.guid)
    if (document === undefined) return
    const tabs = [...document.parts.keys()]
    if (event === 'doc:revoked' || event === 'doc:closed') this.#documents.delete(told.guid)
    if (event !== 'doc:resync' && event !== 'doc:position') return this.#hub.emitAll(tabs, event, told)
    document.position = told.position
    this.#hub.emitAll(this.#level(document, [event, told]), event, told)
  }

  /**
   * @param {string} event
   * @param {unknown} payload
   * @param {any} meta
   * @param {string[]} except client ids of the tabs that do not get it
   * @returns {HubTab[]} the tabs that get it now
   */
  onRecord (event, payload, meta, except) {
    const { guid, offset } = meta
    const document = /** @type {SharedDocument} */ (this.#documents.get(guid))
    if (offset !== undefined) document.position = { epoch: document.position?.epoch ?? '', offset }
    if (except.length === 0) return this.#level(document, [event, payload, meta])
    const passed = [...document.parts].filter(([tab, { held }]) => held === null && isExcepted(tab, except))
    // they continue after it
    if (offset !== undefined && document.position?.epoch)
      this.#hub.emitAll(passed.map(([tab]) => tab), 'doc:position', { guid, position: document.position })
    return this.#level(document, [event, payload, meta], except)
  }

  /** @param {string} guid @param {SharedDocument} document that is joined no longer, maybe of an earlier connection */
  #forgetUnused (guid, document) {
    if (document.parts.size === 0 && this.#documents.get(guid) === document) this.#documents.delete(guid)
  }

  /**
   * @param {SharedDocument} document
   * @param {any[]} event
   * @param {string[]} [except] client ids of the tabs that do not get it
   * @returns {HubTab[]} those that get it now; others hold it
   */
  #level ({ parts }, event, except = []) {
    const tabs = [...parts].filter(([tab]) => !isExcepted(tab, except))
    for (const [, { held }] of tabs) if (held && held.length <= MAX_HELD) held.push(event)
    return tabs.filter(([, { held }]) => held === null).map(([tab]) => tab)
  }

  /**
   * @template T
   * @param {SharedDocument} document
   * @param {(document: SharedDocument) => Promise<T>} run after the joins and leaves before it
   * @returns {Promise<T>}
   */
  #inTurn (document, run) {
    const turn = document.turn.then(() => run(document))
    document.turn = turn.catch(() => {})
    return turn
  }

  /**
   * @param {SharedDocument} document
   * @param {Part} part
   * @param {HubTab} tab
   * @param {any} join
   * @returns {Promise<any>} the answer
   */
  async #first (document, part, tab, join) {
    // what it held came for a tab whose join has failed
    part.held = null
    document.position = join.position ?? null
    const answer = await this.#hub.request('doc:join', { ...join, ...presenceOf(document), ...tabOf(tab) })
    if (answer.ok) {
      document.joined = true
      this.#reach(document, answer.position)
    } else {
      this.#refused(document, tab, join)
      this.#forgetUnused(join.guid, document)
    }
    return answer
  }

  /** @param {SharedDocument} document @param {HubTab} tab @param {object} join that has failed */
  #refused ({ parts }, tab, join) { if (parts.get(tab)?.join === join) parts.delete(tab) }

  /**
   * @param {SharedDocument} document
   * @param {Part} part
   * @param {HubTab} tab
   * @param {any} join
   * @returns {Promise<any>} the answer
   */
  async #follow (document, part, tab, join) {
    const { guid, position, last } = join
    // the access of today, and the members
    const answer = await this.#hub.request('doc:join', { guid, ...presenceOf(document), ...tabOf(tab) })
    if (!answer.ok) {
      this.#refused(document, tab, join)
      return answer
    }
    // it has left, or begun elsewhere
    if (document.parts.get(tab) !== part) return gone(guid)
    this.#reach(document, answer.position)
    if (part.held === null) return { ...answer, position: document.position, recovered: true }
    const end = /** @type {Position} */ ({ ...document.position })
    // events until now are in the log
    part.held = part.held.filter(([, , meta]) => meta !== undefined && meta.offset === undefined)
    const recovered = await this.#catchUp(tab, { guid, position, last, end })
    for (const event of part.held) this.#hub.emit(tab, ...event)
    const isFull = part.held.length > MAX_HELD
    part.held = null
    if (isFull) this.#hub.emit(tab, 'doc:resync', { guid, position: document.position, reason: 'trimmed' })
    return { ...answer, position: { ...document.position }, recovered: recovered && !isFull }
  }

  /**
   * @param {HubTab} tab
   * @param {{ guid: string, position?: Position, last?: number, end: Position }} from
   * @returns {Promise<boolean>} whether it has all records since its position
   */
  async #catchUp (tab, { guid, position, last, end }) {
    const history = async (/** @type {any} */ query) => {
      const { ok, error, ...page } = await this.#hub.request('doc:history', { guid, ...query })
      if (!ok) throw error
      return page
    }
    const read = async () => {
      if (last && !position) return readNewest({ history }, end, last)
      if (!position) return []
      return position.epoch === end.epoch ? readBetween({ history }, position, end) : null
    }
    const records = await read().catch(() => null)
    if (!position && records?.length)
      this.#hub.emit(tab, 'doc:position', { guid, position: { ...end, offset: Number(records[0].meta.offset) - 1 } })
    if (records === null) {
      this.#hub.emit(tab, 'doc:resync', { guid, position: end, reason: position?.epoch === end.epoch ? 'trimmed' : 'epoch' })
      return false
    }
    for (const { event, payload, meta } of records)
      if (!isExcepted(tab, takeExcept(meta))) this.#hub.emit(tab, event, payload, meta)
    return position !== undefined
  }

  /** @param {SharedDocument} document @param {Position} position of an answer: newer records may have arrived before */
  #reach (document, { epoch, offset }) {
    const known = document.position
    const isNewer = known !== null && (known.epoch === '' || known.epoch === epoch) && known.offset > offset
    document.position = { epoch, offset: isNewer ? known.offset : offset }
  }
}

/**
 * @param {SharedDocument} document
 * @returns {{ state?: object, members?: true | 'watch' }} fields of a join; the state is that of the newest tab
 */
function presenceOf ({ parts }) {
  const all = [...parts.values()]
  const state = all.filter((part) => part.state).at(-1)?.state
  if (state) return { state }
  const members = all.some((part) => part.members === true) || (all.some((part) => part.members) && 'watch')
  return members ? { members } : {}
}

/** @param {Position | undefined} one @param {Position | null} other */
const isAt = (one, other) =>
  one !== undefined && other !== null && one.epoch === other.epoch && one.offset >= other.offset

/** @param {string} guid that the tab has left meanwhile */
const gone = (guid) =>
  ({ ok: false, guid, error: { code: 'not_joined', message: 'the tab has left the document', retryable: false } })
