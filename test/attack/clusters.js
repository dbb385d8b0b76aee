/**
 * The clusters that are attacked: one gateway worker with 1 GB of heap unless an attack says otherwise. Attacks of a
 * test file with the same settings share a cluster, because its start and stop take longer than a short attack.
 * Published attacks get a fresh one each, so that their memory is not that of an earlier attack.
 */
import { fileURLToPath } from 'node:url'
import { usageOf } from '../../bench/measure/processes.js'
import { startCluster } from '../helpers/cluster.js'
import { fileScope } from '../helpers/file-scope.js'
import { ownRedisUrl } from '../helpers/own-redis.js'
import { childrenOf, isAlive } from '../helpers/processes.js'
import { SECRET } from '../helpers/tokens.js'
import { waitFor } from '../helpers/wait.js'

const TLS = fileURLToPath(new URL('../helpers/tls/', import.meta.url))

/** Tokens of callers of the api with all rights: one for well-behaved ones, one for attackers. */
export const [OBSERVER_TOKEN, ATTACKER_TOKEN] = ['token-of-an-observer', 'token-of-an-attacker']

/**
 * @typedef {object} Settings
 * @property {boolean} [secure] the gateway speaks TLS
 * @property {Record<string, string>} [env]
 */

/** The cluster of the last attack. @type {{ key: string, cluster: Promise<AttackedCluster> } | undefined} */
let current
let fresh = 0
const file = fileScope()
file.after(() => stopCurrent())

/**
 * @param {string} attack its name
 * @param {Settings} settings
 * @param {{ shared: boolean }} options shared: with other attacks of the file that have the same settings
 * @returns {Promise<AttackedCluster>}
 * @throws {Error} when a process of the shared cluster has ended during an earlier attack
 */
export async function clusterFor (attack, settings, { shared }) {
  const key = shared ? JSON.stringify(settings) : `fresh ${++fresh}`
  if (current?.key !== key) {
    await stopCurrent()
    current = { key, cluster: AttackedCluster.start(settings) }
  }
  const cluster = await current.cluster
  await cluster.begin(attack)
  return cluster
}

async function stopCurrent () {
  const cluster = current?.cluster
  current = undefined
  // its start is reported by the attack that waited for it
  await (await cluster?.catch(() => undefined))?.stop()
}

class AttackedCluster {
  /** Descriptors while the other clients of the first attack were connected. @type {number | undefined} */
  #usual
  /** The attack that runs, or ran last. @type {string | undefined} */
  #attack

  /** @param {Settings} settings @returns {Promise<AttackedCluster>} */
  static async start ({ secure = false, env = {} }) {
    /** @type {(() => unknown)[]} */
    const stops = []
    const scope = { after: (/** @type {() => unknown} */ stop) => { stops.push(stop) } }
    const stop = async () => { for (const each of stops.splice(0).reverse()) await each() }
    try {
      const server = await startCluster(scope, {
        REDIS_URL: await ownRedisUrl(scope),
        WORKERS: '1',
        AUTH_JWT_SECRET: SECRET,
        API_TOKENS: `observer:${OBSERVER_TOKEN},attacker:${ATTACKER_TOKEN}`,
        NODE_OPTIONS: '--max-old-space-size=1024',
        ...secure ? { TLS_FILES: `cert:${TLS}cert.pem,key:${TLS}key.pem` } : {},
        ...env
      })
      return new AttackedCluster(
        server, [{ pid: server.pid, role: 'launcher' }, ...await childrenOf(server.pid)], stop
      )
    } catch (error) {
      await stop()
      throw error
    }
  }

  /**
   * @param {Awaited<ReturnType<typeof startCluster>>} server
   * @param {{ pid: number, role: string }[]} processes
   * @param {() => Promise<void>} stop
   */
  constructor (server, processes, stop) {
    this.server = server
    this.processes = processes
    this.stop = stop
  }

  /** @param {string} role @returns {number} process id */
  pidOf (role) { return this.processes.find((each) => each.role === role)?.pid ?? 0 }

  /** @param {string} attack @throws {Error} when a process has ended during an earlier attack */
  async begin (attack) {
    const ended = await this.endedProcess()
    if (ended !== undefined)
      throw new Error(`the cluster that this attack shares has lost its ${ended} during or after the attack "${this.#attack}"`)
    this.#attack = attack
    // a machine under load may have cut the worker off from Redis for a moment
    await waitFor(() => this.server.ready(), { timeout: 30_000, message: 'the cluster to be ready again' })
  }

  /** @returns {Promise<string | undefined>} a process of the start that is no longer there */
  async endedProcess () {
    const { pid: launcher } = this.server
    const running = new Set((await childrenOf(launcher)).map(({ pid }) => pid))
    if (isAlive(launcher)) running.add(launcher)
    const ended = this.processes.find(({ pid }) => !running.has(pid))
    return ended && `${ended.role} (process ${ended.pid})`
  }

  descriptors () {
    return this.processes.reduce((sum, { pid }) => sum + usageOf(pid).descriptors, 0)
  }

  /**
   * Descriptors without an attacker, measured before the first attack: what each of several attacks left behind would
   * otherwise count as usual for the next one.
   */
  usualDescriptors () {
    this.#usual ??= this.descriptors()
    return this.#usual
  }
}
