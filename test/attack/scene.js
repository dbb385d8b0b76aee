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
import { ATTACKER_TOKEN, OBSERVER_TOKEN, sharedCluster, startedCluster } from './clusters.js'
import { MemoryWatch } from './memory.js'
import { saveRow } from './rows.js'
import { timeoutOf } from './timeouts.js'

/** Time after the documented timeout for which is waited until all descriptors are closed, ms. */
const WAITED = 20_000
const ATTACKER = fileURLToPath(new URL('attacker-process.js', import.meta.url))

/**
 * Duration of each attack, s: 60 for published results (`npm run test:attack`), short to detect regressions.
 */
export const SECONDS = Number(process.env.ATTACK_SECONDS ?? 3)
/** Attacks of this duration and longer are published, s. */
const PUBLISHED = 60
/** Time with the other clients before the first attack on a cluster, ms: the worker's heap settles. */
const ALONE = SECONDS >= PUBLISHED ? 5000 : 1000

/**
 * @typedef {object} Options
 * @property {import('./rows.js').Row['who']} who
 * @property {boolean} [secure] the gateway speaks TLS
 * @property {Record<string, string>} [env]
 * @property {'gateway' | 'api'} [role] process that is attacked; its memory and CPU are measured
 * @property {Partial<import('./wire.js').Target>} [more] of the target
 * @property {(t: import('node:test').TestContext) => () => Promise<number[]>} [measure] begins to measure callers,
 *   after the start; the result ends it, with latencies in ms. Default: callers of the HTTP api
 */

/** The last attack that was asked for: settled when it begins, and when it has ended. */
let last = { begun: Promise.resolve(), ended: Promise.resolve() }

/**
 * Attacks when all attacks asked for before have had their turn.
 *
 * @param {import('node:test').TestContext} t
 * @param {string} name of the attack
 * @param {Options} options
 * @returns {Promise<import('./rows.js').Row>}
 */
export async function attacked (t, name, options) {
  const timeout = timeoutOf(name)
  const own = timeout > 0 || SECONDS >= PUBLISHED
  const before = last
  // a short attack is prepared while the one before it runs
  const prepared = (SECONDS >= PUBLISHED ? before.ended : before.begun).then(() => prepare(t, name, own, options))
  prepared.catch(() => {}) // awaited when it is this attack's turn
  const begun = before.ended.then(() => prepared)
  const turn = begun.then(async ({ cluster, attacker }) => {
    const attack = await run(t, name, cluster ?? await sharedCluster(settingsOf(options)), attacker, options)
    return { ...attack, freed: own ? undefined : await attack.free() }
  })
  last = { begun: settled(begun), ended: settled(turn) }
  const { row, free, freed } = await turn
  const result = { ...row, timeout, freed: freed ?? await free() }
  saveRow(result)
  return result
}

/** @param {Promise<unknown>} promise @returns {Promise<void>} */
const settled = (promise) => promise.then(() => {}, () => {})

/**
 * @param {import('node:test').TestContext} t
 * @param {string} name
 * @param {boolean} own against a cluster of its own
 * @param {Options} options
 */
async function prepare (t, name, own, options) {
  const [cluster, attacker] = await Promise.all([
    // a shared one is not started beside an attack that takes a whole core
    own ? startedCluster(t, settingsOf(options)) : undefined, startAttacker(t, name)
  ])
  await cluster?.witnesses()
  return { cluster, attacker }
}

/** @param {Options} options */
const settingsOf = ({ secure = false, env = {} }) => ({ secure, env })

/** @param {import('node:test').TestContext} t @param {string} name */
async function startAttacker (t, name) {
  const child = fork(ATTACKER, [name])
  t.after(() => child.kill('SIGKILL'))
  const message = async () => {
    const [sent] = await Promise.race([
      once(child, 'message'),
      once(child, 'exit').then(([code, signal]) => {
        throw new Error(`the attacker ended: ${signal ?? code}`)
      })
    ])
    return sent
  }
  await message() // it has loaded
  return {
    /** @param {import('./wire.js').Target} target @returns {Promise<import('./wire.js').Sent>} */
    attack (target) {
      child.send(target)
      return message()
    }
  }
}

/**
 * @param {import('node:test').TestContext} t
 * @param {string} name
 * @param {Awaited<ReturnType<typeof startedCluster>>} cluster
 * @param {Awaited<ReturnType<typeof startAttacker>>} attacker
 * @param {Options} options
 */
async function run (t, name, cluster, attacker, { who, secure = false, role = 'gateway', more, measure }) {
  await cluster.begin(name)
  const { server } = cluster
  const worker = cluster.pidOf(role)
  const witnesses = await cluster.witnesses()
  await witnesses.ask('begin', { apiUrl: server.apiUrl, adminUrl: server.adminUrl, apiToken: OBSERVER_TOKEN })
  if (cluster.isFresh) await delay(ALONE)
  const measured = measure?.(t)
  await witnesses.ask('measure')
  const usual = cluster.usualDescriptors()
  const before = usageOf(worker)
  const memory = new MemoryWatch(cluster.processes)
  t.after(() => memory.stop())

  const begin = performance.now()
  const sent = await attacker.attack({
    port: Number(new URL(server.url).port),
    apiPort: Number(new URL(server.apiUrl).port),
    adminPort: Number(server.adminPort),
    apiToken: ATTACKER_TOKEN,
    secure,
    token: createSigner({ key: SECRET, algorithm: 'HS256', expiresIn: 3_600_000 })({ sub: 'attacker' }),
    seconds: SECONDS,
    ...more
  })
  const ended = performance.now()
  const lasted = ended - begin
  memory.stop()
  const { latencies, paused, closed, refused, missing, callers, scrapes } = await witnesses.ask('report')
  if (closed + refused.length + missing > 0) await cluster.replaceWitnesses()
  const ofCallers = await measured?.()
  const died = await cluster.endedProcess()
  if (died !== undefined) throw new Error(`the attack ended the ${died}`)
  const after = usageOf(worker)

  return {
    row: {
      attack: name,
      who,
      seconds: round(lasted / 1000, 1),
      connections: sent.connections,
      megabytes: round(sent.bytes / 1e6, 1),
      cpu: Math.round((after.cpuMs - before.cpuMs) / lasted * 100),
      latency: quantiles(latencies),
      paused,
      callers: { latency: quantiles(ofCallers ?? callers.latencies), failed: callers.failed },
      scrapes: { latency: quantiles(scrapes.latencies), failed: scrapes.failed },
      refused,
      closed,
      missing,
      memory: memory.of(worker),
      processes: memory.all()
    },
    /** The attacker keeps its connections open: the server has to close them. @returns {Promise<number>} s it took */
    async free () {
      await waitFor(() => cluster.descriptors() <= usual + 5, {
        timeout: timeoutOf(name) + WAITED,
        message: () => `${usual} descriptors before the attack, ${cluster.descriptors()} after it`
      })
      return round((performance.now() - ended) / 1000, 1)
    }
  }
}
