import { ClientError } from 'inkcast-client'
import * as Y from 'yjs'

/**
 * One document at a scripted gateway, and the service that stores it: as inkcast-client shows them to a provider, with
 * each fault at the test's command. Nothing happens by itself.
 */
export class ScriptedDocument {
  epoch = 1
  /** @type {{ offset: number, event: string, payload: any }[]} */
  log = []
  end = 0
  /** @type {Set<ScriptedPage>} */
  pages = new Set()
  /** Content of the service, and the position up to which it has merged the log. */
  stored = new Y.Doc()
  storedAt = { epoch: '1', offset: 0 }
  /** Number of records of pages. */
  sent = 0

  get position () { return { epoch: String(this.epoch), offset: this.end } }

  /** @param {string} event @param {any} payload @param {ScriptedPage} [from] */
  publish (event, payload, from) {
    this.log.push({ offset: ++this.end, event, payload })
    for (const page of this.pages) if (page.live) page.deliver(from)
  }

  /** The service merges what the log has. */
  merge () {
    const { epoch, offset } = this.storedAt
    const from = epoch === String(this.epoch) ? offset : 0
    for (const record of this.log)
      if (record.offset > from && record.event === 'yjs') Y.applyUpdate(this.stored, new Uint8Array(record.payload))
    this.storedAt = this.position
  }

  /** The log forgets what the service has. */
  cut () {
    // live connections have been sent everything
    for (const page of this.pages) page.deliver()
    this.log = this.log.filter(({ offset }) => offset > this.#mergedUpTo())
  }

  #mergedUpTo () { return this.storedAt.epoch === String(this.epoch) ? this.storedAt.offset : 0 }

  /** The log is lost, with the records that the service has not merged; live connections do not notice it. */
  lose () {
    this.epoch++
    this.log = []
    this.end = 0
    for (const page of this.pages) page.drop()
  }

  /** @returns {{ update: Uint8Array, position: { epoch: string, offset: number } | null }} */
  snapshot () {
    const isCurrent = this.storedAt.epoch === String(this.epoch)
    return {
      update: Y.encodeStateAsUpdate(this.stored),
      position: isCurrent ? this.storedAt : { epoch: String(this.epoch), offset: 0 }
    }
  }
}

/** A client with the scripted document open; stands for `Client` and `Document` of inkcast-client. */
export class ScriptedPage {
  state = 'connected'
  live = true
  closed = false
  /** @type {readonly any[]} */
  pending = []
  /** @type {Map<string, any>} */
  presence = Object.assign(new Map(), { count: 0 })
  /** @type {any[]} */
  states = []
  /** @type {[string, any][]} */
  signals = []
  /**
   * Requests to send without an answer.
   * @type {{ update: Uint8Array, event: string, resolve: Function, reject: Function }[]}
   */
  inFlight = []
  /** Refuses what is sent. @type {ClientError | null} */
  refusal = null
  loads = 0
  /** Number of the load in progress, or 0. */
  #loading = 0
  #shown = 'joining'
  /** @type {Map<string, Set<Function>>} */
  #listeners = new Map()
  /** @type {{ epoch: string, offset: number } | null} */
  #position = null
  /** @type {any} */
  #options

  /** @param {ScriptedDocument} document */
  constructor (document) { this.document = document }

  /** @param {string} event @param {Function} listener */
  on (event, listener) {
    if (!this.#listeners.has(event)) this.#listeners.set(event, new Set())
    this.#listeners.get(event)?.add(listener)
    return () => this.#listeners.get(event)?.delete(listener)
  }

  /** @param {string} event @param {any[]} args */
  emit (event, ...args) { for (const listener of [...this.#listeners.get(event) ?? []]) listener(...args) }

  /** @param {string} _guid @param {any} options */
  async open (_guid, options) {
    this.#options = options
    this.#position = this.document.position
    this.closed = false
    this.document.pages.add(this)
    await this.#load('open')
    return this
  }

  /** @param {string} reason */
  async #load (reason) {
    const load = this.#loading = ++this.loads
    this.#checkStatus()
    const position = await this.#options.load({
      position: this.document.position, reason, signal: new AbortController().signal
    })
    if (load !== this.#loading || this.closed) return
    this.#position = position ?? this.document.position
    if (this.#resyncReason !== null) return void await this.#load(reason)
    this.#loading = 0
    this.#checkStatus()
    // as the client does: when the caller has added its listeners
    setTimeout(() => this.deliver())
  }

  reload = async () => this.#load('reload')

  get #resyncReason () {
    const { epoch, offset } = /** @type {{ epoch: string, offset: number }} */ (this.#position)
    if (epoch !== String(this.document.epoch)) return 'epoch'
    return offset < (this.document.log[0]?.offset ?? this.document.end + 1) - 1 ? 'trimmed' : null
  }

  get status () {
    if (this.closed) return 'closed'
    if (!this.live) return 'joining'
    return this.#loading > 0 ? 'loading' : 'live'
  }

  #checkStatus () {
    if (this.status === this.#shown) return
    this.#shown = this.status
    this.emit('doc:status', this.status)
  }

  /** Delivers the records after its position. @param {ScriptedPage} [except] the sender does not get its own */
  deliver (except) {
    if (!this.live || this.#position === null || this.status !== 'live' || this.closed) return
    for (const { offset, event, payload } of [...this.document.log]) {
      if (offset <= this.#position.offset) continue
      this.#position = { ...this.#position, offset }
      if (except !== this) this.emit(event, payload, { offset })
    }
  }

  /** @param {Uint8Array} update @param {{ event: string }} options */
  send (update, { event }) {
    return new Promise((resolve, reject) => {
      if (!this.live || this.closed) return reject(new ClientError({ code: 'timeout', message: '', retryable: true }))
      this.inFlight.push({ update, event, resolve, reject })
    })
  }

  /** Answers the oldest request. @param {'accepted' | 'unknown' | 'lost'} [outcome] */
  answer (outcome = 'accepted') {
    const request = this.inFlight.shift()
    if (request === undefined) return
    if (this.refusal !== null) return request.reject(this.refusal)
    if (outcome !== 'lost') {
      this.document.sent++
      this.document.publish(request.event, request.update.slice().buffer, this)
    }
    if (outcome === 'accepted') request.resolve({ traceId: '' })
    else request.reject(new ClientError({ code: 'disconnected', message: '', retryable: true }))
  }

  /** The connection is lost. @param {() => number} [random] */
  drop (random = () => 0) {
    while (this.inFlight.length > 0) this.answer(random() < 0.5 ? 'unknown' : 'lost')
    this.live = false
    this.#checkStatus()
  }

  /** The connection is back: records from the log, or the document from the service. */
  async comeBack () {
    if (this.live) return
    this.live = true
    if (this.closed || this.#position === null) return
    if (this.#loading > 0) return this.#checkStatus()
    if (this.#resyncReason !== null) return this.#load(this.#resyncReason)
    this.deliver()
    this.#checkStatus()
  }

  /** @param {string} event @param {any} data */
  signal (event, data) {
    this.signals.push([event, data])
    return true
  }

  /** @param {any} state */
  async setState (state) { this.states.push(state) }

  close () {
    this.closed = true
    this.document.pages.delete(this)
    for (const { reject } of this.inFlight.splice(0)) reject(new ClientError({ code: 'closed', message: '' }))
    this.#listeners.clear()
  }
}
