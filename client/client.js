import { Connection } from './connection/connection.js'
import { Emitter } from './common/emitter.js'
import { checkOptions } from './common/check-options.js'
import { ClientError, badRequest } from './common/error.js'
import { createLog } from './common/log.js'
import { Membership } from './document/membership.js'
import { createPositions, positionOf } from './document/positions.js'
import { randomId } from './common/random-id.js'
import { utf8Length } from './common/utf8.js'
import { UserLog } from './user/user-log.js'
import { Waiting } from './common/waiting.js'
import { throwIfAborted } from './common/within.js'

/**
 * @typedef {import('./connection/options.js').ClientState} ClientState
 * @typedef {import('./connection/options.js').ClientOptions} ClientOptions
 * @typedef {import('./connection/options.js').TokenReason} TokenReason
 * @typedef {import('./connection/options.js').PositionStorage} PositionStorage
 */

/** Connection ids of this client that are remembered, to recognize its own records. */
const MAX_OWN = 100
/**
 * Maximum documents joined with the handshake: a gateway refuses a handshake with too many. The others are joined right
 * after it.
 */
const MAX_IN_HANDSHAKE = 50
/** Maximum size of the documents in a handshake, bytes: a gateway accepts no large packets before admission. */
const MAX_HANDSHAKE_BYTES = 32_768
/** Maximum number of values in these documents: a gateway refuses a handshake with too many. */
const MAX_HANDSHAKE_VALUES = 1000
/** Maximum length of a guid or client id, UTF-8 bytes. */
const MAX_ID = 256
/** Timeout of the answer to `doc:leave`, ms. */
const LEAVE_TIMEOUT = 10_000

/** Created by `connect`. */
export class Client {
  /** The option `id`, or a random id. It stays the same across reconnects. @readonly @type {string} */
  id
  /** URL of the gateway. @readonly @type {string} */
  url
  #connection
  #emitter = new Emitter()
  /** @type {Map<string, Membership>} by guid */
  #memberships = new Map()
  /** Closed documents whose `doc:leave` is not answered yet. @type {Map<string, Promise<unknown>>} by guid */
  #leaving = new Map()
  /** @type {Set<string>} */
  #own = new Set()
  #positions
  /** @type {import('./document/membership.js').Link} */
  #link
  #log

  /**
   * @internal
   * @param {string} url
   * @param {ClientOptions} options
   * @throws {ClientError} bad_request: wrong `id` or `token`
   */
  constructor (url, options) {
    this.id = options.id ?? randomId()
    checkId('id', this.id)
    this.url = url
    checkOptions('connect', options)
    checkOptions('outbox', options.outbox)
    this.#log = createLog(options.log)
    const openQueue = outboxOf(url, options.outbox, this.#log.log)
    this.#positions = createPositions(options.storage, url)
    this.#connection = new Connection(url, options, {
      auth: () => {
        this.#offered = this.#user !== undefined
        return {
          client: this.id,
          acknowledges: true,
          documents: this.#handshakeDocuments(),
          user: this.#user && (this.#user.position ?? {})
        }
      },
      onUp: () => this.#onUp(),
      onDown: () => {
        this.#leaving.clear()
        for (const membership of this.#memberships.values()) membership.lost()
      },
      onState: (state, reason) => {
        this.#log.log(state, undefined, reason?.code)
        const ended = /** @type {ClientError} */ (reason)
        if (state === 'connected') this.#ready.resolve()
        else if (this.#connection.ended) this.#ready.reject(ended)
        if (state === 'refused') for (const membership of this.#memberships.values()) membership.reject(ended)
        this.#emitter.emit('state', state, reason)
      }
    })
    this.#link = {
      connection: this.#connection,
      log: this.#log.log,
      save: this.#positions.save,
      openQueue,
      isOwn: (connectionId) => this.#own.has(connectionId),
      gone: ({ guid }, toLeave) => {
        this.#memberships.delete(guid)
        if (toLeave) this.#leave(guid)
      }
    }
    this.#listen()
    this.#connection.connect()
  }

  /** The underlying Socket.IO socket. @returns {import('socket.io-client').Socket} */
  get socket () { return this.#connection.socket }

  /** State of the connection. */
  get state () { return this.#connection.state }

  /**
   * Why the client is not connected: the error of the lost connection, or of the last attempt that failed. Null while
   * it is connected, before the first attempt has failed, and after `connect()` of a refused client.
   */
  get reason () { return this.#connection.reason }

  /**
   * Id of the current connection; its first two characters are the gateway worker's number.
   * @returns {string | undefined}
   */
  get connectionId () { return this.socket.id }

  /**
   * Resolves when the client is connected: at once if it is.
   * @returns {Promise<void>} rejects if the gateway refuses it, or it is closed
   */
  get ready () {
    const { up, ended, reason } = this.#connection
    return up ? Promise.resolve() : ended ? Promise.reject(reason) : this.#ready.wait()
  }

  #ready = new Waiting()

  /** @type {UserLog | undefined} */
  #user
  /** Whether the last handshake asked for the log of the user. */
  #offered = false

  /**
   * The log of the user. The client reads it from the first use of this property on. Use it right after `connect`: a
   * first use on an open connection makes the client reconnect.
   */
  get user () {
    if (this.#user === undefined) {
      this.#user = new UserLog(this.socket, this.#positions)
      this.drop(0)
    }
    return this.#user
  }

  /**
   * Transport of the current connection.
   * @returns {import('./connection/options.js').Transport | undefined}
   */
  get transport () { return this.#connection.transport }

  /**
   * Listens to `state` (state, reason), or to records for this user, this connection or everyone, by event name. A
   * record named `state` is emitted as `record:state`.
   *
   * @overload
   * @param {'state'} event
   * @param {(state: ClientState, reason: ClientError | null) => void} listener
   * @returns {() => void} removes the listener
   */
  /**
   * @overload
   * @param {string} event
   * @param {import('./types.js').Listener<any>} listener
   * @returns {() => void} removes the listener
   */
  /**
   * @param {string} event
   * @param {Function} listener
   * @returns {() => void}
   */
  on (event, listener) { return this.#emitter.on(event, listener) }

  /** @param {string} event @param {Function} listener */
  off (event, listener) { this.#emitter.off(event, listener) }

  /**
   * Opens a document and keeps it open over reconnects. A second call returns another Document with the same
   * connection, position and presence.
   *
   * @template {object} [Events=Record<string, any>] payloads by the names of records
   * @template {object} [Presence=Record<string, any>] state of a member
   * @template {object} [Signals=Record<string, any>] data by the names of signals
   * @param {string} guid
   * @param {import('./document/options.js').OpenOptions<Presence>} [options]
   * @returns {Promise<import('./document/document.js').Document<Events, Presence, Signals>>} resolves when the document
   *   is joined, and loaded if there is a `load`. Without a connection it waits for one
   * @throws {ClientError} if the gateway refuses the document, or after the `timeout`. An abort of the `signal` rejects
   *   with the reason of the signal, a `load` that is no function with a TypeError, a wrong `last` with `bad_request`
   */
  async open (guid, options = {}) {
    throwIfAborted(options.signal)
    checkOptions('open', options)
    const begin = options.load || options.last != null
      ? (await import('./document/begin.js')).beginOf(options)
      : undefined
    const Participation = (options.state !== undefined || options.presence) &&
      (await import('./presence/participation.js')).Participation
    // these travel with the next handshake, where their errors would belong to no call
    checkId('guid', guid)
    const position = positionOf(options.position)
    options = { ...options, position }
    if (Participation && options.state !== undefined) options.state = Participation.copyOf(options.state)
    // after the imports: it may end meanwhile
    if (this.#connection.ended) throw this.reason
    let membership = this.#memberships.get(guid)
    if (membership === undefined) {
      membership = new Membership(
        guid, this.#link, position ?? (begin?.last ? null : this.#positions.load(guid)), begin
      )
      this.#memberships.set(guid, membership)
      // before the join, which takes its state along
      if (Participation) membership.takePart(Participation, options)
      this.#joinIfPossible(membership)
    } else if (Participation) membership.takePart(Participation)
    return /** @type {Promise<any>} */ (membership.open(options, begin))
  }

  /** @internal for tools */
  get _memberships () { return this.#memberships }

  /**
   * Listens to what the client does, for tools.
   * @param {import('./common/log.js').LogSink} sink
   * @returns {() => void} removes the sink
   */
  onLog (sink) { return this.#log.add(sink) }

  /**
   * Connects now, without the pause before the next attempt; also after a refusal. Does nothing during an attempt.
   * Checks an open connection.
   */
  connect () { this.#connection.connect() }

  /**
   * Finds out within 3 s whether the connection still works, and reconnects if not. The client does this itself when a
   * page comes back (`online`, `pageshow`, `visibilitychange`), and after a request without an answer.
   * @returns {Promise<boolean>} whether the connection works
   */
  check () { return this.#connection.checkLine() }

  /**
   * For demos and tests: drops the connection as if the network had failed, and reconnects.
   * @param {number} [ms] delay before the reconnect; default: the usual pause
   */
  drop (ms) { this.#connection.drop(ms) }

  /** Closes all documents and the connection permanently. */
  close () {
    if (this.state === 'closed') return
    this.#connection.close()
    for (const membership of this.#memberships.values()) membership.fail(/** @type {ClientError} */ (this.reason))
    this.#emitter.clear()
    this.#user?._clear()
  }

  /**
   * Records that arrive before the gateway's answer belong to the old membership; a new one is joined after it.
   * @param {string} guid
   */
  #leave (guid) {
    // while connecting, Socket.IO sends this right after the handshake, which may contain the document
    const leaving = this.#connection.request('doc:leave', { guid }, LEAVE_TIMEOUT).catch(() => {}).then(() => {
      if (this.#leaving.get(guid) !== leaving) return
      this.#leaving.delete(guid)
      const membership = this.#memberships.get(guid)
      if (membership) this.#joinIfPossible(membership)
    })
    this.#leaving.set(guid, leaving)
  }

  /** @param {Membership} membership */
  #joinIfPossible (membership) {
    if (this.socket.connected && membership.status === 'idle' && !this.#leaving.has(membership.guid)) membership.join()
  }

  #handshakeDocuments () {
    /** @type {[string, object][]} */
    const documents = []
    let bytes = 0
    let values = 0
    for (const membership of this.#memberships.values()) {
      const { guid, opening } = membership
      if (this.#leaving.has(guid)) continue
      const text = JSON.stringify([guid, opening])
      const size = utf8Length(text)
      const count = text.split(/[,:[{]/).length
      if (bytes + size > MAX_HANDSHAKE_BYTES || values + count > MAX_HANDSHAKE_VALUES) continue
      documents.push([guid, opening])
      membership.offer()
      bytes += size
      values += count
      if (documents.length === MAX_IN_HANDSHAKE) break
    }
    return Object.fromEntries(documents)
  }

  #onUp () {
    if (this.#own.size >= MAX_OWN) this.#own.delete([...this.#own][0])
    this.#own.add(this.socket.id ?? '')
    if (this.#user && !this.#offered) return this.drop(0)
    // documents that were not in the handshake
    for (const membership of this.#memberships.values()) this.#joinIfPossible(membership)
  }

  #listen () {
    const { socket } = this
    const membershipOf = (/** @type {{ guid: string }} */ { guid }) => this.#memberships.get(guid)
    socket.on('doc:joined', (joined) => membershipOf(joined)?.onJoined(joined))
    socket.on('doc:refused', (refused) => membershipOf(refused)?.onRefused(new ClientError(refused.error)))
    socket.on('doc:resync', (resync) => membershipOf(resync)?.onResync(resync))
    socket.on('doc:position', (passed) => membershipOf(passed)?.onPosition(passed))
    socket.on('doc:presence', (update) => membershipOf(update)?.onPresence(update))
    socket.on('doc:revoked', (revoked) =>
      membershipOf(revoked)?.fail(
        new ClientError({ code: 'forbidden', message: 'access revoked' })
      )
    )
    socket.on('doc:closed', (closed) =>
      membershipOf(closed)?.fail(
        new ClientError({
          code: 'not_joined',
          message: closed.reason ?? 'the service closed it',
          serviceCode: closed.code
        })
      )
    )
    socket.onAny((event, payload, meta, acknowledge) => {
      if (/^(doc|gateway|auth):/.test(event)) return
      if (meta?.sampled) acknowledge = acknowledge()
      if (meta?.user && this.#user) return this.#user._onRecord(event, payload, meta)
      const guid = meta?.guid
      const membership = this.#memberships.get(guid)
      if (membership) membership.onRecord(event, payload, meta, acknowledge)
      else if (!this.#leaving.has(guid))
        this.#emitter.emit(event === 'state' ? 'record:state' : event, payload, meta, acknowledge)
    })
  }
}

/**
 * @param {string} url
 * @param {import('./connection/options.js').OutboxOptions | undefined} options
 * @param {import('./common/log.js').Log} log
 * @returns {import('./document/membership.js').Link['openQueue']} loads the code when it is needed
 */
function outboxOf (url, options, log) {
  if (options === undefined) return () => null
  // without an owner, the edits of one user would be sent as those of another
  if (typeof options?.user !== 'string') throw new TypeError('the option `outbox` of connect must be { user: string }')
  /** @type {import('./outbox/contract.js').Outbox | undefined} */
  let outbox
  return async (membership) => {
    // an import that has failed may succeed later
    const { createOutbox } = await import('./outbox/index.js')
    outbox ??= createOutbox({ url, ...options, log })
    return outbox.open(membership)
  }
}

/** @param {string} name @param {unknown} id of a document or client @throws {ClientError} bad_request */
function checkId (name, id) {
  // eslint-disable-next-line no-control-regex
  if (typeof id !== 'string' || id === '' || /[\u0000-\u001f\u007f]/.test(id) || utf8Length(id) > MAX_ID)
    throw badRequest(`${name} must be a string of 1 to ${MAX_ID} bytes without control characters`)
}
