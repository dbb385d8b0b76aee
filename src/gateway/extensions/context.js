import { InkcastError } from '../../base/common/errors.js'
import { newTraceId } from '../../wire/headers.js'
import { outside } from './guard.js'

/**
 * What an extension gets besides Socket.IO's server.
 *
 * @typedef {import('./extension.js').ExtensionContext} ExtensionContext
 * @typedef {import('./extension.js').PublishRequest} PublishRequest
 *
 * @typedef {object} Services of the gateway
 * @property {import('../../log/publish/publisher.js').Publisher} publisher
 * @property {Pick<import('../../log/bus/contract.js').Bus, 'positions'>} bus
 * @property {Pick<import('../../people/presence/contract.js').PresenceStore, 'page'>} presenceStore
 * @property {Pick<import('../../people/sessions/contract.js').SessionStore, 'sessions'>} sessionStore
 * @property {import('../../observe/metrics/metrics.js').Metrics} metrics
 * @property {import('../../base/common/log.js').Log} log
 * @property {Pick<import('../../base/common/clock.js').Clock, 'now' | 'monotonic' | 'timer'>} clock
 * @property {import('../../wire/headers.js').TraceIdSource} random
 */

const DEFAULT_LIMIT = 100
const MAX_LIMIT = 1000

/** Fields of a PublishRequest that a publication has under the same name. */
const FIELDS = /** @type {const} */ ([
  'guid', 'uid', 'sid', 'event', 'except', 'ephemeral', 'keep', 'receipt', 'traceId', 'idempotencyKey', 'key'
])
const KNOWN = new Set([...FIELDS, 'operator', 'data'])

/**
 * @param {PublishRequest} request
 * @param {string} source
 * @param {number} timestamp
 * @param {import('../../wire/headers.js').TraceIdSource} random
 * @returns {import('../../wire/publication.js').Publication} not checked
 * @throws {InkcastError} bad_request
 */
function publicationOf (request, source, timestamp, random) {
  const unknown = Object.keys(request).find((field) => !KNOWN.has(field))
  if (unknown !== undefined) throw new InkcastError('bad_request', `publish has no field ${unknown}`)
  /** @type {import('../../wire/publication.js').Publication} */
  const publication = {
    operator: request.operator ?? 'broadcast',
    event: 'message', except: [], ephemeral: false, receipt: false, traceId: newTraceId(random),
    timestamp, source,
    contentType: 'application/json',
    value: Buffer.from(JSON.stringify(request.data ?? null))
  }
  for (const field of FIELDS) if (request[field] !== undefined) Object.assign(publication, { [field]: request[field] })
  return publication
}

/**
 * Runs code of the gateway. The promise belongs to the extension that asks: a rejection that it does not handle
 * counts as its error.
 * @template T
 * @param {() => Promise<T>} code
 * @returns {Promise<T>}
 */
async function ask (code) { return await outside(code) }

/**
 * @param {import('./guard.js').Guard} guard of the extension
 * @param {import('socket.io').Server} io
 * @param {Services} services
 * @param {Readonly<Record<string, string>>} config
 * @returns {ExtensionContext}
 */
export function createContext ({ name }, io, services, config) {
  const { publisher, bus, presenceStore, sessionStore, metrics, log, clock, random } = services
  /** @type {import('./extension.js').Documents} */
  const documents = {
    position: (guid) => ask(async () => (await bus.positions([guid]))[0] ?? null),
    members: (guid, { cursor, limit = DEFAULT_LIMIT } = {}) => ask(async () => {
      const page = await presenceStore.page(guid, { after: cursor, limit: Math.min(limit, MAX_LIMIT) })
      return page.cursor === undefined ? { members: page.members } : { members: page.members, cursor: page.cursor }
    }),
    presence: (guid) => ask(async () => {
      const { count, version } = await presenceStore.page(guid, { limit: 1 })
      return { count, version }
    })
  }
  return {
    name,
    io,
    config,
    log: log.child({ extension: name }),
    metrics: metrics.registry,
    publish: (request) => ask(async () => {
      const publication = publicationOf(request, name, clock.now(), random)
      const { position, duplicate = false } = await publisher.publish(publication, { source: name })
      return { position: position ?? null, duplicate }
    }),
    documents,
    sessions: { of: (uid) => ask(() => sessionStore.sessions(uid)) }
  }
}

/**
 * @param {string} name of an extension
 * @param {Readonly<Record<string, string>>} settings of all extensions
 * @returns {Readonly<Record<string, string>>} EXTENSION_<NAME>_… without that prefix
 */
export function configOf (name, settings) {
  const prefix = `EXTENSION_${name.toUpperCase().replaceAll('-', '_')}_`
  /** @type {Record<string, string>} */
  const config = {}
  for (const [variable, value] of Object.entries(settings)) {
    if (variable.startsWith(prefix)) config[variable.slice(prefix.length)] = value
  }
  return Object.freeze(config)
}
