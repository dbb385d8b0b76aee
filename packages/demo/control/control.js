import { InkcastError } from '../../../src/base/common/errors.js'
import { isId } from '../../../src/wire/publication.js'
import { createCrowd } from '../crowd/crowd.js'
import { failed } from './answers.js'
import { createFaults, KINDS } from './faults.js'
import { createPulse, PULSE } from './pulse.js'

/**
 * The control of the demo on one machine: faults, the crowd, and the numbered records that are published meanwhile. It
 * runs in the launcher, or in the one process of embedded mode, and in development only.
 *
 * | request | answer |
 * |---|---|
 * | `GET /state` | 200 |
 * | `POST /fault` `{ kind, document, worker? }` | 202; 409 while another one is in progress, 429 right after it |
 * | `POST /crowd` `{ document, guests? }` | 202; 409 while there is one |
 * | `DELETE /crowd` | 200 |
 */

/**
 * @param {object} dependencies
 * @param {() => string} dependencies.apiUrl
 * @param {string} [dependencies.token] of the api
 * @param {import('../page-tokens.js').Auth} dependencies.auth
 * @param {number} dependencies.history records that a document's log keeps
 * @param {() => import('../../load/websocket.js').Target} dependencies.target the gateway on this machine
 * @param {import('./faults.js').Machine} [dependencies.machine] absent: there is nothing to break
 * @param {string} [dependencies.reason] why there is nothing to break: `embedded`
 * @param {string} [dependencies.store] the name of what is frozen: `Redis` or `the store`
 * @param {import('../../../src/base/common/log.js').Log} dependencies.log
 * @param {import('../../../src/base/common/clock.js').Clock} dependencies.clock
 * @param {import('../../../src/base/common/random.js').Random} dependencies.random
 */
export function createControl ({ apiUrl, token, auth, history, target, machine, reason, store, log, clock, random }) {
  const pulse = createPulse({ apiUrl, token, history, clock, random })
  const faults = machine && createFaults({ machine, pulse, log, clock })
  const crowd = createCrowd({ target, event: PULSE, auth, onEnd: () => pulse.release('crowd') })

  const state = () => ({
    ok: true,
    kinds: faults === undefined ? [] : KINDS,
    ...(reason && { reason }),
    ...(store && { store }),
    fault: faults?.state ?? null,
    pulse: pulse.state,
    crowd: crowd.state,
    workers: machine?.workers() ?? []
  })

  /** @param {import('./answers.js').Question} question @returns {number} status */
  function act ({ method, path, body = {} }) {
    const request = /** @type {Record<string, any>} */ (body)
    if (path === '/state' && method === 'GET') return 200
    if (path === '/crowd' && method === 'DELETE') {
      crowd.stop()
      return 200
    }
    if ((path !== '/fault' && path !== '/crowd') || method !== 'POST') throw new InkcastError('not_found')
    if (!isId(request.document)) throw new InkcastError('bad_request', 'document must be the id of a document')
    if (path === '/crowd') {
      crowd.begin({ document: request.document, guests: request.guests }, () => pulse.hold('crowd', request.document))
      return 202
    }
    if (faults === undefined) throw new InkcastError('not_found', 'there is nothing to break: start cluster mode')
    faults.begin(request)
    return 202
  }

  return {
    /** @type {import('./answers.js').Ask} */
    async ask (question) {
      try {
        return { status: act(question), body: state() }
      } catch (error) {
        return failed(error)
      }
    },

    stop () {
      faults?.stop()
      crowd.stop()
      pulse.stop()
    }
  }
}
