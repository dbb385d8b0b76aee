import { passing } from '../common/error.js'
import { randomId } from '../common/random-id.js'
import { delayBefore } from '../connection/delay.js'
import { HubTab, PACKET, encodeWith } from './hub-tab.js'
import { SharedDocuments } from './documents.js'
import { isExcepted, tabOf, takeExcept } from './except.js'
import { keyOf } from './key.js'
import { Senders } from './senders.js'

/**
 * The leader's side: the connection to the gateway, and the tabs that share it. Each tab is admitted when the
 * connection is up, and disconnected when it is lost; the tabs then wait as long as the hub tells them, so that a tab
 * whose timers the browser does not throttle connects again for all.
 */

/**
 * The part of a connection (connection.js) that the hub uses.
 * @typedef {object} HubConnection
 * @property {import('socket.io-client').Socket} socket
 * @property {boolean} up
 * @property {boolean} ended
 * @property {import('../common/error.js').ClientError | null} reason
 * @property {() => void} connect
 * @property {() => void} close
 * @property {(ms?: number) => void} drop
 * @property {() => Promise<boolean>} checkLine
 * @property {(event: string, argument: object) => void} tell
 * @property {(event: string, argument: object, timeout: number) => Promise<any>} request
 *
 * @typedef {new (url: string, options: import('../connection/options.js').ClientOptions,
 *   events: import('../connection/options.js').ConnectionEvents) => HubConnection} Connect
 */

/** Maximum tabs. A further one has a connection of its own. */
const MAX_TABS = 100
/** Timeout of the answer to a tab's request, ms: those of the tabs are shorter, except for a join. */
const TIMEOUT = 30_000
/** Maximum requests of receipts without an answer. */
const MAX_RECEIPTS = 1000

/** Events of the gateway that say where the connection is in the log of the user, at first and later. */
const [OPENED, PASSED] = ['user', 'position']
/** Answer to a new token with other rights. */
const OTHER_CLAIMS = { code: 'forbidden', message: 'tabs with other claims share no connection', retryable: false }

/** @type {any} */
const browser = globalThis

export class Hub {
  #id = randomId()
  #parts
  #all
  /** By id. @type {Map<string, HubTab>} */
  #tabs = new Map()
  #numbers = 0
  #senders = new Senders()
  #documents
  /** @type {HubConnection | null} */
  #connection = null
  #failures = 0
  /** Delay before the next connection that the gateway has named, ms. @type {number | undefined} */
  #hint
  /** Token of the tab that connected last. @type {string | undefined} */
  #token
  /** The wait for a tab that connects. @type {((token: string | undefined) => void) | null} */
  #onToken = null
  /**
   * The wait for a new token of the tab that was asked.
   * @type {{ tab: HubTab | null, give: (token: string) => void, fail: (error: unknown) => void } | null}
   */
  #refresh = null
  /** Functions that acknowledge a record, by the id that the tabs got. @type {Map<number, Function>} */
  #receipts = new Map()
  #receipt = 0

  /**
   * @param {object} parts
   * @param {string} parts.name
   * @param {import('../connection/options.js').ClientOptions} parts.options of the leader's client
   * @param {any} parts.manager Socket.IO's, of the leader's client
   * @param {Connect} parts.Connection
   * @param {string} parts.client id of the connection's client
   */
  constructor (parts) {
    this.#parts = parts
    this.#documents = new SharedDocuments({
      request: (event, argument) => this.#request(event, argument),
      emit: (tab, ...event) => tab.send({ type: PACKET.event, data: event }),
      emitAll: (tabs, ...event) => this.#emitAll(tabs, event)
    })
    this.#all = new browser.BroadcastChannel(parts.name)
    this.#all.onmessage = (/** @type {any} */ { data: { hello } }) => { if (hello) this.#onHello(hello) }
    this.#all.postMessage({ hub: this.#id })
  }

  /**
   * The tabs connect to the next leader when it announces itself.
   * @param {boolean} isClosed whether the leader's client was closed: without other tabs, its user leaves at once
   */
  close (isClosed) {
    this.#all.close()
    const connection = this.#connection
    this.#connection = null
    // as a lost connection: the user stays present until the next leader has connected
    if (!isClosed || this.#tabs.size > 1) connection?.drop()
    connection?.close()
    for (const tab of this.#tabs.values()) tab.end()
  }

  /** @param {string} id of a tab that connects */
  #onHello (id) {
    if (this.#tabs.has(id)) return
    const { name, manager, client } = this.#parts
    const tab = new HubTab({
      name, id, manager,
      number: ++this.#numbers,
      onPacket: (from, packet) => this.#onPacket(from, packet),
      onEnd: (from, isDrop) => this.#onEnd(from, isDrop)
    })
    if (this.#tabs.size >= MAX_TABS) return tab.refuse()
    this.#tabs.set(id, tab)
    tab.open({ hub: this.#id, client })
  }

  /** @param {HubTab} tab @param {boolean} isDrop */
  #onEnd (tab, isDrop) {
    if (!this.#tabs.delete(tab.id)) return
    this.#documents.leaveAll(tab)
    if (this.#refresh?.tab === tab) this.#askForToken()
    if (isDrop && tab.connected) this.#connection?.drop(0)
    if (this.#tabs.size > 0) return
    this.#connection?.close()
    this.#connection = null
  }

  /** @param {HubTab} tab @param {import('./hub-tab.js').Packet} packet */
  #onPacket (tab, { type, data, id }) {
    if (type === PACKET.connect) return this.#onConnect(tab, data ?? {})
    if (type === PACKET.disconnect) return tab.close()
    if (type === PACKET.ack) {
      const acknowledge = this.#receipts.get(Number(id))
      this.#receipts.delete(Number(id))
      return acknowledge?.()
    }
    if (type !== PACKET.event || !tab.connected) return
    const [event, argument] = data
    this.#answer(tab, event, argument, id !== undefined).then((answer) => {
      if (id !== undefined && answer !== undefined) tab.send({ type: PACKET.ack, id, data: [answer] })
    })
  }

  /** @param {HubTab} tab @param {any} auth */
  #onConnect (tab, auth) {
    tab.auth = auth
    this.#token = auth.token
    this.#onToken?.(auth.token)
    this.#onToken = null
    if (auth.user) tab.user = auth.user.epoch === undefined ? null : auth.user
    if (this.#connection === null) this.#connect()
    else if (this.#connection.up) this.#admit(tab)
    else this.#connection.connect()
  }

  #connect () {
    const { manager: { uri }, options, client, Connection } = this.#parts
    const connection = this.#connection = new Connection(uri, {
      ...options,
      shared: undefined,
      token: (reason) => this.#tokenFor(reason)
    }, {
      auth: () => {
        const places = [...this.#tabs.values()].filter(({ user }) => user !== undefined).map(({ user }) => user)
        this.#readsUser = places.length > 0
        return { client, documents: {}, ...(this.#readsUser && { user: earliest(places) }) }
      },
      onUp: () => {
        this.#failures = 0
        this.#hint = undefined
        for (const tab of this.#tabs.values()) if (tab.auth !== undefined) this.#admit(tab)
      },
      // the reason is known right after it
      onDown: () => queueMicrotask(() => { if (connection === this.#connection) this.#onDown() }),
      onState: () => {}
    })
    this.#listen(connection.socket)
    connection.connect()
  }

  #readsUser = false

  /** @param {HubTab} tab */
  #admit (tab) {
    if (tab.connected) return
    const { socket } = /** @type {HubConnection} */ (this.#connection)
    // the connection does not read the log of the user, or from a later place
    if (tab.user !== undefined && (!this.#readsUser || isBefore(tab.user, this.#reached)))
      return /** @type {HubConnection} */ (this.#connection).drop(0)
    tab.connected = true
    tab.send({ type: PACKET.connect, data: { sid: socket.id } })
    if (tab.user !== undefined && this.#reached !== null) {
      this.#emitAll([tab], [`gateway:${OPENED}`, { position: this.#reached, recovered: tab.user !== null }])
      tab.user = this.#reached
    }
    for (const [guid, opening] of Object.entries(tab.auth.documents ?? {})) {
      const { epoch, offset, ...rest } = opening ?? {}
      const position = epoch === undefined ? {} : { position: { epoch, offset } }
      this.#documents.join(tab, { guid, ...rest, ...position }).then(({ ok, error, ...joined }) => {
        const [event, told] = ok ? ['doc:joined', joined] : ['doc:refused', { guid, error }]
        tab.send({ type: PACKET.event, data: [event, told] })
      })
    }
  }

  /** Place in the log of the user that the connection has reached. @type {any} */
  #reached = null

  #onDown () {
    const { ended, reason } = /** @type {HubConnection} */ (this.#connection)
    this.#documents.clear()
    this.#receipts.clear()
    this.#reached = null
    this.#refresh?.fail(reason)
    this.#refresh = null
    const retryInMs = reason?.retryInMs ?? this.#hint ?? delayBefore(this.#failures++)
    for (const tab of this.#tabs.values()) {
      if (tab.connected) {
        if (!ended) tab.send({ type: PACKET.event, data: ['gateway:draining', { reconnectInMs: retryInMs }] })
        tab.close()
      } else if (tab.auth !== undefined && reason !== null) {
        const { code, message, retryable } = reason
        const isOwn = /^(unavailable|disconnected|token_unavailable)$/.test(code)
        const data = isOwn ? { retryInMs } : { code, retryable, retryInMs }
        tab.auth = undefined
        tab.send({ type: PACKET.refused, data: { message, data } })
      }
    }
  }

  /** @param {import('../connection/options.js').TokenReason} reason @returns {Promise<any>} */
  #tokenFor (reason) {
    if (reason === 'expiring') {
      return new Promise((resolve, reject) => {
        this.#refresh = { tab: null, give: resolve, fail: reject }
        this.#askForToken()
      })
    }
    // the token of a tab that connects, not that of one that has waited with it
    return new Promise((resolve) => {
      if ([...this.#tabs.values()].some(({ auth }) => auth !== undefined)) resolve(this.#token)
      else this.#onToken = resolve
    })
  }

  /** Asks a tab for a new token, and another one when that one is gone. */
  #askForToken () {
    const [tab] = [...this.#tabs.values()].filter(({ connected }) => connected)
    if (this.#refresh === null || tab === undefined) return
    this.#refresh.tab = tab
    tab.send({ type: PACKET.event, data: ['auth:expiring', {}] })
  }

  /** @param {import('socket.io-client').Socket} socket */
  #listen (socket) {
    socket.onAny((event, payload, meta, acknowledge) => {
      if (event === 'auth:expiring') return
      if (event === 'gateway:draining') this.#hint = payload.reconnectInMs
      if (/^gateway:(user|resync|position)$/.test(event)) return this.#onUser(event, payload)
      if (/^(gateway|auth):/.test(event)) return this.#emitAll(this.#admitted, [event, payload])
      if (event.startsWith('doc:')) return this.#documents.onEvent(event, payload)
      const except = takeExcept(meta)
      if (meta?.user) return this.#onUserRecord(event, payload, meta, except)
      const id = acknowledge && this.#receiptOf(acknowledge)
      const sender = this.#senders.of(meta, socket.id)
      if (meta?.guid === undefined || !this.#documents.has(meta.guid))
        return this.#emitAll(this.#admitted.filter((tab) => !isExcepted(tab, except)), [event, payload, meta], id)
      const tabs = this.#documents.onRecord(event, payload, meta, except)
      // the tab that caused it needs none
      if (tabs.length === 0 && except.length > 0) acknowledge?.()
      if (sender === undefined) return this.#emitAll(tabs, [event, payload, meta], id)
      // to the other tabs it is the message of another client
      this.#emitAll(tabs.filter(({ number }) => number === sender), [event, payload, meta], id)
      this.#emitAll(tabs.filter(({ number }) => number !== sender), [event, payload, from(meta, sender)], id)
    })
  }

  get #admitted () { return [...this.#tabs.values()].filter(({ connected }) => connected) }

  /** @param {string} event @param {any} told */
  #onUser (event, told) {
    this.#reached = told.position
    for (const tab of this.#admitted.filter(({ user }) => user !== undefined)) {
      tab.user = told.position
      tab.send({ type: PACKET.event, data: [event, told] })
    }
  }

  /** @param {string} event @param {unknown} payload @param {any} meta @param {string[]} except */
  #onUserRecord (event, payload, meta, except) {
    const { epoch, offset } = meta.user
    this.#reached = { epoch, offset }
    const tabs = this.#admitted.filter(({ user }) => user !== null && !(user && !isBefore(user, this.#reached)))
    for (const tab of tabs) if (tab.user) tab.user = this.#reached
    this.#emitAll(tabs.filter((tab) => !isExcepted(tab, except)), [event, payload, meta])
    const passed = tabs.filter((tab) => tab.user && isExcepted(tab, except))
    this.#emitAll(passed, [`gateway:${PASSED}`, { position: this.#reached }])
  }

  /** @param {Function} acknowledge @returns {number} */
  #receiptOf (acknowledge) {
    if (this.#receipts.size >= MAX_RECEIPTS) this.#receipts.delete([...this.#receipts.keys()][0])
    this.#receipts.set(++this.#receipt, acknowledge)
    return this.#receipt
  }

  /** @param {HubTab[]} tabs @param {unknown[]} event @param {number} [id] of the receipt */
  #emitAll (tabs, event, id) {
    if (tabs.length === 0) return
    const packet = { type: PACKET.event, data: event, ...(id !== undefined && { id }) }
    const messages = encodeWith(this.#parts.manager, packet)
    for (const tab of tabs) tab.sendEncoded(messages)
  }

  /**
   * @param {HubTab} tab @param {string} event @param {any} argument @param {boolean} isAsked
   * @returns {Promise<object | undefined>} the answer; undefined: none
   */
  async #answer (tab, event, argument, isAsked) {
    const connection = this.#connection
    if (connection === null) return undefined
    if (event === 'gateway:check') return await connection.checkLine() ? { ok: true } : undefined
    if (event === 'doc:join') return this.#documents.join(tab, argument)
    if (event === 'doc:leave') return this.#documents.leave(tab, argument.guid)
    if (event === 'doc:state') return this.#documents.setState(tab, argument)
    if (event === 'auth:refresh') {
      const { manager: { uri }, options, name } = this.#parts
      // other rights are those of another connection: the tabs make it when the old token has expired
      if (await keyOf(uri, options, argument.token) !== name) return { ok: false, error: OTHER_CLAIMS }
      this.#refresh?.give(argument.token)
      this.#refresh = null
      return { ok: true }
    }
    if (event === 'doc:send')
      return this.#request(event, { ...this.#senders.mark(argument, tab.number), ...tabOf(tab) })
    if (event === 'doc:history') {
      const answer = await this.#request(event, argument)
      for (const { meta } of answer.records ?? []) takeExcept(meta)
      return answer
    }
    if (event !== 'doc:signal') return this.#request(event, argument)
    const answer = isAsked ? await this.#request(event, argument) : { ok: true }
    if (!isAsked) connection.tell(event, argument)
    const { guid, event: name, data } = argument
    const others = this.#documents.tabsOf(guid).filter((other) => other !== tab)
    // eslint-disable-next-line no-restricted-syntax -- the time of day, as the gateway's
    const meta = { guid, traceId: randomId(), ts: Date.now(), from: connection.socket.id }
    if (answer.ok) this.#emitAll(others, [name, data, from(meta, tab.number)])
    return answer
  }

  /** @param {string} event @param {object} argument @returns {Promise<any>} the answer of the gateway */
  #request (event, argument) {
    const gone = () => Promise.reject(passing('disconnected', 'the connection was lost'))
    return (this.#connection?.request(event, argument, TIMEOUT) ?? gone()).catch(
      ({ code, message, retryable, retryInMs }) => ({ ok: false, error: { code, message, retryable, retryInMs } })
    )
  }
}

/** @param {any} meta @param {number} sender number of a tab */
const from = (meta, sender) => ({ ...meta, from: `${meta.from}~${sender}` })

/** @param {any} one place in a log @param {any} other */
const isBefore = (one, other) =>
  one !== null && other !== null && (one.epoch !== other.epoch || one.offset < other.offset)

/** @param {any[]} places of the tabs; null: from now on @returns {object} where the connection begins */
const earliest = (places) => places.filter((place) => place !== null)
  .reduce((first, place) => first.epoch === undefined || place.offset < first.offset ? place : first, {})
