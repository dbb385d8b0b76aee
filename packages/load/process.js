/**
 * A process with a part of the clients. The controller (clients.js) calls its commands.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { serve } from './child.js'
import { guidOf, LoadClient } from './client.js'
import { Histogram } from './histogram.js'
import { documentsOf, isInShare, sourceOf } from './plan.js'

/**
 * @typedef {object} OpenOptions
 * @property {string} run
 * @property {import('./plan.js').Plan} plan
 * @property {import('./websocket.js').Target} target
 * @property {boolean} loopback
 * @property {string[]} sources
 * @property {number} first index of the first client
 * @property {(string | undefined)[]} tokens one for each client
 * @property {number} ramp connections per second of this process
 *
 * @typedef {object} Snapshot
 * @property {number} seconds since the last snapshot, by this process's clock: it may answer late
 * @property {number} open
 * @property {number} opened since the last snapshot, as the next ones
 * @property {number} reconnects after a connection that was lost, or left on purpose
 * @property {number} left on purpose
 * @property {number} expired of silent clients, closed by the server
 * @property {Record<string, number>} errors connections that were lost or failed, by reason
 * @property {import('./client.js').Counts} counts
 * @property {import('./histogram.js').Packed} latencies
 * @property {import('./histogram.js').Packed} handshakes
 */

/** Before a client tries again, ms; twice that at most. */
const RETRY = 500
const TICK = 50
/** For a connection to be open, ms. */
const TIMEOUT = 20_000

/** @type {LoadClient[]} */
const clients = []
const latencies = new Histogram()
const handshakes = new Histogram()
/** @type {Map<LoadClient, { at: number, timer: NodeJS.Timeout }>} */
const connecting = new Map()
const counts = { deliveries: 0, doubled: 0, holes: 0, acknowledged: 0, cut: 0, unasked: 0 }
let [open, opened, reconnects, left, expired] = [0, 0, 0, 0, 0]
/** @type {Record<string, number>} */
let errors = {}
/** @type {import('./plan.js').Plan} */
let plan
let stopping = false
let acts = 0
let takenAt = performance.now()

/** @param {LoadClient} client */
function connect (client) {
  if (stopping || client.state !== 'closed') return
  const timer = setTimeout(() => client.fail(`not open after ${TIMEOUT / 1000} s`), TIMEOUT)
  connecting.set(client, { at: performance.now(), timer })
  client.connect()
}

/** @param {LoadClient} client @returns {number} ms that the attempt took */
function attemptEnded (client) {
  const attempt = connecting.get(client)
  clearTimeout(attempt?.timer)
  connecting.delete(client)
  return performance.now() - (attempt?.at ?? 0)
}

/** @param {LoadClient} client */
function onOpen (client) {
  handshakes.add(attemptEnded(client))
  open++
  opened++
  if (client.known) reconnects++
  client.known = true
}

/** @param {LoadClient} client @param {string} reason @param {boolean} wasOpen */
function onEnd (client, reason, wasOpen) {
  attemptEnded(client)
  if (wasOpen) open--
  if (stopping) return
  if (client.silent) {
    expired++
    return
  }
  errors[reason] = (errors[reason] ?? 0) + 1
  if (!plan.resume) client.positions.clear()
  setTimeout(() => connect(client), RETRY * (1 + Math.random())).unref()
}

const commands = {
  /** Opens the clients; resolves when each of them was started. @param {OpenOptions} options */
  async open ({ run, plan: given, target, loopback, sources, first, tokens, ramp }) {
    plan = given
    const scene = {
      run, target, plan, counts, onOpen, onEnd,
      onLatency: (/** @type {number} */ ms) => latencies.add(ms)
    }
    tokens.forEach((token, i) => {
      const index = first + i
      clients.push(new LoadClient(scene, {
        token,
        id: `load-${run}-${index}`,
        source: sourceOf(index, sources, loopback),
        msgpack: isInShare(index, plan.msgpack),
        polling: isInShare(index, plan.polling),
        documents: new Map(documentsOf(index, plan).map((document) => [guidOf(run, document), document]))
      }))
    })
    const begin = performance.now()
    for (let started = 0; started < clients.length && !stopping;) {
      const due = Math.min(clients.length, Math.ceil((performance.now() - begin) / 1000 * ramp))
      while (started < due) connect(clients[started++])
      await sleep(TICK)
    }
  },

  /** A record to everyone is about to be published. @param {number} number */
  expect (number) {
    for (const client of clients) if (client.state === 'open') client.expect(number)
  },

  /** @returns {Snapshot} */
  snapshot () {
    const now = performance.now()
    const snapshot = {
      seconds: Math.max(0.001, (now - takenAt) / 1000),
      open, opened, reconnects, left, expired, errors, counts: { ...counts }, latencies: latencies.take(),
      handshakes: handshakes.take()
    }
    takenAt = now
    opened = reconnects = left = expired = 0
    errors = {}
    return snapshot
  },

  /**
   * Clients leave, and come back at once. Only those leave that have all records that were published to everyone, so
   * that nothing is on its way to them.
   * @param {number} count
   */
  leave (count) {
    let next = Math.floor(Math.random() * clients.length)
    for (let tried = 0; tried < clients.length && count > 0; tried++) {
      const client = clients[next++ % clients.length]
      if (client.state !== 'open' || client.outstanding > 0 || client.silent) continue
      client.leave(plan.resume)
      open--
      left++
      count--
      setImmediate(() => connect(client))
    }
  },

  /** @param {number} count clients that do what editors do */
  act (count) {
    const first = Math.floor(Math.random() * clients.length)
    for (let tried = 0; tried < clients.length && count > 0; tried++) {
      const client = clients[(first + tried) % clients.length]
      if (client.state !== 'open' || client.silent) continue
      client.act(`load-own-${process.pid}-${acts++}`)
      count--
    }
  },

  /** @param {number} count clients that answer no pings any more @returns {number} ms until they must be removed */
  silence (count) {
    const silent = clients.filter(({ state }) => state === 'open').slice(0, count)
    for (const client of silent) client.silence()
    return Math.max(0, ...silent.map(({ patience }) => patience))
  },

  /** @param {number[]} ends records of each document */
  missing (ends) {
    const missing = { documents: 0, everyone: 0, closed: 0, surplus: 0 }
    for (const client of clients) {
      if (client.silent) continue
      if (client.state !== 'open') {
        missing.closed++
        continue
      }
      missing.documents += client.missing(ends)
      missing.everyone += client.outstanding
      missing.surplus += client.surplus(ends)
    }
    return missing
  },

  close () {
    stopping = true
    for (const client of clients) client.leave(false)
  }
}

/** @typedef {typeof commands} Commands */

serve(commands)
// Ctrl-C reaches the whole group: the controller ends the run in order
process.on('SIGINT', () => {})
