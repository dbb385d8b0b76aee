import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { createTokenSigner } from '../page-tokens.js'

/**
 * The crowd: many guests in one document, from a process of its own, for a limited time.
 *
 * @typedef {import('./process.js').Report & { guests: number, document: string, running: boolean }} CrowdState
 */

const MAX_GUESTS = 1000
const MAX_SECONDS = 120
const FILE = fileURLToPath(new URL('process.js', import.meta.url))
const NOTHING = { connected: 0, deliveries: 0, lost: 0, reconnects: 0, perSecond: 0, left: 0 }

/**
 * @param {Pick<import('../index.js').Inkcast, 'InkcastError' | 'isLoopbackHost' | 'signClaims'>} inkcast
 * @param {object} dependencies
 * @param {() => import('inkcast-load/websocket.js').Target} dependencies.target the gateway on this machine
 * @param {string} dependencies.event of the numbered records
 * @param {import('../page-tokens.js').Auth} [dependencies.auth] absent: clients need no token
 * @param {(state: CrowdState) => void} [dependencies.onReport]
 * @param {() => void} [dependencies.onEnd] all guests have left
 */
export function createCrowd (inkcast, { target, event, auth, onReport = () => {}, onEnd = () => {} }) {
  /** @type {import('node:child_process').ChildProcess | undefined} */
  let child
  /** @type {CrowdState | null} */
  let state = null
  const { InkcastError, isLoopbackHost } = inkcast
  const sign = auth && createTokenSigner(inkcast, auth)

  /** @param {string} document @param {number} guests @returns {(string | null)[] | undefined} one for each guest */
  function tokensFor (document, guests) {
    if (auth?.allowAnonymous !== false) return undefined
    const tokens = sign && Array.from({ length: guests }, (_, i) => sign(`crowd-${i}`, document))
    if (tokens === undefined || tokens[0] === null)
      throw new InkcastError('forbidden', 'clients need a token, and the demo can sign none for a crowd in this document')
    return tokens
  }

  return {
    /** @returns {CrowdState | null} the current crowd, or the last one */
    get state () { return state },

    /**
     * @param {{ document: string, guests?: unknown, seconds?: number }} request
     * @param {() => void} [prepare] called when the request is valid; may throw as well
     * @throws {InkcastError} bad_request, request_in_progress, forbidden
     */
    begin ({ document, guests = MAX_GUESTS, seconds = MAX_SECONDS }, prepare) {
      if (typeof guests !== 'number' || !Number.isInteger(guests) || guests < 1 || guests > MAX_GUESTS)
        throw new InkcastError('bad_request', `guests must be a number from 1 to ${MAX_GUESTS}`)
      if (child !== undefined)
        throw new InkcastError('request_in_progress', `a crowd is in ${state?.document} already: remove it first`)
      const where = target()
      if (where.host !== '::1' && !isLoopbackHost(where.host)) throw new InkcastError('forbidden', `${where.host} is not this machine`)
      const tokens = tokensFor(document, guests)
      prepare?.()
      const own = child = fork(FILE, { execArgv: [], env: {} })
      state = { ...NOTHING, guests, document, left: seconds, running: true }
      own.on('message', (report) => {
        if (own !== child) return
        state = { ...state, .../** @type {any} */ (report) }
        onReport(/** @type {CrowdState} */ (state))
      })
      const ended = () => {
        if (own !== child) return
        child = undefined
        state = { .../** @type {CrowdState} */ (state), connected: 0, perSecond: 0, left: 0, running: false }
        onEnd()
      }
      own.once('exit', ended)
      own.once('error', ended)
      own.send({ target: where, document, event, guests, seconds, tokens })
    },

    /** Removes all guests. */
    stop () { if (child?.connected) child.disconnect() }
  }
}
