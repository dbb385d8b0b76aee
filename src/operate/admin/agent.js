import net from 'node:net'
import { listen } from '../../base/process/listen.js'
import { createListenerGuard } from '../../base/process/listener-guard.js'
import { destroyAfter, endSocket } from '../../base/process/socket-times.js'
import { loadBetween, sampleOf, weightOf } from './machine-weight.js'
import { CORDONED } from './status.js'

/**
 * The load agent: HAProxy's `agent-check` connects, reads one line and adapts the weight of this machine
 * (https://docs.haproxy.org/2.6/configuration.html#5.2-agent-check). On ADMIN_HOST:AGENT_PORT, where that is set.
 *
 * | line | when |
 * |---|---|
 * | `ready up 75%` | it serves. `ready` and `up` cancel an earlier `drain` or `down` |
 * | `drain` | it is stopping or cordoned: no new clients, those that are connected stay until they are sent away |
 * | `down #reason` | it is not ready, as `/ready` says |
 */

/** Several balancers ask; between two looks at the processes at least this much time passes, ms. */
const FRESH = 1000
/** A sample older than this says nothing about the CPU of the moment, ms. */
const STALE = 30_000
/** Balancers ask one at a time, and go when they have the answer. */
const MAX_CONNECTIONS = 64
const TIMEOUT = 5000

/**
 * @param {object} dependencies
 * @param {Readonly<{ host: string, agentPort: number | undefined }>} dependencies.settings config.admin
 * @param {number} dependencies.capacity connections of this machine when it is full
 * @param {Pick<ReturnType<typeof import('./processes.js').createProcesses>, 'read'>} dependencies.processes
 * @param {import('../../base/common/log.js').Log} dependencies.log
 * @param {import('../../base/common/clock.js').Clock} dependencies.clock
 * @param {number} [dependencies.linger] how long a balancer that has the answer may take to close, ms
 */
export function createAgent ({ settings, capacity, processes: all, log, clock, linger }) {
  /** @type {import('./machine-weight.js').Sample | undefined} */
  let sample
  /** @type {{ at: number, line: Promise<string> } | undefined} */
  let last

  async function look () {
    const { processes, reasons } = await all.read('figures')
    const before = sample !== undefined && clock.monotonic() - sample.at <= STALE ? sample : undefined
    sample = sampleOf(processes, clock.monotonic())
    if (processes.some(({ name, notReady }) => name === 'launcher' && notReady.includes('stopping'))) return 'drain'
    if (reasons.length > 0)
      return processes.some(({ notReady }) => notReady.includes('stopping') || notReady.includes(CORDONED))
        ? 'drain'
        : `down #${reasons
          .join(', ')
          .replace(/[^ -~]/g, ' ')
          .slice(0, 200)}`
    return `ready up ${weightOf(loadBetween(before, sample), capacity)}%`
  }

  /** @returns {Promise<string>} */
  function answer () {
    const now = clock.monotonic()
    if (last === undefined || now - last.at >= FRESH) last = { at: now, line: look() }
    return last.line
  }

  const server = net.createServer(createListenerGuard({ name: 'agent', log, clock }).connection((socket) => {
    socket.on('error', () => {})
    destroyAfter(socket, TIMEOUT, clock)
    socket.resume()
    answer().then((line) => endSocket(socket, `${line}\n`, clock, linger), (error) => {
      log.warn({ err: error }, 'the load could not be read')
      // HAProxy leaves everything as it is then
      socket.destroy()
    })
  }))
  server.maxConnections = MAX_CONNECTIONS

  return {
    /** @throws {Error} if the port is taken */
    async start () {
      if (settings.agentPort === undefined) return
      await listen(server, { host: settings.host, port: settings.agentPort, exclusive: true })
    },
    stop () { if (server.listening) server.close() },
    port () { return /** @type {import('net').AddressInfo} */ (server.address()).port }
  }
}
