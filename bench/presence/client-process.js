/**
 * A process with many members. It takes commands from its parent (round.js) and ends with it.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { createSigner } from 'fast-jwt'
import { serve } from '../../packages/load/child.js'
import { openClients } from '../client/open.js'
import { quantiles } from '../measure/quantiles.js'
import { RoomClient } from './client.js'

/** Number of source addresses, for more connections than one address has ports. */
const SOURCES = 16
/** Step of actions that are spread over time, ms. */
const STEP = 10

/** @type {RoomClient[]} */
let clients = []

/** @param {number} n */
const stateOf = (n) => ({ color: '#1e90ff', cursor: { row: n % 1000, column: n % 80 } })

/**
 * @param {number} count
 * @param {number} ms
 * @param {(i: number) => void} each
 */
async function spread (count, ms, each) {
  const begin = performance.now()
  for (let i = 0; i < count;) {
    const due = Math.ceil(count * Math.min(1, (performance.now() - begin) / ms))
    for (; i < due; i++) each(i)
    await delay(STEP)
  }
}

const commands = {
  /** @param {{ target: import('../client/websocket-client.js').Target, secret: string, count: number }} options */
  async open ({ target, secret, count }) {
    const sign = createSigner({ key: secret, algorithm: 'HS256', expiresIn: 3_600_000 })
    const { score, clients: opened } = await openClients({
      count,
      concurrency: 64,
      timeoutMs: 60_000,
      onProgress: () => {},
      create: (i, settle) =>
        new RoomClient(
          target,
          { token: sign({ sub: `user-${i}`, name: `User ${i}` }), source: `127.0.3.${1 + (i % SOURCES)}` },
          settle
        )
    })
    clients = [...opened.values()]
    return { ok: score.ok, failures: score.failures }
  },

  /** @param {{ guid: string, ms: number }} options ms: duration over which the joins are spread */
  async join ({ guid, ms }) {
    /** @type {number[]} */
    const latencies = []
    /** @type {Record<string, number>} */
    const failures = {}
    /** @type {Promise<void>[]} */
    const joins = []
    await spread(clients.length, ms, (i) => {
      const begin = performance.now()
      joins.push(clients[i].join(guid, stateOf(i)).then(
        () => { latencies.push(performance.now() - begin) },
        (error) => { failures[error.message] = (failures[error.message] ?? 0) + 1 }
      ))
    })
    await Promise.all(joins)
    return { latency: quantiles(latencies), failures }
  },

  /**
   * @param {{ guid: string, ms: number, count: number }} options count: changes of states, distributed over the members
   */
  async change ({ guid, ms, count }) {
    await spread(count, ms, (i) => { clients[i % clients.length].setState(guid, stateOf(i + 7)) })
    return null
  },

  /** @returns what the members received since the last call */
  look () {
    const seen = {
      bytes: quantiles(clients.map(({ bytes }) => bytes), 0),
      messages: quantiles(clients.map(({ messages }) => messages), 0),
      total: clients.reduce((sum, { messages }) => sum + messages, 0),
      counts: [Math.min(...clients.map(({ count }) => count)), Math.max(...clients.map(({ count }) => count))]
    }
    for (const client of clients) client.bytes = client.messages = 0
    return seen
  },

  /** @returns the lowest and the highest of the members' latest counts */
  counts () { return [Math.min(...clients.map(({ count }) => count)), Math.max(...clients.map(({ count }) => count))] },

  close () {
    for (const client of clients.splice(0)) client.close()
    return null
  }
}

/** @typedef {typeof commands} Commands */

serve(commands)
