/**
 * One attack on a cluster, and its effect on well-behaved clients.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { createSigner } from 'fast-jwt'
import { usageOf } from '../../bench/measure/processes.js'
import { quantiles, round } from '../../bench/measure/quantiles.js'
import { SECRET } from '../helpers/tokens.js'
import { waitFor } from '../helpers/wait.js'
import { ATTACKER_TOKEN, clusterFor, OBSERVER_TOKEN } from './clusters.js'
import { MemoryWatch } from './memory.js'
import { saveRow } from './rows.js'
import { timeoutOf } from './timeouts.js'

const WITNESSES = 100
/** Time after the documented timeout for which is waited until all descriptors are closed, ms. */
const WAITED = 20_000
const ATTACKER = fileURLToPath(new URL('attacker-process.js', import.meta.url))
const WITNESS = fileURLToPath(new URL('witness-process.js', import.meta.url))

/**
 * Duration of each attack, s: 60 for published results (`npm run test:attack`), short to detect regressions.
 */
export const SECONDS = Number(process.env.ATTACK_SECONDS ?? 3)
/** Attacks of this duration and longer are published, s. */
const PUBLISHED = 60
/** Time without the attacker before the attack, ms: the worker's heap settles. */
const ALONE = SECONDS >= PUBLISHED ? 5000 : 1000

/**
 * @param {import('node:test').TestContext} t
 * @param {string} name of the attack
 * @param {object} options
 * @param {import('./rows.js').Row['who']} options.who
 * @param {boolean} [options.secure] the gateway speaks TLS
 * @param {Record<string, string>} [options.env]
 * @param {'gateway' | 'api'} [options.role] process that is attacked; its memory and CPU are measured
 * @param {Partial<import('./wire.js').Target>} [options.more] of the target
 * @param {() => Promise<() => Promise<number[]>>} [options.measure] begins to measure callers, after the start; the
 *   result ends it, with latencies in ms. Default: callers of the HTTP api
 * @returns {Promise<import('./rows.js').Row>}
 */
export async function attacked (t, name, { who, secure = false, env = {}, role = 'gateway', more, measure }) {
  const cluster = await clusterFor(name, { secure, env }, { shared: SECONDS < PUBLISHED })
  const { server } = cluster
  const sign = createSigner({ key: SECRET, algorithm: 'HS256', expiresIn: 3_600_000 })
  const worker = cluster.pidOf(role)

  const witnesses = startWitnesses(t)
  await witnesses.ask('open', {
    url: server.url,
    tokens: Array.from({ length: WITNESSES }, (_, i) => sign({ sub: `witness-${i}` })),
    beside: { apiUrl: server.apiUrl, adminUrl: server.adminUrl, apiToken: OBSERVER_TOKEN }
  })
  await delay(ALONE)
  const measured = await measure?.()
  await witnesses.ask('measure')
  const usual = cluster.usualDescriptors()
  const before = usageOf(worker)
  const memory = new MemoryWatch(cluster.processes)
  t.after(() => memory.stop())

  const target = {
    port: Number(new URL(server.url).port),
    apiPort: Number(new URL(server.apiUrl).port),
    adminPort: Number(server.adminPort),
    apiToken: ATTACKER_TOKEN,
    secure,
    token: sign({ sub: 'attacker' }),
    seconds: SECONDS,
    ...more
  }
  const attacker = fork(ATTACKER, [name, JSON.stringify(target)])
  t.after(() => attacker.kill('SIGKILL'))
  const begin = performance.now()
  const [sent] = await Promise.race([
    once(attacker, 'message'),
    once(attacker, 'exit').then(([code, signal]) => {
      throw new Error(`the attacker ended: ${signal ?? code}`)
    })
  ])
  const ended = performance.now()
  const lasted = ended - begin
  memory.stop()
  const { latencies, closed, refused, missing, callers, scrapes } = await witnesses.ask('report')
  const ofCallers = await measured?.()
  const died = await cluster.endedProcess()
  if (died !== undefined) throw new Error(`the attack ended the ${died}`)
  const after = usageOf(worker)
  // the attacker keeps its connections open: the server has to close them
  const timeout = timeoutOf(name)
  await waitFor(() => cluster.descriptors() <= usual + 5, {
    timeout: timeout + WAITED,
    message: () => `${usual} descriptors before the attack, ${cluster.descriptors()} after it`
  })

  /** @type {import('./rows.js').Row} */
  const row = {
    attack: name,
    who,
    seconds: round(lasted / 1000, 1),
    connections: sent.connections,
    megabytes: round(sent.bytes / 1e6, 1),
    cpu: Math.round((after.cpuMs - before.cpuMs) / lasted * 100),
    latency: quantiles(latencies),
    callers: { latency: quantiles(ofCallers ?? callers.latencies), failed: callers.failed },
    scrapes: { latency: quantiles(scrapes.latencies), failed: scrapes.failed },
    refused,
    closed,
    missing,
    memory: memory.of(worker),
    processes: memory.all(),
    timeout,
    freed: round((performance.now() - ended) / 1000, 1)
  }
  saveRow(row)
  return row
}

/** @param {import('node:test').TestContext} t */
function startWitnesses (t) {
  const child = fork(WITNESS, { serialization: 'advanced' })
  t.after(() => child.kill('SIGKILL'))
  return {
    /** @param {string} command @param {object} [options] @returns {Promise<any>} */
    async ask (command, options) {
      child.send({ command, options })
      const [{ result, error }] = await Promise.race([
        once(child, 'message'),
        once(child, 'exit').then(() => {
          throw new Error('the witnesses\' process ended')
        })
      ])
      if (error !== undefined) throw new Error(error)
      return result
    }
  }
}
