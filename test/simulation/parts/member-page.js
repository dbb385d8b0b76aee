import { io } from 'socket.io-client'
import msgpackParser from 'socket.io-msgpack-parser'
import { PUBLIC } from './cluster.js'
import { PlainLine } from './plain-line.js'
import { signToken } from './tokens.js'

const URL = `http://${PUBLIC}`
const WAYS = [['websocket'], ['websocket'], ['polling', 'websocket'], ['polling']]
/** Time for an answer, ms: shorter than a lease. */
const PATIENCE = 6000
/** Before it connects again after the gateway has ended or refused it, ms. */
const BACK = 600
/** Lifetime of a token after one was refused, s: longer than a world, and than a step of a clock. */
const LONG = 20_000

/** @typedef {import('../oracle/rights-ledger.js').Line} Line */

/**
 * A tab of a user whose rights change: a stock client that opens, leaves, writes, signals and reads, whether it may or
 * not, and connects again whatever the reason of an end was. It tells what it sees to the oracle.
 */
export class MemberPage {
  /** @type {import('socket.io-client').Socket | undefined} */
  #socket
  /** Of the handshake in progress, or of the open connection. @type {Line | undefined} */
  line
  /** Last position by document. @type {Map<string, { epoch: string, offset: number }>} */
  #positions = new Map()
  /** @type {{ jwt: string, iat: number }} */
  #token
  /** Whether the last handshake was refused because of a ban. */
  isBanned = false
  #needsLongToken = false
  #isFaithful
  /** The last answer of its worker, by document. @type {Map<string, boolean>} */
  #probed = new Map()

  /**
   * @param {import('../world/sim-process.js').SimProcess} process
   * @param {object} options
   * @param {string} options.uid
   * @param {string[]} options.guids
   * @param {import('../oracle/rights-checker.js').RightsChecker} options.checker
   * @param {() => number} options.issuerTime ms since 1970
   * @param {boolean} options.isPlain over a plain WebSocket
   */
  constructor (process, { uid, guids, checker, issuerTime, isPlain }) {
    this.process = process
    this.name = process.name
    this.uid = uid
    this.guids = guids
    this.checker = checker
    this.issuerTime = issuerTime
    this.isPlain = isPlain
    process.isClient = true
    /** Whether it keeps its token as long as it can. */
    this.#isFaithful = process.drawn.chance(0.5)
    this.#token = this.#newToken()
    process.enter('open page', () => this.#open())
  }

  get isConnected () { return this.#socket?.connected === true }

  /** It is connected, or the user is banned. */
  get isSettled () { return this.isConnected || this.isBanned }

  #newToken () {
    const { drawn, world } = this.process
    const iat = Math.floor(this.issuerTime() / 1000)
    const lifetime = this.#needsLongToken || drawn.chance(0.6) ? LONG : drawn.whole(8, 40)
    const exp = Math.floor(world.wall / 1000) + lifetime
    this.#needsLongToken = false
    return { jwt: signToken({ sub: this.uid, iat, exp }), iat }
  }

  #open () {
    const { drawn } = this.process
    const transports = drawn.pick(WAYS)
    const isPacked = drawn.chance(0.3)
    const auth = (/** @type {(auth: object) => void} */ tell) => tell(this.#handshake())
    /** @type {import('socket.io-client').Socket} */
    const socket = this.#socket = this.isPlain
      ? /** @type {any} */ (new PlainLine(this.process, { isPacked, auth }))
      : io(URL, { transports, forceNew: true, ...isPacked ? { parser: msgpackParser } : {}, auth })
    socket.on('connect', () => {
      const line = /** @type {Line} */ (this.line)
      line.sid = /** @type {string} */ (socket.id)
      line.connectedAt = this.process.world.time
      this.isBanned = false
      this.checker.connected(line)
    })
    socket.on('connect_error', (error) => this.#refused(/** @type {any} */ (error).data))
    socket.on('gateway:disconnect', ({ code }) => {
      if (this.line !== undefined) this.checker.ended(this.line, code)
      if (code === 'token_expired') this.#needsLongToken = true
    })
    socket.on('disconnect', () => {
      this.line?.documents.clear()
      if (!socket.active) this.#connectLater(BACK)
    })
    socket.on('doc:joined', ({ guid, position }) => this.#joined(guid, position))
    socket.on('doc:refused', ({ guid }) => { this.line?.asked.delete(guid) })
    socket.on('doc:revoked', ({ guid }) => this.#lost(guid, ['revoke']))
    socket.on('doc:closed', ({ guid }) => this.#lost(guid, ['close', 'leave']))
    socket.on('doc:resync', ({ guid, position }) => { this.#positions.set(guid, position) })
    socket.on('record', ({ begun }, { guid, offset }) => {
      const at = this.#positions.get(guid)
      if (at !== undefined && offset > at.offset) at.offset = offset
      this.#got(guid, begun)
    })
    socket.on('wave', ({ begun }, { guid }) => this.#got(guid, begun))
    socket.on('auth:expiring', () => { if (!this.#isFaithful || drawn.chance(0.3)) this.refresh() })
  }

  /** @returns {object} data of a handshake, which begins now */
  #handshake () {
    const { drawn, world } = this.process
    if (this.#needsLongToken || !this.#isFaithful) this.#token = this.#newToken()
    const documents = new Map()
    /** @type {Record<string, object | null>} */
    const asked = {}
    for (const guid of this.guids) {
      if (!drawn.chance(0.6)) continue
      asked[guid] = this.#positions.get(guid) ?? null
    }
    const { jwt: token, iat } = this.#token
    this.line = {
      page: this.name, uid: this.uid, sid: '', begunAt: world.time, connectedAt: Infinity, iat, documents,
      asked: new Set(Object.keys(asked)), unsure: new Set()
    }
    return { token, client: this.name, documents: asked }
  }

  /** @param {{ code: string, retryable: boolean, retryInMs?: number } | undefined} data */
  #refused (data) {
    // without data Socket.IO retries by itself
    if (data === undefined) return
    const { line } = this
    this.isBanned = data.code === 'banned'
    if (line !== undefined) this.checker.refusedHandshake(line, data.code)
    if (!data.retryable && !this.isBanned) this.#needsLongToken = true
    this.#connectLater(data.retryInMs ?? 2 * BACK)
  }

  /** @param {number} ms */
  #connectLater (ms) {
    const { clock, drawn } = this.process
    clock.timer(drawn.duration(ms), () => { if (this.#socket?.active === false) this.#socket.disconnect().connect() })
  }

  /**
   * @param {string} guid
   * @param {{ epoch: string, offset: number }} position
   * @param {number} [askedAt] when it has asked for it; default: in the handshake, or a service has opened it
   */
  #joined (guid, position, askedAt) {
    const { line } = this
    if (line === undefined) return
    this.#positions.set(guid, { ...position })
    if (askedAt === undefined) this.checker.joined(line, guid, line.asked.delete(guid))
    const before = line.documents.get(guid)
    line.documents.set(guid, {
      askedAt: before?.askedAt ?? askedAt ?? line.begunAt, joinedAt: this.process.world.time
    })
  }

  /** @param {string} guid @param {import('../oracle/rights-ledger.js').OrderKind[]} kinds of orders that do this */
  #lost (guid, kinds) {
    const { line } = this
    if (line === undefined) return
    this.checker.lost(line, guid, kinds)
    line.documents.delete(guid)
  }

  /** @param {string} guid @param {number} begun when what it got was published */
  #got (guid, begun) { if (this.line !== undefined) this.checker.got(this.line, guid, begun) }

  /**
   * Sends an event, if it is connected.
   * @param {string} event
   * @param {any} argument
   * @param {(answer: any) => void} [done] called with the answer in its place among what the gateway sends
   */
  #ask (event, argument, done = () => {}) {
    const socket = this.#socket
    const { line } = this
    if (socket === undefined || !socket.connected || line === undefined) return
    const asked = this.checker.asks(line, event, argument.guid)
    socket.timeout(PATIENCE).emit(event, argument, (/** @type {Error | null} */ error, /** @type {any} */ answer) => {
      // the worker may still carry it out, and its answer comes too late
      if (error !== null && (event === 'doc:join' || event === 'doc:leave')) line.unsure.add(argument.guid)
      if (error !== null || this.line !== line) return
      this.checker.answered(asked, answer)
      done(answer)
    })
  }

  /** Opens a document, in a turn of its process. @param {string} guid */
  join (guid) {
    const begun = this.process.world.time
    const position = this.#positions.get(guid)
    this.#ask('doc:join', { guid, ...position === undefined ? {} : { position: { ...position } } }, (answer) => {
      if (answer.ok) this.#joined(guid, answer.position, begun)
    })
  }

  /** @param {string} guid */
  leave (guid) { this.#ask('doc:leave', { guid }, ({ ok }) => { if (ok) this.line?.documents.delete(guid) }) }

  /** @param {string} guid */
  send (guid) {
    this.#ask('doc:send', { guid, event: 'record', data: { begun: this.process.world.time } })
  }

  /** @param {string} guid */
  signal (guid) {
    this.#ask('doc:signal', { guid, event: 'wave', data: { begun: this.process.world.time } })
  }

  /** @param {string} guid */
  history (guid) { this.#ask('doc:history', { guid, limit: 1 }) }

  /** Sends a new token. */
  refresh () {
    const { line } = this
    const token = this.#newToken()
    if (line === undefined || !this.isConnected) return
    // from here on the connection may have its rights
    line.iat = Math.max(line.iat, token.iat)
    this.#ask('auth:refresh', { token: token.jwt }, ({ ok }) => { if (ok) this.#token = token })
  }

  /** Asks its worker which documents are open on this connection. */
  probe () {
    for (const guid of this.guids) {
      this.#ask('doc:history', { guid, limit: 1 }, ({ ok, error }) => {
        if (ok || error.code === 'not_joined') this.#probed.set(guid, ok)
      })
    }
  }

  /** @returns {string | undefined} a document about which the page and its worker do not agree */
  difference () {
    if (!this.isConnected) return `${this.name} is not connected`
    const guid = this.guids.find((one) => !this.line?.unsure.has(one) &&
      this.#probed.get(one) !== this.line?.documents.has(one))
    if (guid === undefined) return undefined
    return `${this.name} ${this.line?.documents.has(guid) ? 'has' : 'does not have'} ${guid} open, other than its worker`
  }

  /** Connects again with another token. */
  again () {
    if (!this.isConnected) return
    this.#token = this.#newToken()
    this.#socket?.disconnect().connect()
  }
}
