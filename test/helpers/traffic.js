import { setTimeout as delay } from 'node:timers/promises'
import { createClient } from './clients.js'

/** Leaves CPU time for the servers under test, ms. */
const PAUSE = 20

/**
 * Connects clients one after the other with hardly a pause, until stopped: a restart of servers must not refuse a
 * single one.
 *
 * @param {{ after: (stop: () => unknown) => void }} t
 * @param {string} url
 * @param {{ lanes?: number, transports?: string[][] }} [options] lanes: concurrent connections
 */
export function connectAllTheTime (t, url, { lanes = 4, transports = [['websocket']] } = {}) {
  let running = true
  let connected = 0
  /** @type {string[]} */
  const refused = []
  /** @type {(string | undefined)[]} */
  const workers = []

  /** @param {number} lane */
  async function connect (lane) {
    while (running) {
      const client = createClient(t, url, { transports: transports[lane % transports.length], reconnection: true })
      await new Promise((resolve) => {
        client.on('connect_error', (/** @type {any} */ error) => {
          refused.push(
            [error.message, error.description?.message ?? error.description, error.context?.responseText].join(' ')
          )
          resolve(undefined)
        })
        client.once('connect', () => {
          connected++
          workers.push(client.id?.slice(0, 2))
          resolve(undefined)
        })
      })
      client.disconnect()
      await delay(PAUSE)
    }
  }
  // end the loop when the test fails
  t.after(() => { running = false })
  const done = Promise.all(Array.from({ length: lanes }, (_, lane) => connect(lane)))
  return {
    /**
     * @returns {Promise<{ connected: number, refused: string[], workers: Set<string | undefined> }>} workers: numbers
     *   of the workers reached
     */
    async stop () {
      running = false
      await done
      return { connected, refused, workers: new Set(workers) }
    },
    get connected () { return connected }
  }
}

/**
 * Watches clients that should lose their connection and reconnect.
 * @param {ReturnType<typeof createClient>[]} clients
 */
export function watchReturn (clients) {
  /** @type {Map<typeof clients[number], string[]>} */
  const events = new Map(clients.map((client) => [client, []]))
  /** @type {string[]} */
  const untold = []
  for (const [client, seen] of events) {
    // a client that was not admitted yet gets no gateway:draining, only a closed connection
    let { connected, id } = client
    let told = false
    client.on('gateway:draining', () => { told = true })
    client.on('connect', () => {
      seen.push('connect')
      connected = true
      id = client.id
      told = false
    })
    client.on('disconnect', (reason, details) => {
      seen.push(reason)
      if (connected && !told) untold.push(`${id} ${client.io.opts.transports}: ${reason} ${JSON.stringify(details)}`)
      connected = false
    })
    client.on('connect_error', (error) => seen.push(error.message))
  }
  return {
    /** @returns {boolean} whether each client has reconnected */
    allBack: () => clients.every((client) => client.connected && events.get(client)?.includes('connect')),
    /** Sessions that ended before their client got gateway:draining. */
    untold,
    /** @returns {string[]} state of the other clients */
    missing: () =>
      [...events].filter(([client, seen]) => !client.connected || !seen.includes('connect'))
        .map(
          ([
            { id, connected, io: { engine } },
            seen
          ]) => `${id} connected=${connected} ${engine?.transport?.name} ${engine?.readyState}: ${seen.join(', ')}`
        )
  }
}
