import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { InkcastError } from '../../../base/common/errors.js'

const require = createRequire(import.meta.url)
const { loadSync } = require('@grpc/proto-loader')

/**
 * Health checking: balancers and clients ask whether this process takes calls. It needs no credential, because probes
 * have none.
 *
 * @typedef {import('./call.js').Endpoint} Endpoint
 * @typedef {'SERVING' | 'NOT_SERVING'} Status
 */

export const HEALTH_PROTO = fileURLToPath(new URL('health.proto', import.meta.url))
const SERVICE = 'grpc.health.v1.Health'
/** A request has the name of a service. */
const MAX_BYTES = 1024

export class Health {
  /** @type {Status} */
  #status = 'SERVING'
  #services
  /** @type {Set<(status: Status) => void>} */
  #watchers = new Set()
  /** Of all that watch, also names that it does not know. @type {Set<() => void>} */
  #ends = new Set()

  /** @param {string[]} services that it knows */
  constructor (services) {
    this.#services = new Set(['', ...services])
  }

  /** Tells clients to find another process. */
  leave () {
    this.#status = 'NOT_SERVING'
    for (const tell of this.#watchers) tell(this.#status)
  }

  /** Ends the calls that watch. */
  stop () {
    for (const end of this.#ends) end()
  }

  /** @returns {[path: string, endpoint: Endpoint][]} */
  endpoints () {
    const { Check, List, Watch } = /** @type {any} */ (loadSync(HEALTH_PROTO, { enums: String }))[SERVICE]
    const open = { open: true, maxBytes: MAX_BYTES }
    return [
      [Check.path, {
        ...open,
        operation: 'healthCheck',
        method: Check,
        answer: ({ service = '' }) => {
          if (!this.#services.has(service)) throw new InkcastError('not_found', 'there is no such service')
          return { status: this.#status }
        }
      }],
      [List.path, {
        ...open,
        operation: 'healthList',
        method: List,
        answer: () => ({
          statuses: Array.from(this.#services, (key) => ({ key, value: { status: this.#status } }))
        })
      }],
      [Watch.path, { ...open, operation: 'healthWatch', method: Watch, serve: (call, message) => this.#watch(call, message) }]
    ]
  }

  /** @param {import('./call.js').Call} call @param {{ service?: string }} request @returns {Promise<void>} */
  #watch (call, { service = '' }) {
    return new Promise((resolve) => {
      const known = this.#services.has(service)
      const tell = (/** @type {Status | 'SERVICE_UNKNOWN'} */ status) => call.write({ status })
      const end = () => {
        this.#watchers.delete(tell)
        this.#ends.delete(end)
        resolve()
      }
      if (known) this.#watchers.add(tell)
      this.#ends.add(end)
      call.on('close', end)
      tell(known ? this.#status : 'SERVICE_UNKNOWN')
    })
  }
}
