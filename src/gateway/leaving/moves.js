import { InkcastError } from '../../base/common/errors.js'

/**
 * Moves connections at will: a random part of this worker's clients is asked to reconnect, at a rate that the others
 * can take. Where they go is the balancer's choice (or the kernel's, on one machine).
 */

/** Interval at which connections are closed, ms. */
const TICK = 50

/**
 * @typedef {object} Move
 * @property {number} share of the connections, above 0 and up to 1
 * @property {number} rate connections per second
 */
export class Moves {
  #directory
  #metrics
  #clock
  #random
  /** Those that have not moved yet. @type {import('../connection.js').Connection[]} */
  #waiting = []
  /** Null: none is in progress. @type {Move | null} */
  #move = null
  /** @type {import('../../base/common/clock.js').Timer | undefined} */
  #timer

  /**
   * @param {object} dependencies
   * @param {import('../directory.js').Directory} dependencies.directory
   * @param {Pick<import('../../observe/metrics/metrics.js').Metrics, 'connections_moved'>} dependencies.metrics
   * @param {Pick<import('../../base/common/clock.js').Clock, 'monotonic' | 'every'>} dependencies.clock
   * @param {Pick<import('../../base/common/random.js').Random, 'number'>} dependencies.random
   */
  constructor ({ directory, metrics, clock, random }) {
    this.#directory = directory
    this.#metrics = metrics
    this.#clock = clock
    this.#random = random
  }

  /** @returns {number} connections that are going to be moved */
  get left () { return this.#waiting.length }

  /**
   * Begins a move, in place of one that is in progress.
   * @param {Move} move
   * @returns {number} connections that it moves
   */
  begin (move) {
    this.stop()
    this.#move = move
    const connections = [...this.#directory.all()]
    const count = Math.ceil(move.share * connections.length)
    for (let at = 0; at < count; at++) {
      const other = at + Math.floor(this.#random.number() * (connections.length - at))
      ;[connections[at], connections[other]] = [connections[other], connections[at]]
    }
    this.#waiting = connections.slice(0, count)
    let last = this.#clock.monotonic()
    let due = 0
    this.#timer = this.#clock.every(TICK, () => {
      const now = this.#clock.monotonic()
      due += (now - last) / 1000 * (this.#move?.rate ?? 0)
      last = now
      for (; due >= 1 && this.#waiting.length > 0; due--) this.#moveNext()
      if (this.#waiting.length === 0) this.stop()
    })
    return count
  }

  #moveNext () {
    const connection = /** @type {import('../connection.js').Connection} */ (this.#waiting.pop())
    // it may have gone by itself
    if (this.#directory.connection(connection.id) !== connection) return
    connection.tellDraining()
    connection.goAway()
    this.#metrics.connections_moved.inc()
  }

  /**
   * Moves all connections; called again, it changes the rate.
   * @param {number} rate connections per second
   */
  all (rate) {
    if (this.#move?.share === 1) this.#move = { share: 1, rate }
    else if (this.#directory.size > 0) this.begin({ share: 1, rate })
  }

  stop () {
    this.#timer?.stop()
    this.#timer = undefined
    this.#waiting = []
    this.#move = null
  }
}

/**
 * `POST /move` of the private listener begins a move, `DELETE /move` ends it, `GET /move` says how many are left.
 * @param {Moves} moves
 * @returns {(req: import('node:http').IncomingMessage, res: import('node:http').ServerResponse) => void}
 */
export const createMoveRoute = (moves) => (req, res) => {
  answer(req, moves).then(
    (value) => res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value)),
    () => res.writeHead(400).end()
  )
}

/** @param {import('node:http').IncomingMessage} req @param {Moves} moves */
async function answer (req, moves) {
  if (req.method === 'DELETE') moves.stop()
  if (req.method !== 'POST') return { left: moves.left }
  let text = ''
  for await (const chunk of req.setEncoding('utf8')) text += chunk
  return { connections: moves.begin(readMove(JSON.parse(text))) }
}

/**
 * @param {Record<string, unknown>} body
 * @returns {Move}
 * @throws {InkcastError} bad_request
 */
export function readMove ({ share, rate }) {
  if (typeof share !== 'number' || !(share > 0 && share <= 1))
    throw new InkcastError('bad_request', 'share must be a number above 0 and up to 1')
  if (typeof rate !== 'number' || !(rate > 0 && rate <= 1_000_000))
    throw new InkcastError('bad_request', 'rate must be connections per second, above 0')
  return { share, rate }
}
