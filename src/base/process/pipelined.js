/**
 * Requests that a client sends on a connection before it has the answers to those before. Browsers, load balancers and
 * the workers of inkcast send one after the other. Node parses all requests of a packet at once, some 1,500 small ones,
 * before anything else can run.
 *
 * @typedef {import('node:net').Socket & { [kRequests]?: Requests }} Socket
 * @typedef {import('node:http').ServerResponse & { [kRequests]?: Requests }} Response
 *
 * @typedef {object} Requests of a connection
 * @property {number} unanswered without a whole answer
 * @property {number} turn in which the last one came
 * @property {number} inTurn number of those that came in that turn
 */

/**
 * Requests of a connection without a whole answer, and those that come in one turn of the event loop. A connection with
 * more is closed.
 */
const MAX_PIPELINED = 8
/** On a socket and its responses: a request loses its socket before the response is closed. */
const kRequests = Symbol('requests')

/** The wall against them, of one listener. */
export class PipelineLimit {
  #clock
  /** Changes with each turn of the event loop that has a request. */
  #turn = 0
  #turnIsOpen = false

  /** @param {Pick<import('../common/clock.js').Clock, 'soon'>} clock */
  constructor (clock) { this.#clock = clock }

  /**
   * @param {import('node:http').IncomingMessage} req
   * @param {import('node:http').ServerResponse} res
   * @returns {boolean} false: its connection is closed, and nothing is to be done for it
   */
  admits (req, res) {
    const socket = /** @type {Socket} */ (req.socket)
    // parsed behind the one too many
    if (socket.destroyed) return false
    const requests = socket[kRequests] ??= { unanswered: 0, turn: -1, inTurn: 0 }
    const turn = this.#thisTurn()
    if (requests.turn !== turn) {
      requests.turn = turn
      requests.inTurn = 0
    }
    if (requests.unanswered === MAX_PIPELINED || requests.inTurn === MAX_PIPELINED) {
      closePipelined(socket)
      return false
    }
    requests.unanswered++
    requests.inTurn++
    /** @type {Response} */ (res)[kRequests] = requests
    res.on('close', countAnswer)
    return true
  }

  #thisTurn () {
    if (!this.#turnIsOpen) {
      this.#turnIsOpen = true
      this.#clock.soon(this.#endTurn)
    }
    return this.#turn
  }

  #endTurn = () => {
    this.#turnIsOpen = false
    this.#turn++
  }
}

/** @this {Response} */
function countAnswer () {
  /** @type {Requests} */ (this[kRequests]).unanswered--
}

/**
 * Closes a connection with many requests. Node makes an error for each of them, and their stacks would take most of the
 * time.
 * @param {import('node:net').Socket} socket
 */
export function closePipelined (socket) {
  let limit = Error.stackTraceLimit
  // before and after Node's own listener
  socket.prependOnceListener('close', () => {
    limit = Error.stackTraceLimit
    Error.stackTraceLimit = 0
  })
  socket.once('close', () => { Error.stackTraceLimit = limit })
  socket.destroy()
}
