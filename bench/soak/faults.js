/**
 * Faults of a soak. None of them may lose a record; those of the second kind also move connections to other processes,
 * so that the memory of a worker cannot be compared before and after.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { childrenOf, isAlive } from '../../test/helpers/processes.js'
import { waitFor } from '../../test/helpers/wait.js'

/**
 * @typedef {object} Scene
 * @property {Awaited<ReturnType<typeof import('../../test/helpers/cluster.js').startCluster>>} cluster
 * @property {import('../../test/services/redis.js').RedisServer} server
 * @property {import('ioredis').Redis} redis
 * @property {import('../../test/services/kafka.js').KafkaBroker} [broker]
 *
 * @typedef {object} Fault
 * @property {string} name
 * @property {boolean} [kafka] only with Kafka
 * @property {(scene: Scene, random: () => number) => Promise<unknown>} make resolves when it is over
 */

/** Longer than it takes to notice a hung worker, shorter than the lease of a worker number, ms. */
const HANG = 3000
const READY = 60_000

/** @param {Scene} scene @param {string} role @param {() => number} random @returns {Promise<number>} */
async function pidOf ({ cluster }, role, random) {
  const found = (await childrenOf(cluster.pid)).filter((child) => child.role === role)
  if (found.length === 0) throw new Error(`no ${role} runs`)
  return found[Math.floor(random() * found.length)].pid
}

/** @param {string} role @returns {Fault['make']} */
const killed = (role) => async (scene, random) => {
  const pid = await pidOf(scene, role, random)
  process.kill(pid, 'SIGKILL')
  await waitFor(async () => !isAlive(pid) && await scene.cluster.ready(), { timeout: READY, message: 'a new process' })
}

/** @param {string} role @returns {Fault['make']} */
const hangs = (role) => async (scene, random) => {
  const pid = await pidOf(scene, role, random)
  process.kill(pid, 'SIGSTOP')
  await delay(HANG)
  process.kill(pid, 'SIGCONT')
  await waitFor(() => scene.cluster.ready(), { timeout: READY, message: 'the process to go on' })
}

/** Connections stay where they are. @type {Fault[]} */
export const GENTLE = [
  { name: 'the api is killed', make: killed('api') },
  { name: 'ingest is killed', kafka: true, make: killed('ingest') },
  { name: 'ingest hangs for 3 s', kafka: true, make: hangs('ingest') },
  { name: 'a gateway worker hangs for 3 s', make: hangs('gateway') },
  { name: 'Redis closes all pub/sub connections', make: ({ redis }) => redis.call('CLIENT', 'KILL', 'TYPE', 'pubsub') },
  {
    name: 'Redis hangs for 3 s',
    async make ({ server, cluster }) {
      await server.kill('SIGSTOP')
      await delay(HANG)
      await server.kill('SIGCONT')
      await waitFor(() => cluster.ready(), { timeout: READY, message: 'the cluster to be ready again' })
    }
  },
  {
    name: 'Kafka is restarted',
    kafka: true,
    async make ({ broker, cluster }) {
      await broker?.restart()
      await waitFor(() => cluster.ready(), { timeout: READY, message: 'the cluster to be ready again' })
    }
  }
]

/** Connections move to another worker. @type {Fault[]} */
export const MOVING = [
  { name: 'a gateway worker is killed', make: killed('gateway') },
  {
    name: 'rolling reload',
    async make ({ cluster }) {
      const old = await childrenOf(cluster.pid)
      process.kill(cluster.pid, 'SIGHUP')
      await waitFor(() => !old.some(({ pid }) => isAlive(pid)), {
        timeout: 2 * READY, message: 'every process to be replaced'
      })
      await waitFor(() => cluster.ready(), { timeout: READY, message: 'the cluster to be ready again' })
    }
  }
]

/**
 * @param {Fault[]} faults
 * @param {{ kafka: boolean, random: () => number }} options
 * @returns {() => Fault} the next one: each of them in an order of its own, then all of them again in another
 */
export function faultOrder (faults, { kafka, random }) {
  const possible = faults.filter((fault) => kafka || !fault.kafka)
  /** @type {Fault[]} */
  let left = []
  return () => {
    if (left.length === 0) left = [...possible]
    const [next] = left.splice(Math.floor(random() * left.length), 1)
    return next
  }
}
