import { ClientError } from 'inkcast-client'
import { Awareness } from 'y-protocols/awareness'
import * as Y from 'yjs'
import { AwarenessLink } from './awareness-link.js'
import { toBytes } from './bytes.js'
import { Emitter } from './emitter.js'
import { createGatewayService } from './gateway.js'
import { missingFrom } from './missing.js'
import { Outgoing } from './outgoing.js'
import { pauseAfter } from './pause.js'
import { createService } from './service.js'

/** Record with which a service asks pages to load the document again, and to send what it lacks. */
const RELOAD = 'yjs:load'
/** A part of an update that is too large for a record. */
const PART = 'yjs:part'
/** Says that an update of this page was refused. */
const REFUSED = 'yjs:refused'
/** Pages load again at random within this time, ms. */
const SPREAD = 1000
/** Interval of records, ms. */
const INTERVAL = 50
/** Larger updates go to the service, bytes. */
const MAX_BYTES = 262_144
/** Delay before the document is opened again, ms: grows from the first to the second. */
const PAUSE = { min: 500, max: 15_000 }

/** @typedef {import('./service.js').Snapshot} Snapshot */
/** @typedef {'connecting' | 'connected' | 'disconnected'} Status */
/** @typedef {(update: Uint8Array, request: { guid: string, signal: AbortSignal }) => Promise<unknown>} Store */

/**
 * @typedef {object} Options
 * @property {string | URL | ((request: { guid: string, signal: AbortSignal, reason: string,
 *   position: import('inkcast-client').Position }) => Promise<Snapshot>) | undefined} [load] the document at a service
 *   of your own: its URL, or a function. Default: at inkcast-yjs-server, through the gateway
 * @property {Store | undefined} [store] stores an update that is too large for a record; the service then publishes
 *   `yjs:load`. Default: `POST` to the URL
 * @property {(() => Record<string, string> | Promise<Record<string, string>>) | undefined} [headers] of requests to the
 *   URL, such as `authorization`
 * @property {{ whenSynced: Promise<unknown> } | undefined} [persistence] such as y-indexeddb: the document is opened
 *   after it, so that edits of earlier sessions are sent
 * @property {boolean | undefined} [queue] whether updates go through the client's outbox. Default false
 * @property {Awareness | undefined} [awareness] default: a new one
 * @property {readonly string[] | undefined} [presenceFields] fields of the awareness state that are presence state:
 *   they change rarely. Default `user`
 * @property {Record<string, any> | undefined} [state] further presence state of this page
 * @property {boolean | undefined} [presence] whether pages see each other. Default true
 * @property {string | undefined} [event] name of the records. Default `yjs`
 * @property {number | undefined} [interval] between records of this page, ms: updates are merged meanwhile. Default 50
 * @property {number | undefined} [maxUpdateBytes] larger updates go to the service. Default 256 KB
 * @property {boolean | undefined} [connect] whether to open the document at once. Default true
 */

/**
 * @typedef {{
 *   status: (event: { status: Status }) => void,
 *   sync: (isSynced: boolean) => void,
 *   synced: (isSynced: boolean) => void,
 *   unsent: (hasUnsent: boolean) => void,
 *   error: (error: any) => void,
 *   destroy: (provider: InkcastProvider) => void
 * }} ProviderEvents
 */

/**
 * Connects a Y.Doc to a document of inkcast.
 * @extends {Emitter<ProviderEvents>}
 */
export class InkcastProvider extends Emitter {
  #client
  #options
  #event
  /** @type {{ load: Extract<NonNullable<Options['load']>, Function>, store: Store | undefined }} */
  #service
  #outgoing
  /** @type {AwarenessLink | null} */
  #link = null
  /** @type {import('inkcast-client').Document<any, any, any> | null} */
  #document = null
  /** What others have, while this page finds out what they lack. @type {Uint8Array[] | null} */
  #known = null
  /** Ends an attempt to open the document, and requests to the service. @type {AbortController | null} */
  #session = null
  /** @type {Set<ReturnType<typeof setTimeout>>} */
  #timers = new Set()
  #settling = false
  /** Latest record that asked for a reload. */
  #asked = ''
  #failures = 0
  /** @type {Status} */
  #status = 'disconnected'
  #synced = false
  #unsent = false
  #destroyed = false
  /** @type {() => void} */
  #resolveSynced = () => {}
  #removeListeners

  /**
   * @param {import('inkcast-client').Client} client one provider for each document of a client
   * @param {string} guid
   * @param {Y.Doc} doc
   * @param {Options} [options]
   */
  constructor (client, guid, doc, options = {}) {
    super()
    const { load, store, headers = () => ({}), awareness, presence = true, state = {}, presenceFields = ['user'] } =
      options
    if (load !== undefined && typeof load !== 'function' && typeof load !== 'string' && !(load instanceof URL))
      throw new TypeError('the option `load` must be the URL of the service with the document, or a function')
    this.guid = guid
    this.doc = doc
    this.#client = client
    this.#options = options
    this.#event = options.event ?? 'yjs'
    if (typeof load === 'function') {
      this.#service = { load, store }
    } else {
      const service = load === undefined
        ? createGatewayService(client, (part) => this.#send(part, PART))
        : createService(load, headers)
      this.#service = { ...service, ...(store !== undefined && { store }) }
    }
    this.#outgoing = new Outgoing({
      send: (update) => this.#send(update),
      store: this.#service.store && ((update) => this.#store(update)),
      queue: options.queue ?? false,
      interval: options.interval ?? INTERVAL,
      maxBytes: options.maxUpdateBytes ?? MAX_BYTES,
      onChange: () => this.#checkUnsent(),
      onRefused: (error) => this.emit('error', error)
    })
    /** Names, colors and cursors of the pages. */
    this.awareness = awareness ?? new Awareness(doc)
    if (presence) this.#link = new AwarenessLink(this.awareness, { fields: presenceFields, state })
    /** Resolves when this page has first had the service's document and all later records. */
    this.whenSynced = /** @type {Promise<void>} */ (new Promise((resolve) => { this.#resolveSynced = resolve }))
    doc.on('update', this.#onUpdate)
    doc.on('destroy', this.#onDocDestroyed)
    this.#removeListeners = [
      client.on('state', () => this.#checkStatus()),
      client.on(REFUSED, (/** @type {any} */ refusal) => {
        if (refusal?.guid === guid) this.#onRefused(refusal.reason)
      }),
      client.on(RELOAD, (/** @type {any} */ asked) => {
        if (asked?.guid === guid) this.#document?.reload().catch(() => {})
      })
    ]
    const page = /** @type {any} */ (globalThis)
    page.addEventListener?.('pagehide', this.#onPageHide)
    page.addEventListener?.('pageshow', this.#onPageShow)
    if (options.connect ?? true) this.connect()
  }

  /** Whether this page has the service's document and all later records, and the connection is up. */
  get synced () { return this.#synced }

  get status () { return this.#status }

  /** Whether there are edits of this page that neither the gateway nor the service has. */
  get unsent () { return this.#unsent }

  /**
   * The document of inkcast-client, while it is open.
   * @returns {import('inkcast-client').Document<any, any, any> | null}
   */
  get document () { return this.#document }

  /** Whether this provider opens the document, and keeps it open. */
  get shouldConnect () { return this.#session !== null }

  /** Opens the document; does nothing if it is open. */
  connect () {
    if (this.#destroyed || this.#session !== null) return
    this.#session = new AbortController()
    this.#checkStatus()
    this.#open(this.#session)
  }

  /** Closes the document. Edits are kept, and sent after `connect`. */
  disconnect () {
    this.#session?.abort()
    this.#session = null
    for (const timer of this.#timers) clearTimeout(timer)
    this.#timers.clear()
    this.#settling = false
    this.#known = null
    this.#outgoing.pause()
    this.#outgoing.lost()
    this.#link?.leave()
    this.#link?.detach()
    this.#document?.close()
    this.#document = null
    this.#checkStatus()
  }

  /** Closes the document for good. The Y.Doc and the client stay open. */
  destroy () {
    if (this.#destroyed) return
    this.#destroyed = true
    this.disconnect()
    this.#outgoing.close()
    this.#link?.destroy()
    if (this.#options.awareness === undefined) this.awareness.destroy()
    this.doc.off('update', this.#onUpdate)
    this.doc.off('destroy', this.#onDocDestroyed)
    for (const remove of this.#removeListeners) remove()
    const page = /** @type {any} */ (globalThis)
    page.removeEventListener?.('pagehide', this.#onPageHide)
    page.removeEventListener?.('pageshow', this.#onPageShow)
    this.emit('destroy', this)
    this.clear()
  }

  /** @param {AbortController} session */
  async #open ({ signal }) {
    try {
      await this.#options.persistence?.whenSynced
      if (signal.aborted) return
      let isLoaded = false
      const document = await this.#client.open(this.guid, {
        signal,
        onReason: (reason) => { if (reason?.retryable && !signal.aborted) this.emit('error', reason) },
        load: async (request) => {
          isLoaded = true
          return this.#load(request)
        },
        ...(this.#link !== null && { state: this.#link.presenceState })
      })
      if (signal.aborted) return document.close()
      this.#failures = 0
      this.#listen(document)
      // the client resumed from a stored position, without the document that belongs to it
      if (!isLoaded) document.reload().catch(() => {})
    } catch (error) {
      if (signal.aborted) return
      this.emit('error', error)
      if (/** @type {any} */ (error)?.retryable === false) return this.disconnect()
      this.#after(pauseAfter(error, this.#failures++, PAUSE), () => {
        if (!signal.aborted && this.#session !== null) this.#open(this.#session)
      })
    }
  }

  /** @param {import('inkcast-client').Document<any, any, any>} document */
  #listen (document) {
    this.#document = document
    document.on(this.#event, (/** @type {unknown} */ payload) => this.#apply(toBytes(payload) ?? payload))
    document.on(RELOAD, (/** @type {unknown} */ _payload, { epoch, offset }) => {
      // an answer of the service that is older than the record brings the record again
      const asked = `${epoch}:${offset}`
      if (offset !== undefined && asked === this.#asked) return
      this.#asked = asked
      this.#after(SPREAD * Math.random(), () => document.reload().catch(() => {}))
    })
    document.on('doc:status', (status) => {
      if (status === 'live') this.#settle()
      else this.#outgoing.lost()
      this.#checkStatus()
    })
    document.on('closed', (error) => {
      this.emit('error', error)
      this.disconnect()
    })
    this.#link?.attach(document)
    this.#settle('open')
    this.#checkStatus()
  }

  /** @param {Parameters<import('inkcast-client').Load>[0]} request */
  async #load ({ position, reason, signal }) {
    // local updates are part of what `#settle` sends
    this.#outgoing.pause()
    this.#known = null
    const { update, position: loaded } = await this.#service.load({ guid: this.guid, position, reason, signal })
    if (signal.aborted) return
    const bytes = toBytes(update)
    if (bytes === null && update !== null && update !== undefined)
      throw new TypeError('`update` must be bytes, or null if there is no document yet')
    this.#known = []
    if (bytes !== null) this.#apply(bytes)
    return loaded ?? undefined
  }

  /** @param {any} update of others; of a record, possibly something else */
  #apply (update) {
    try {
      if (!(update instanceof Uint8Array)) throw new TypeError(`it is no bytes, but ${typeof update}`)
      Y.applyUpdate(this.doc, update, this)
      this.#known?.push(update)
    } catch (error) {
      this.emit('error', Object.assign(new Error('a record is not a Yjs update', { cause: error }), { code: 'bad_update' }))
    }
  }

  /**
   * The document is live. After a load: when the records that follow the snapshot are applied, sends what others lack.
   * @param {'open'} [reason]
   */
  #settle (reason) {
    if (this.#known === null) return this.#resume()
    if (this.#settling) return
    this.#settling = true
    // after a resync the first page's update makes those of the others unnecessary
    this.#after(reason === 'open' ? 0 : SPREAD * Math.random(), () => {
      this.#settling = false
      if (this.#document?.status !== 'live') return // `live` follows
      if (this.#known !== null) {
        const queued = this.#document.pending.flatMap(({ event, data }) => event === this.#event ? [toBytes(data)] : [])
        this.#outgoing.replace(missingFrom(this.doc, [...this.#known, ...queued.filter((bytes) => bytes !== null)]))
        this.#known = null
      }
      this.#resume()
    })
  }

  #resume () {
    if (this.#document?.status !== 'live') return
    this.#outgoing.resume()
    this.#checkStatus()
    this.#resolveSynced()
  }

  /** @param {Uint8Array} update @param {unknown} origin */
  #onUpdate = (update, origin) => { if (origin !== this) this.#outgoing.add(update) }

  #onDocDestroyed = () => this.destroy()

  #onPageHide = () => this.#link?.leave()

  #onPageShow = (/** @type {{ persisted?: boolean }} */ { persisted }) => { if (persisted) this.#link?.comeBack() }

  /** The others do not have this update: what this page edits from now on would build on it. @param {unknown} reason */
  #onRefused (reason) {
    const error = new Error(String(reason))
    this.emit('error', Object.assign(error, { code: 'update_refused', retryable: false }))
    this.disconnect()
  }

  /** @param {Uint8Array | object} data @param {string} [event] */
  async #send (data, event = this.#event) {
    if (this.#document === null)
      throw new ClientError({ code: 'closed', message: 'the document is not open', retryable: true })
    const queue = event === this.#event && (this.#options.queue ?? false)
    return this.#document.send(data, { event, queue })
  }

  /** @param {Uint8Array} update */
  async #store (update) {
    const session = this.#session ?? new AbortController()
    // closed meanwhile
    if (this.#session === null) session.abort()
    await /** @type {Store} */ (this.#service.store)(update, { guid: this.guid, signal: session.signal })
  }

  #checkStatus () {
    const { state } = this.#client
    /** @type {Status} */
    let status = 'connecting'
    if (this.#session === null || state === 'closed' || state === 'refused') status = 'disconnected'
    else if (this.#document?.live) status = 'connected'
    if (status !== this.#status) {
      this.#status = status
      this.emit('status', { status })
    }
    const synced = this.#document?.status === 'live' && this.#known === null
    if (synced === this.#synced) return
    this.#synced = synced
    this.emit('sync', synced)
    this.emit('synced', synced)
  }

  #checkUnsent () {
    if (this.#unsent === !this.#outgoing.empty) return
    this.#unsent = !this.#outgoing.empty
    this.emit('unsent', this.#unsent)
  }

  /** @param {number} ms @param {() => void} action unless the document is closed before */
  #after (ms, action) {
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      action()
    }, ms)
    this.#timers.add(timer)
  }
}
