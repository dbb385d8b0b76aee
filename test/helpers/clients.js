import assert from 'node:assert/strict'
import { io } from 'socket.io-client'
import msgpackParser from 'socket.io-msgpack-parser'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'

/** Additional clients after which a worker without any is no coincidence. */
const MAX_MORE = 500

/**
 * A stock socket.io-client, closed after the test.
 *
 * @param {{ after: (stop: () => unknown) => void }} t a test's context, or node:test itself for a whole file
 * @param {string} url
 * @param {object} [options]
 * @param {'json' | 'msgpack'} [options.codec]
 * @param {string[]} [options.transports]
 * @param {object | Function} [options.auth]
 * @param {boolean} [options.reconnection]
 * @param {Record<string, string>} [options.extraHeaders]
 * @param {string} [options.path] default: `/socket.io/`
 * @param {boolean} [options.addTrailingSlash]
 * @param {string | Buffer} [options.ca] self-signed certificate of the server
 */
export function createClient (
  t,
  url,
  { codec = 'json', transports = ['websocket'], auth = {}, reconnection = false, extraHeaders, path, addTrailingSlash, ca } = {}
) {
  const socket = io(url, {
    transports,
    auth: /** @type {any} */ (auth),
    reconnection,
    forceNew: true,
    extraHeaders,
    ...(path === undefined ? {} : { path, addTrailingSlash }),
    ...(ca === undefined ? {} : { ca: String(ca) }),
    ...(codec === 'msgpack' ? { parser: msgpackParser } : {})
  })
  t.after(() => { socket.disconnect() })
  let ended = ''
  socket.on('disconnect', (reason, details) => {
    const { message, description } = /** @type {any} */ (details ?? {})
    ended = `, ended by ${reason}: ${message} ${description?.message ?? description}`
  })
  /** @type {{ event: string, payload: any, meta: any }[]} every event with a meta, in order of arrival */
  const received = []
  socket.onAny((event, payload, meta) => { received.push({ event, payload, meta }) })
  return Object.assign(socket, {
    received,
    /** Why its last connection ended. */
    get ended () { return ended },
    /**
     * @param {string} event
     * @param {...unknown} args
     * @returns {Promise<any>} the acknowledgement
     */
    ask: (event, ...args) => socket.timeout(60_000).emitWithAck(event, ...args).catch((error) => {
      throw new Error(`${event} to ${url}, ${transports}, ${codec}, ${socket.id ?? 'not connected'}${ended}: ${error.message}`)
    }),
    /** @param {string} event @returns {Promise<any[]>} its arguments */
    next: (event) =>
      /** @type {Promise<any[]>} */ (once(/** @type {any} */ (socket), event, { signal: AbortSignal.timeout(30_000) }))
  })
}

/**
 * @param {{ after: (stop: () => unknown) => void }} t a test's context, or node:test itself for a whole file
 * @param {string} url
 * @param {Parameters<typeof createClient>[2]} [options]
 */
export async function connectClient (t, url, options) {
  const client = createClient(t, url, options)
  let isOver = false
  t.after(() => { isOver = true })
  for (;;) {
    const error = await /** @type {Promise<any>} */ (new Promise((resolve) => {
      client.once('connect', () => resolve(undefined))
      client.once('connect_error', resolve)
    }))
    if (error === undefined) return client
    if (isOver || error.data?.code !== 'unavailable') throw error
    // as clients do: Redis may pause for longer than its answer is awaited
    await delay(100)
    if (!isOver) client.connect()
  }
}

/**
 * Fails with the reasons if connections have ended: for clients that several tests share.
 * @param {readonly ReturnType<typeof createClient>[]} clients
 */
export function allConnected (clients) {
  const gone = clients.filter(({ connected }) => !connected)
  assert.deepEqual(gone.map(({ ended, io }) => `${io.opts.transports}${ended}`), [])
}

/**
 * Connects clients until at least `workers` workers have one: on an idle machine, the worker that wakes up first may
 * accept a whole burst (docs/internals/decisions/0004-accept-and-hang.md).
 *
 * @param {{ after: (stop: () => unknown) => void }} t
 * @param {string} url
 * @param {number} workers
 * @param {number} count minimum number of clients
 * @param {(i: number) => Parameters<typeof createClient>[2]} [options] of the client with index i
 */
export async function connectToWorkers (t, url, workers, count, options = () => ({})) {
  /** @type {Awaited<ReturnType<typeof connectClient>>[]} */
  const clients = []
  const reached = () => new Set(clients.map(({ id }) => String(id).slice(0, 2))).size
  while (clients.length < count || reached() < workers) {
    if (clients.length >= count + MAX_MORE)
      throw new Error(`${clients.length} clients reached only ${reached()} of ${workers} workers`)
    const next = Array.from({ length: clients.length === 0 ? count : 10 }, (_, i) =>
      connectClient(t, url, options(clients.length + i))
    )
    clients.push(...await Promise.all(next))
  }
  return clients
}

/**
 * A stock client that starts with polling and upgrades to WebSocket.
 * @param {{ after: (stop: () => unknown) => void }} t
 * @param {string} url
 * @param {Parameters<typeof createClient>[2]} [more] options
 */
export async function upgraded (t, url, more) {
  const client = createClient(t, url, { transports: ['polling', 'websocket'], ...more })
  await new Promise((resolve, reject) => {
    client.once('connect', () => resolve(undefined))
    client.once('connect_error', reject)
  })
  const { engine } = client.io
  if (engine.transport.name !== 'websocket') {
    await new Promise((resolve, reject) => {
      engine.once('upgrade', resolve)
      engine.once('upgradeError', reject)
      engine.once('close', reject)
    })
  }
  return client
}
