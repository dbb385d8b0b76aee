/**
 * The clusters that are attacked, with the other clients: one gateway worker with 1 GB of heap unless an attack says
 * otherwise. Attacks with the same settings share one, because its start and stop take longer than a short attack. Two
 * kinds get one of their own: attacks that leave open what only a timeout closes, because others run meanwhile, and
 * published ones, so that their memory is not that of an earlier attack.
 */
import { fileURLToPath } from 'node:url'
import { createSigner } from 'fast-jwt'
import { usageOf } from '../../bench/measure/processes.js'
import { startCluster } from '../helpers/cluster.js'
import { fileScope } from '../helpers/file-scope.js'
import { ownRedisUrl } from '../helpers/own-redis.js'
import { childrenOf, isAlive } from '../helpers/processes.js'
import { SECRET } from '../helpers/tokens.js'
import { waitFor } from '../helpers/wait.js'
import { startWitnesses } from './witnesses.js'

const TLS = fileURLToPath(new URL('../helpers/tls/', import.meta.url))

const WITNESSES = 100

/** Tokens of callers of the api with all rights: one for well-behaved ones, one for attackers. */
export const [OBSERVER_TOKEN, ATTACKER_TOKEN] = ['token-of-an-observer', 'token-of-an-attacker']

/**
 * @typedef {object} Settings
 * @property {boolean} [secure] the gateway speaks TLS
 * @property {Record<string, string>} [env]
 */

/** By their settings. @type {Map<string, Promise<AttackedCluster>>} */
const shared = new Map()
const file = fileScope()

/**
 * @param {Settings} settings
 * @returns {Promise<AttackedCluster>} shared with other attacks that have the same settings
 */
export function sharedCluster (settings) {
  const key = JSON.stringify(settings)
  const cluster = shared.get(key) ?? startedCluster(file, settings)
  shared.set(key, cluster)
  return cluster
}

/**
 * @param {import('../helpers/file-scope.js').Scope} scope
 * @param {Settings} settings
 */
export async function startedCluster (scope, settings) {
  const cluster = await AttackedCluster.start(settings)
  scope.after(() => cluster.stop())
  return cluster
}

class AttackedCluster {
  /** Descriptors while the other clients of the first attack were connected. @type {number | undefined} */
  #usual
  /** The attack that runs, or ran last. @type {string | undefined} */
  #attack
  /** @type {Promise<ReturnType<typeof startWitnesses>> | undefined} */
  #witnesses

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
        server, [{ pid: server.pid, role: 'launcher' }, ...await childrenOf(server.pid)], scope, stop
      )
    } catch (error) {
      await stop()
      throw error
    }
  }

  /**
   * @param {Awaited<ReturnType<typeof startCluster>>} server
   * @param {{ pid: number, role: string }[]} processes
   * @param {import('../helpers/file-scope.js').Scope} scope
   * @param {() => Promise<void>} stop of what is in the scope
   */
  constructor (server, processes, scope, stop) {
    this.server = server
    this.processes = processes
    this.scope = scope
    this.stop = stop
  }

  /** The well-behaved clients. They stay connected between attacks. */
  witnesses () {
    this.#witnesses ??= this.#connectWitnesses()
    return this.#witnesses
  }

  async #connectWitnesses () {
    const sign = createSigner({ key: SECRET, algorithm: 'HS256', expiresIn: 3_600_000 })
    const witnesses = startWitnesses(this.scope)
    await witnesses.ask('open', {
      url: this.server.url, tokens: Array.from({ length: WITNESSES }, (_, i) => sign({ sub: `witness-${i}` }))
    })
    return witnesses
  }

  /** The next attack gets other clients: an attack has harmed these. */
  async replaceWitnesses () {
    const harmed = await this.#witnesses
    this.#witnesses = undefined
    harmed?.stop()
  }

  /** Whether no attack has begun. */
  get isFresh () { return this.#usual === undefined }

  /** @param {string} role @returns {number} process id */
  pidOf (role) { return this.processes.find((each) => each.role === role)?.pid ?? 0 }

  /** An attack begins. @param {string} attack @throws {Error} when a process has ended during an earlier attack */
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
