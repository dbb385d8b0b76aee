import { io } from 'socket.io-client'
import msgpackParser from 'socket.io-msgpack-parser'
import { runPrintedLines } from '../../helpers/printed-lines.js'
import { Page, tokenOf, URL, WAYS } from './page.js'

/** The page gives up waiting for an answer, and asks again. */
const PATIENCE = 10_000

/** A page with a stock socket.io-client and the lines of docs/protocol.md, as printed. */
export class StockPage extends Page {
  /** @type {import('socket.io-client').Socket | undefined} */
  #socket
  /** Position in the log of the user. @type {{ epoch?: string, offset?: number }} */
  #user = {}
  /** States of the last handshake, by guid. @type {Map<string, object | undefined>} */
  #offered = new Map()

  /** @param {import('../world/sim-process.js').SimProcess} process @param {import('./page.js').PageOptions} options */
  constructor (process, options) {
    super(process, options)
    const transports = process.drawn.pick(WAYS)
    const isPacked = process.drawn.chance(0.4)
    process.enter('open page', () => this.#open(options.guids, transports, isPacked))
  }

  get isConnected () {
    return this.#socket?.connected === true && this.logs.every(([, { position }]) => position !== null)
  }

  get connectionId () { return this.#socket?.id }

  /** @param {string} guid */
  members (guid) { return /** @type {import('./page.js').Part} */ (this.presence.get(guid)).checker.members.values() }

  close () { this.#socket?.disconnect() }

  /**
   * @param {(tell: (auth: object) => void) => void} auth
   * @param {{ transports: string[], isPacked: boolean }} way
   * @returns {import('socket.io-client').Socket}
   */
  openLine (auth, { transports, isPacked }) {
    return io(URL, { transports, forceNew: true, auth, ...isPacked ? { parser: msgpackParser } : {} })
  }

  /** @param {string[]} guids @param {string[]} transports @param {boolean} isPacked */
  #open (guids, transports, isPacked) {
    const token = tokenOf(this.uid)
    const socket = this.#socket = runPrintedLines({
      guids,
      event: 'record',
      connect: (auth) => this.openLine((tell) => auth((/** @type {any} */ { documents }) => {
        for (const [guid, { state }] of this.presence) {
          documents[guid] = { ...documents[guid], members: true, ...state && { state } }
          this.#offered.set(guid, state)
        }
        tell({ token, client: this.name, documents, ...this.log && { user: this.#user } })
      }), { transports, isPacked }),
      show: (guid, { writer, number }, { offset }) => this.documents.get(guid)?.shown(writer, number, offset)
    })
    socket.on('record', (_, { guid, offset, traceId }, acknowledge) => {
      this.documents.get(guid)?.arrived(offset)
      this.acknowledge(traceId, acknowledge)
    })
    socket.on('wave', (_, { guid }) => this.waved.add(guid))
    socket.on('doc:joined', ({ guid, position }) => this.documents.get(guid)?.joined(position))
    socket.on('doc:resync', ({ guid, position, reason }) => this.documents.get(guid)?.resync(position, reason))
    socket.on('connect', () => {
      for (const [, checker] of this.logs) checker.connected()
      for (const { checker } of this.presence.values()) checker.connected()
    })
    if (this.log !== undefined) this.#followLog(socket, this.log)
    this.#followPresence(socket)
  }

  /**
   * As in docs/protocol.md.
   * @param {import('socket.io-client').Socket} socket
   * @param {import('../oracle/document-checker.js').DocumentChecker} log
   */
  #followLog (socket, log) {
    socket.on('gateway:user', ({ position }) => {
      this.#user = position
      log.joined(position)
    })
    socket.on('gateway:position', ({ position }) => { this.#user = position })
    socket.on('gateway:resync', ({ position, reason }) => {
      this.#user = position
      log.resync(position, reason)
    })
    socket.on('note', ({ writer, number }, { user }) => {
      if (!user) return
      this.#user = { epoch: user.epoch, offset: user.offset }
      log.arrived(user.offset)
      log.shown(writer, number, user.offset)
    })
  }

  /** @param {import('socket.io-client').Socket} socket */
  #followPresence (socket) {
    socket.on('doc:joined', (joined) => {
      const part = this.presence.get(joined.guid)
      if (part === undefined) return
      if (joined.members !== undefined) part.checker.list(joined)
      if (part.state !== this.#offered.get(joined.guid)) this.sendState(joined.guid, part)
    })
    socket.on('doc:presence', (message) => {
      const checker = this.presence.get(message.guid)?.checker
      if (checker === undefined || checker.update(message)) return
      const { id } = socket
      this.#ask('doc:members', { guid: message.guid, limit: 500 }, (answer) => {
        if (answer?.ok && socket.id === id) checker.list(answer)
      })
    })
  }

  /**
   * @param {string} event
   * @param {object} argument
   * @param {(answer: any) => void} answered undefined: the connection has ended, or PATIENCE. Not by a promise: what
   *   came with the answer would be handled before it
   */
  #ask (event, argument, answered) {
    const socket = /** @type {import('socket.io-client').Socket} */ (this.#socket)
    socket.timeout(PATIENCE).emit(event, argument, (/** @type {Error | null} */ _, /** @type {any} */ answer) =>
      answered(answer))
  }

  /** The handshake brings it, too. @param {string} guid @param {import('./page.js').Part} part */
  sendState (guid, part) {
    const { state } = part
    if (state === undefined || this.#socket?.connected !== true) return
    const { id } = this.#socket
    const again = () => {
      this.process.clock.timer(500, () => {
        if (part.state === state && this.#socket?.id === id) this.sendState(guid, part)
      })
    }
    this.#ask('doc:state', { guid, state }, (answer) => {
      if (answer === undefined) return again()
      const { ok, error, members, ...page } = answer
      if (ok && members !== undefined && this.#socket?.id === id) part.checker.list({ members, ...page })
      if (ok) return
      if (error.retryable || error.code === 'not_joined') again()
      else this.violation(`${this.name}: a state in ${guid} is refused: ${error.code} ${error.message}`)
    })
  }
}
