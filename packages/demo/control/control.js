import { createCrowd } from '../crowd/crowd.js'
import { failed } from './answers.js'
import { Faults, KINDS } from './faults.js'
import { Pulse, PULSE } from './pulse.js'
import { gatewayTarget, tokenOf } from './target.js'

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
export class Control {
  #inkcast
  #pulse
  #machine
  #faults
  #crowd
  /** Reason and store, as the state names them. */
  #told

  /**
   * @param {import('../index.js').Inkcast} inkcast
   * @param {import('../index.js').Services} services
   * @param {object} parts
   * @param {import('../index.js').Config} parts.config
   * @param {{ gateway: () => number, api: () => number }} parts.ports as they are bound
   * @param {import('./faults.js').Machine} [parts.machine] absent: there is nothing to break
   * @param {string} [parts.reason] why there is nothing to break: `embedded`
   * @param {string} [parts.store] the name of what is frozen: `Redis` or `the store`
   */
  constructor (inkcast, services, { config, ports, machine, reason, store }) {
    const { log, clock } = services
    const { api, auth, gateway, history } = config
    this.#inkcast = inkcast
    this.#machine = machine
    this.#told = { ...(reason && { reason }), ...(store && { store }) }
    const apiUrl = () => inkcast.apiUrl({ ...api, port: ports.api() })
    const pulse = this.#pulse =
      new Pulse(inkcast, services, { apiUrl, token: tokenOf(api), history: history.size })
    this.#faults = machine && new Faults(inkcast, { machine, pulse, log, clock })
    this.#crowd = createCrowd(inkcast, {
      target: () => gatewayTarget(gateway, ports.gateway()), event: PULSE, auth, onEnd: () => pulse.release('crowd')
    })
  }

  /** @type {import('./answers.js').Ask} */
  ask = async (question) => {
    try {
      return { status: this.#act(question), body: this.#state() }
    } catch (error) {
      return failed(this.#inkcast, error)
    }
  }

  stop () {
    this.#faults?.stop()
    this.#crowd.stop()
    this.#pulse.stop()
  }

  #state () {
    return {
      ok: true,
      kinds: this.#faults === undefined ? [] : KINDS,
      ...this.#told,
      fault: this.#faults?.state ?? null,
      pulse: this.#pulse.state,
      crowd: this.#crowd.state,
      workers: this.#machine?.workers() ?? []
    }
  }

  /** @param {import('./answers.js').Question} question @returns {number} status */
  #act ({ method, path, body = {} }) {
    const { InkcastError, isId } = this.#inkcast
    const request = /** @type {Record<string, any>} */ (body)
    if (path === '/state' && method === 'GET') return 200
    if (path === '/crowd' && method === 'DELETE') {
      this.#crowd.stop()
      return 200
    }
    if ((path !== '/fault' && path !== '/crowd') || method !== 'POST') throw new InkcastError('not_found')
    if (!isId(request.document)) throw new InkcastError('bad_request', 'document must be the id of a document')
    if (path === '/crowd') {
      const { document, guests } = request
      this.#crowd.begin({ document, guests }, () => this.#pulse.hold('crowd', document))
      return 202
    }
    if (this.#faults === undefined)
      throw new InkcastError('not_found', 'there is nothing to break: start cluster mode')
    this.#faults.begin(request)
    return 202
  }
}
