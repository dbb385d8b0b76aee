/**
 * A process of the load generator. It takes commands from its parent (pool.js) and ends with it.
 */
import { performance } from 'node:perf_hooks'
import { createSigner } from 'fast-jwt'
import { serve } from '../../packages/load/child.js'
import { documentsOf, guidOf } from '../job.js'
import { BareClient } from './bare-client.js'
import { MqttClient, MqttClientOfQos0 } from './mqtt-client.js'
import { openClients } from './open.js'
import { PlainClient } from './plain-client.js'
import { PollingClient } from './polling-client.js'
import { Receiver } from './receiver.js'
import { WebSocketClient } from './websocket-client.js'

const KINDS = {
  websocket: WebSocketClient, polling: PollingClient, bare: BareClient, plain: PlainClient,
  mqtt: MqttClient, 'mqtt-qos0': MqttClientOfQos0
}
/** Number of source addresses, for more connections than one address has ports; Linux has all of 127.0.0.0/8. */
const SOURCES = 16
/** Documents that are joined in parallel. */
const JOINING = 64

/** Open clients, by number. @type {Map<number, InstanceType<typeof KINDS[keyof typeof KINDS]>>} */
const clients = new Map()
/** @type {Record<string, number>} open connections that were closed from outside, by reason */
const lost = {}
const receiver = new Receiver()
let effort = measureEffort()
const receiving = () => [...clients.values()].flatMap((client) => client instanceof PollingClient ? [] : [client])

/**
 * @typedef {object} OpenOptions
 * @property {keyof typeof KINDS} kind
 * @property {import('./websocket-client.js').Target} target
 * @property {string} secret of the tokens
 * @property {number} first number of the first client; determines user and document
 * @property {number} count
 * @property {number} concurrency
 * @property {number} documents over which the clients are distributed
 * @property {number} timeoutMs
 * @property {number} [expiresAt] of the tokens, s since 1970; default: in an hour
 *
 * @typedef {{ cpuMs: number, busy: number }} Effort busy: share of time in which the event loop was not idle, 0 to 1
 * @typedef {import('./open.js').Score & Effort} OpenResult
 * @typedef {import('./receiver.js').Received & Effort} ReceiveResult
 */

/** @returns {() => Effort} measures the effort since this call */
function measureEffort () {
  const cpu = process.cpuUsage()
  const loop = performance.eventLoopUtilization()
  return () => {
    const { user, system } = process.cpuUsage(cpu)
    return { cpuMs: (user + system) / 1000, busy: performance.eventLoopUtilization(loop).utilization }
  }
}

const commands = {
  /**
   * @param {OpenOptions} options
   * @param {(done: number) => void} onProgress
   * @returns {Promise<OpenResult>}
   */
  async open ({ kind, target, secret, first, count, concurrency, documents, timeoutMs, expiresAt }, onProgress) {
    // signed in advance, outside the measurement
    const sign = createSigner({ key: secret, algorithm: 'HS256' })
    const exp = expiresAt ?? Math.floor(Date.now() / 1000) + 3600
    const tokens = Array.from({ length: count }, (_, i) =>
      sign({ sub: `user-${first + i}`, name: `User ${first + i}`, exp })
    )
    const Client = KINDS[kind]
    const onLost = (/** @type {number} */ number, /** @type {string} */ reason) => {
      lost[reason] = (lost[reason] ?? 0) + 1
      clients.delete(number)
    }

    const effort = measureEffort()
    const { score, clients: opened } = await openClients({
      count, concurrency, timeoutMs, onProgress,
      create: (i, settle) => new Client(target, {
        token: tokens[i],
        guid: guidOf((first + i) % documents),
        source: `127.0.1.${1 + (first + i) % SOURCES}`
      }, { onLost: (reason) => onLost(first + i, reason), onEvent: receiver.onEvent }, settle)
    })
    for (const [i, client] of opened) {
      clients.set(first + i, client)
      if (!(client instanceof PollingClient)) client.seen = new Map([[(first + i) % documents, 0]])
    }
    return { ...score, ...effort() }
  },

  /**
   * Opens more documents.
   * @param {import('../job.js').Membership} membership
   * @param {(done: number) => void} onProgress
   * @returns {Promise<{ joined: number, failures: Record<string, number> }>}
   */
  async join (membership, onProgress) {
    const wanted = [...clients].flatMap(([number, client]) =>
      !(client instanceof WebSocketClient || client instanceof BareClient)
        ? []
        : documentsOf(membership, number)
            .filter((document) => !client.seen?.has(document))
            .map((document) => ({ client, document }))
    )
    /** @type {Record<string, number>} */
    const failures = {}
    let next = 0
    let joined = 0
    await Promise.all(Array.from({ length: JOINING }, async () => {
      while (next < wanted.length) {
        const { client, document } = wanted[next++]
        try {
          // before the response: records published in the meantime may arrive first
          client.seen?.set(document, 0)
          await client.join(guidOf(document))
          onProgress(++joined)
        } catch (error) {
          client.seen?.delete(document)
          const reason = error instanceof Error ? error.message : String(error)
          failures[reason] = (failures[reason] ?? 0) + 1
        }
      }
    }))
    return { joined, failures }
  },

  /**
   * Starts counting the deliveries of a job that is about to be produced.
   * @param {import('../job.js').Job} job
   * @returns {number} number of deliveries
   */
  expect (job) {
    effort = measureEffort()
    return receiver.expect(job, receiving())
  },

  /**
   * Waits for the deliveries.
   * @param {{ quietMs: number }} options quietMs: after this time without a delivery the missing ones count as lost
   * @param {(done: number) => void} onProgress
   * @returns {Promise<ReceiveResult>}
   */
  async receive ({ quietMs }, onProgress) {
    const received = await receiver.receive(quietMs, onProgress)
    return { ...received, ...effort() }
  },

  /** @returns {{ open: number, lost: Record<string, number> }} */
  status () {
    return { open: clients.size, lost }
  },

  close () {
    for (const client of clients.values()) client.close()
    clients.clear()
    for (const reason of Object.keys(lost)) delete lost[reason]
  }
}

/** @typedef {typeof commands} Commands */

serve(commands)
