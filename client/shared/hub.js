import { clock } from '../common/clock.js'
import { randomId } from '../common/random-id.js'
import { SHORT, delayBefore } from '../connection/delay.js'
import { HubTab, PACKET, encodeWith } from './hub-tab.js'
import { SharedDocuments } from './documents.js'
import { isExcepted, takeExcept } from './except.js'
import { keyOf } from './key.js'
import { SharedReceipts } from './receipts.js'
import { Requests } from './requests.js'
import { Senders, fromTab, nameOf } from './senders.js'
import { SharedTokens } from './tokens.js'
import { SharedUser } from './user.js'

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
/** @type {any} */
const browser = globalThis

export class Hub {
  #id = randomId()
  #parts
  #all
  /** By id. @type {Map<string, HubTab>} */
  #tabs = new Map()
  #senders
  #documents
  /** @type {HubConnection | null} */
  #connection = null
  #failures = 0
  /** When it was established; NaN: it is not. */
  #upAt = NaN
  /** Delay before the next connection that the gateway has named, ms. @type {number | undefined} */
  #hint
  #receipts = new SharedReceipts()
  #requests
  #tokens
  #user

  /**
   * @param {object} parts
   * @param {string} parts.name
   * @param {import('../connection/options.js').ClientOptions} parts.options of the leader's client
   * @param {any} parts.manager Socket.IO's, of the leader's client
   * @param {Connect} parts.Connection
   * @param {string} parts.client id of the connection's client
   * @param {(id: string) => boolean} parts.isOwn whether it is the leader's own tab, for which there is always room
   */
  constructor (parts) {
    this.#parts = parts
    this.#senders = new Senders(parts.name, () => this.#connection?.socket.id)
    this.#tokens = new SharedTokens({
      tabs: () => [...this.#tabs.values()],
      ask: (tab) => tab.send({ type: PACKET.event, data: ['auth:expiring', {}] })
    })
    this.#user = new SharedUser((tabs, event) => this.#emitAll(tabs, event))
    this.#documents = new SharedDocuments({
      request: (event, argument) => this.#requests.ask(event, argument),
      emit: (tab, ...event) => this.#emitRecord([tab], event),
      emitAll: (tabs, ...event) => this.#emitAll(tabs, event)
    })
    const { name, options, manager: { uri } } = parts
    this.#requests = new Requests({
      connection: () => this.#connection,
      name,
      nameFor: (token) => keyOf(uri, options, token),
      documents: this.#documents,
      senders: this.#senders,
      tokens: this.#tokens,
      emitAll: (tabs, event) => this.#emitAll(tabs, event)
    })
    this.#all = new browser.BroadcastChannel(name)
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
    // otherwise each tab that ends here leaves it to the next one
    this.#tokens.fail(null)
    for (const tab of this.#tabs.values()) tab.end()
  }

  /** @param {string} id of a tab that connects */
  #onHello (id) {
    if (this.#tabs.has(id)) return
    const { name, manager, client, isOwn } = this.#parts
    const tab = new HubTab({
      name, id, manager,
      onPacket: (from, packet) => this.#onPacket(from, packet),
      onEnd: (from, isDrop) => this.#onEnd(from, isDrop)
    })
    if (this.#tabs.size >= MAX_TABS && !isOwn(id)) return tab.refuse()
    this.#tabs.set(id, tab)
    tab.open({ hub: this.#id, client })
  }

  /** @param {HubTab} tab @param {boolean} isDrop */
  #onEnd (tab, isDrop) {
    if (!this.#tabs.delete(tab.id)) return
    this.#documents.leaveAll(tab)
    this.#tokens.left(tab)
    if (isDrop && tab.connected) this.#drop()
    // one that is not up waits for the next tab: it knows which transport has failed
    if (this.#tabs.size > 0 || !this.#connection?.up) return
    this.#connection.close()
    this.#connection = null
  }

  /** @param {HubTab} tab @param {import('./hub-tab.js').Packet} packet */
  #onPacket (tab, { type, data, id }) {
    if (type === PACKET.connect) return this.#onConnect(tab, data ?? {})
    if (type === PACKET.disconnect) return tab.close()
    if (type === PACKET.ack) return this.#receipts.acknowledge(Number(id))
    if (type !== PACKET.event || !tab.connected) return
    const [event, argument] = data
    this.#requests.answer(tab, event, argument, id !== undefined).then((answer) => {
      if (id !== undefined && answer !== undefined) tab.send({ type: PACKET.ack, id, data: [answer] })
    })
  }

  /** @param {HubTab} tab @param {any} auth */
  #onConnect (tab, auth) {
    tab.auth = auth
    this.#tokens.offer(auth.token)
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
      token: (reason) => this.#tokens.for(reason)
    }, {
      auth: () => {
        // one that was refused connects again: records that arrive before that are not for it
        const tabs = [...this.#tabs.values()].filter(({ auth }) => auth !== undefined)
        return { client, documents: {}, ...this.#user.auth(tabs) }
      },
      onUp: () => {
        this.#upAt = clock.monotonic()
        for (const tab of this.#tabs.values()) if (tab.auth !== undefined) this.#admit(tab)
      },
      // the reason is known right after it
      onDown: () => queueMicrotask(() => { if (connection === this.#connection) this.#onDown() }),
      onState: () => {}
    })
    this.#listen(connection.socket)
    connection.connect()
  }

  /** @param {HubTab} tab */
  #admit (tab) {
    // not over a connection that was dropped for the tab before it
    if (tab.connected || !this.#connection?.up) return
    const { socket } = this.#connection
    if (this.#user.lacks(tab)) return this.#drop()
    tab.connected = true
    tab.send({ type: PACKET.connect, data: { sid: socket.id } })
    this.#user.admit(tab)
    for (const [guid, opening] of Object.entries(tab.auth.documents ?? {})) {
      const { epoch, offset, ...rest } = opening ?? {}
      const position = epoch === undefined ? {} : { position: { epoch, offset } }
      this.#documents.join(tab, { guid, ...rest, ...position }).then(({ ok, error, ...joined }) => {
        const [event, told] = ok ? ['doc:joined', joined] : ['doc:refused', { guid, error }]
        tab.send({ type: PACKET.event, data: [event, told] })
      })
    }
  }

  /** Drops the connection for a tab: that is no failure, however short it was, and the next one comes at once. */
  #drop () {
    this.#upAt = -Infinity
    this.#hint = 0
    this.#connection?.drop(0)
  }

  #onDown () {
    const { ended, reason } = /** @type {HubConnection} */ (this.#connection)
    const isDropped = this.#upAt === -Infinity && !ended
    this.#documents.clear()
    this.#receipts.clear()
    this.#tokens.fail(reason)
    if (clock.monotonic() - this.#upAt >= SHORT) this.#failures = 0
    const retryInMs = delayBefore(this.#failures++, reason?.retryInMs ?? this.#hint)
    this.#upAt = NaN
    this.#hint = undefined
    for (const tab of this.#tabs.values()) {
      if (tab.connected) {
        if (!ended) tab.send({ type: PACKET.event, data: ['gateway:draining', { reconnectInMs: retryInMs }] })
        tab.close()
      } else if (tab.auth !== undefined && reason !== null && !isDropped) {
        // after a drop it waits: the next handshake has its place in the log of the user
        const { code, message, retryable } = reason
        const isOwn = /^(unavailable|disconnected|token_unavailable)$/.test(code)
        const data = isOwn ? { retryInMs } : { code, retryable, retryInMs }
        tab.auth = undefined
        tab.send({ type: PACKET.refused, data: { message, data } })
      }
    }
  }

  /** @param {import('socket.io-client').Socket} socket */
  #listen (socket) {
    socket.onAny((event, payload, meta, acknowledge) => {
      if (event === 'auth:expiring') return
      if (event === 'gateway:draining') this.#hint = payload.reconnectInMs
      if (/^gateway:(user|resync|position)$/.test(event)) return this.#user.onEvent(this.#admitted, event, payload)
      if (/^(gateway|auth):/.test(event)) return this.#emitAll(this.#admitted, [event, payload])
      if (event.startsWith('doc:')) return this.#documents.onEvent(event, payload)
      const except = takeExcept(meta)
      if (meta?.user) return this.#user.onRecord(this.#admitted, [event, payload, meta], except)
      const id = acknowledge && this.#receipts.open(acknowledge)
      if (meta?.guid === undefined || !this.#documents.has(meta.guid))
        return this.#emitRecord(this.#admitted.filter((tab) => !isExcepted(tab, except)), [event, payload, meta], id)
      const tabs = this.#documents.onRecord(event, payload, meta, except)
      // the tab that caused it needs none
      if (tabs.length === 0 && except.length > 0) acknowledge?.()
      this.#emitRecord(tabs, [event, payload, meta], id)
    })
  }

  get #admitted () { return [...this.#tabs.values()].filter(({ connected }) => connected) }

  /**
   * To the other tabs, a record that a tab has sent is the message of another client.
   * @param {HubTab[]} tabs @param {any[]} record event, payload and meta @param {number} [id] of the receipt
   */
  #emitRecord (tabs, record, id) {
    const [event, payload, meta] = record
    const sender = this.#senders.of(meta)
    if (sender === undefined) return this.#emitAll(tabs, record, id)
    this.#emitAll(tabs.filter((tab) => nameOf(tab) === sender), record, id)
    this.#emitAll(tabs.filter((tab) => nameOf(tab) !== sender), [event, payload, fromTab(meta, sender)], id)
  }

  /** @param {HubTab[]} tabs @param {unknown[]} event @param {number} [id] of the receipt */
  #emitAll (tabs, event, id) {
    if (tabs.length === 0) return
    const packet = { type: PACKET.event, data: event, ...(id !== undefined && { id }) }
    const messages = encodeWith(this.#parts.manager, packet)
    for (const tab of tabs) tab.sendEncoded(messages)
  }
}
