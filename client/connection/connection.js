import { clock } from '../common/clock.js'
import { random } from '../common/random.js'
import { SHORT, delayBefore, hintOf } from './delay.js'
import { ClientError, closedError, passing } from '../common/error.js'
import { io as socketIo } from './io.js'
import { explain, refusalOf } from './refusal.js'
import { rememberedTransport } from './remembered-transport.js'
import { packetSize } from './size.js'
import { checkToken } from './token.js'

/**
 * The connection of a client: connects, and reconnects after losses. Socket.IO's own reconnection is off, because it
 * does not know the gateway's retry hints, refusals and tokens.
 *
 * @typedef {import('./options.js').ClientState} ClientState
 * @typedef {import('./options.js').TokenReason} TokenReason
 * @typedef {import('./options.js').ClientOptions} ClientOptions
 * @typedef {import('./options.js').ConnectionEvents} ConnectionEvents
 */

/** Timeout of opening a transport, and again of the handshake, ms. */
const ATTEMPT_TIMEOUT = 15_000
/** Maximum delay before a page without a connection tries the other transport, ms. */
const SOON = 300
/**
 * Timeout of a WebSocket until the gateway's first message, ms: some proxies hold WebSockets, or let nothing pass. Long
 * polling is tried then.
 */
const FIRST_MESSAGE = 3000
/** Timeout of a check of the connection, ms. */
const CHECK_TIMEOUT = 3000
/** Events of a page that comes back, from sleep, another tab, the browser's cache or another network. */
const WAKE = ['online', 'pageshow', 'visibilitychange']
/** Timeout of the answer to a new token, ms. */
const REFRESH_TIMEOUT = 10_000

/** The browser's window; Node has no such events. @type {any} */
const window = globalThis

export class Connection {
  #options
  #events
  /** @type {string | undefined} */
  #token
  /** Number of the current attempt, to ignore results of earlier ones. */
  #attempt = 0
  #failures = 0
  #connectedAt = 0
  /** @type {boolean | undefined} */
  #pollingFirst
  /** Why the next token is requested; `refused` until there is a connection. @type {TokenReason} */
  #why = 'connect'
  /** Whether the gateway was asked if it refuses this page. */
  #asked = false
  /** Why the gateway is about to disconnect. @type {import('./refusal.js').Refusal | null} */
  #farewell = null
  /** Delay before the next reconnect, from the gateway, ms. @type {number | undefined} */
  #hint
  /** Maximum packet size that the gateway accepts, bytes; known after the first handshake. */
  #maxPayload = Infinity
  /** Timer of the next attempt. @type {import('../common/clock.js').Timer | undefined} */
  #pause
  /** Timeout of the first message of the attempt in progress. @type {import('../common/clock.js').Timer | undefined} */
  #firstMessage
  /** Timeout of the attempt in progress. @type {import('../common/clock.js').Timer | undefined} */
  #watch
  /** The check in progress. @type {Promise<boolean> | undefined} */
  #checking
  #onWake = () => { if (window.document?.visibilityState !== 'hidden') this.checkLine() }

  /**
   * @param {string} url
   * @param {ClientOptions} options
   * @param {ConnectionEvents} events
   * @throws {ClientError} bad_request: the token is no token
   */
  constructor (url, options, events) {
    if (typeof options.token !== 'function') checkToken(options.token)
    this.#options = options
    this.#events = events
    /** @type {ClientState} */
    this.state = 'connecting'
    /** @type {ClientError | null} */
    this.reason = null
    /** @type {import('socket.io-client').Socket} */
    this.socket = (options.io ?? socketIo)(url, {
      ...options.socket,
      ...(options.parser && { parser: options.parser }),
      auth: (/** @type {(auth: object) => void} */ send) =>
        send({ ...(this.#token !== undefined && { token: this.#token }), ...events.auth() }),
      autoConnect: false,
      forceNew: true,
      reconnection: false,
      timeout: ATTEMPT_TIMEOUT
    })
    this.#pollingFirst = rememberedTransport(this.socket.io) === 'polling'
    this.#listen()
    for (const event of WAKE) window.addEventListener?.(event, this.#onWake)
  }

  /** Whether only the page can connect again, or not even the page. */
  get ended () { return this.state === 'closed' || this.state === 'refused' }
  get up () { return this.state === 'connected' || this.state === 'draining' }
  get #engine () { return /** @type {any} */ (this.socket.io).engine }
  get transport () { return this.up ? this.#engine?.transport.name : undefined }

  /** Connects now, unless it is connecting or closed; checks an open connection. */
  connect () {
    if (this.state === 'closed') return
    if (this.up) return void this.checkLine()
    // the gateway refuses a second handshake on one transport
    if (this.#watch) return
    if (this.state === 'refused') {
      this.#asked = false
      this.#setState('reconnecting', null)
    }
    this.#try()
  }

  /**
   * Finds out whether the connection still works: a network may fail without closing it. A dead one is dropped. Without
   * a connection the next attempt comes soon, unless the gateway named a time.
   * @returns {Promise<boolean>} whether the connection works
   */
  async checkLine () {
    if (this.up) return this.#checking ??= this.#check()
    if (this.#pause && this.#hint === undefined) this.#retryIn(random.number() * SOON)
    return false
  }

  /** @returns {Promise<boolean>} */
  #check () {
    const engine = this.#engine
    return new Promise((resolve) => {
      let isOver = false
      const end = (/** @type {boolean} */ works) => {
        if (isOver) return
        isOver = true
        engine.off?.('packet', alive)
        this.#checking = undefined
        resolve(works)
        // not the engine alone, which would wait for what it cannot send
        if (!works && this.up && engine === this.#engine) this.socket.disconnect()
      }
      const alive = () => end(true)
      // any packet is an answer: a busy gateway is not a dead one
      engine.once?.('packet', alive)
      this.socket.timeout(CHECK_TIMEOUT).emit('gateway:check', {}, (/** @type {Error | null} */ lost) => end(!lost))
    })
  }

  /** Drops the connection on purpose. @param {number} [ms] delay before the reconnect */
  drop (ms) {
    if (!this.up) return
    this.#hint = ms
    this.#engine.close()
  }

  close () {
    /** @type {any} */ (this.socket.io).seat?.leave(true)
    for (const event of WAKE) window.removeEventListener?.(event, this.#onWake)
    this.#down()
    this.#setState('closed', closedError('the client'))
  }

  /**
   * @param {string} event
   * @param {object} argument
   * @param {number} timeout ms
   * @returns {Promise<any>}
   * @throws {ClientError}
   */
  request (event, argument, timeout) {
    return new Promise((resolve, reject) => {
      this.check(event, argument)
      this.socket
        .timeout(timeout)
        .emit(event, argument, (/** @type {Error | null} */ lost, /** @type {any} */ answer) => {
          if (!lost) return answer.ok ? resolve(answer) : reject(new ClientError(answer.error))
          const { connected } = this.socket
          if (connected) this.checkLine()
          reject(passing(
            connected ? 'timeout' : 'disconnected',
            'no answer; the gateway may have accepted it',
            this.#cut ?? lost
          ))
        })
    })
  }

  /**
   * Sends an event that has no answer, after `check`.
   * @param {string} event
   * @param {object} argument
   */
  tell (event, argument) { this.socket.emit(event, argument) }

  /**
   * @param {string} event
   * @param {object} argument
   * @throws {ClientError} value_too_large, bad_value: the gateway would refuse it, or close the connection
   */
  check (event, argument) {
    const size = packetSize(this.socket.io, event, argument)
    if (size > this.#maxPayload) {
      throw new ClientError({
        code: 'value_too_large',
        message: `the value has ${size} bytes, and the gateway accepts ${this.#maxPayload}`
      })
    }
  }

  #listen () {
    const { socket } = this
    socket.on('connect', () => {
      this.#clearTimers()
      this.#connectedAt = clock.monotonic()
      this.#why = 'connect'
      this.#farewell = null
      this.#hint = undefined
      const remember = () => rememberedTransport(socket.io, this.#engine.transport.name)
      remember()
      this.#engine.once?.('upgrade', remember)
      this.#setState('connected', null)
      this.#events.onUp()
    })
    socket.on('connect_error', (error) => {
      const { data } = /** @type {any} */ (error)
      if (data?.code === undefined) this.#unreachable(error)
      else this.#refused({ ...data, message: error.message })
    })
    socket.on('disconnect', (reason) => {
      if (!this.up) {
        // between the opening of the transport and the handshake's answer; not after a connect_error
        if (this.#watch) this.#unreachable(new Error(reason))
        return
      }
      this.#pollingFirst = this.#engine.transport.name === 'polling' // polling upgrades to WebSocket where possible
      this.#failures = clock.monotonic() - this.#connectedAt < SHORT ? this.#failures : 0
      const cut = this.#cut
      if (this.#farewell && !cut) this.#refused(this.#farewell)
      else
        this.#failed(cut ?? passing('disconnected', 'the connection was lost'), this.#hint)
    })
    socket.on('gateway:draining', ({ reconnectInMs }) => {
      this.#hint = reconnectInMs
      this.#setState('draining', null)
    })
    socket.on('gateway:disconnect', (farewell) => { this.#farewell = farewell })
    socket.on('auth:expiring', async () => {
      const { token } = this.#options
      const { id } = socket
      if (typeof token !== 'function') return
      try {
        const fresh = checkToken(await token('expiring'))
        // a later connection has a newer one
        if (id === socket.id) await this.request('auth:refresh', { token: fresh }, REFRESH_TIMEOUT)
      } catch {
        // the gateway disconnects when the old token has expired, and the next handshake requests another one
      }
    })
  }

  /** Error of a connection that the gateway cuts for one of its packets: the next one need not have it. */
  get #cut () { return this.#farewell?.code === 'bad_value' ? new ClientError(this.#farewell) : undefined }

  async #try () {
    this.#clearTimers()
    const attempt = ++this.#attempt
    const options = this.#options
    let { transports } = options
    const manager = /** @type {any} */ (this.socket.io)
    const isCurrent = () => attempt === this.#attempt
    let hasToken = false
    try {
      const fresh = checkToken(typeof options.token === 'function'
        ? await Promise.resolve(this.#why).then(options.token)
        : options.token)
      if (!isCurrent()) return
      this.#token = fresh
      hasToken = true
      if (options.parser || options.shared || (options.io && manager.encoder))
        transports = await (await import('./rare-options.js'))
          .applyRareOptions(manager, options, fresh, this, isCurrent)
    } catch (error) {
      if (!isCurrent()) return
      if (hasToken) this.#unreachable(error)
      else this.#failed(passing('token_unavailable', 'the token failed', error))
      return
    }
    if (!isCurrent()) return
    // WebSocket first; if that failed, long polling, which upgrades to WebSocket where possible
    manager.opts.transports = transports ?? (this.#pollingFirst ? ['polling', 'websocket'] : ['websocket', 'polling'])
    const fail = (/** @type {string} */ message) => {
      this.socket.disconnect()
      this.#unreachable(new Error(message))
    }
    this.#watch = clock.timer(ATTEMPT_TIMEOUT * 2, () => fail('timeout'))
    this.socket.connect()
    const engine = this.#engine
    let isOpen = false
    engine?.once?.('handshake', (/** @type {{ maxPayload?: number }} */ { maxPayload }) => {
      isOpen = true
      this.#maxPayload = maxPayload ?? Infinity
    })
    if (transports || this.#pollingFirst) return
    const giveUp = (/** @type {string} */ message) => {
      if (isOpen || !isCurrent()) return
      isOpen = true
      fail(message)
    }
    this.#firstMessage = clock.timer(FIRST_MESSAGE, () => giveUp('timeout'))
    // Socket.IO would wait for its own timeout
    engine?.once?.('close', () => giveUp('websocket error'))
  }

  /** Handles the failure of a transport. @param {any} error */
  #unreachable (error) {
    const refusal = refusalOf(error)
    if (refusal) return this.#refused(refusal)
    this.#askForRefusal()
    // a proxy that blocks WebSockets responds immediately: a page that is just opening need not wait
    const first = this.#failures === 0 && this.state === 'connecting' && !this.#options.transports
    this.#pollingFirst = !this.#pollingFirst
    this.#failed(
      passing('unavailable', explain(this.socket.io, error), error, hintOf(error)),
      first ? random.number() * SOON : undefined
    )
  }

  /** Asks once whether the gateway refuses this page, if the transport cannot show a refusal. */
  async #askForRefusal () {
    if (this.#asked || !window.location || this.#options.transports?.includes('polling') !== false) return
    this.#asked = true
    const refusal = await import('./ask-for-refusal.js')
      .then(({ askForRefusal }) => askForRefusal(this.socket.io))
      .catch(() => null)
    if (refusal && !this.up && this.state !== 'closed') this.#refused(refusal)
  }

  /** @param {import('./refusal.js').Refusal} error of the gateway */
  #refused (error) {
    const reason = new ClientError(error)
    const { code, retryable } = reason
    if (retryable) return this.#failed(reason)
    const { token } = this.#options
    // without a token, the application has logged the client in, and does so again while its session holds
    if (
      this.#why === 'connect' &&
      (code === 'token_expired' ? typeof token !== 'string' : code === 'unauthorized' && typeof token === 'function')
    ) {
      this.#why = 'refused'
      return this.#failed(reason)
    }
    this.#down()
    this.#setState('refused', reason)
  }

  /** @param {ClientError} reason @param {number} [hint] ms, unless the reason has one */
  #failed (reason, hint) {
    this.#down()
    // before the state changes, because a listener may call connect()
    this.#hint = reason.retryInMs ?? hint
    this.#retryIn(delayBefore(this.#failures++, this.#hint))
    this.#setState(this.state === 'connecting' ? 'connecting' : 'reconnecting', reason)
  }

  #clearTimers () {
    this.#pause?.stop()
    this.#watch?.stop()
    this.#firstMessage?.stop()
    this.#pause = this.#watch = undefined
  }

  #down () {
    this.#attempt++
    this.#clearTimers()
    // the queue must not be sent before the documents are joined again
    this.socket.sendBuffer = []
    this.#events.onDown()
  }

  /** @param {number} ms */
  #retryIn (ms) {
    this.#clearTimers()
    this.#pause = clock.timer(ms, () => this.#try())
  }

  /** @param {ClientState} state @param {ClientError | null} reason */
  #setState (state, reason) {
    const same = state === this.state && reason?.code === this.reason?.code
    this.state = state
    this.reason = reason
    // before a listener hears of it, because it may call connect()
    if (this.ended) this.socket.disconnect()
    if (!same) this.#events.onState(state, reason)
  }
}
