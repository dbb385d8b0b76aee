import { createRedis } from '../../../src/redis/client.js'
import { recordingLog } from '../../helpers/recording-log.js'

/**
 * A process with a connection to Redis, for parts of inkcast that a test composes by itself: beside a cluster, or
 * without one (`machines: 0`).
 *
 * @typedef {Awaited<ReturnType<typeof startPart>>} Part
 *
 * @param {import('./scripted-cluster.js').ScriptedCluster} cluster
 * @param {string} name
 * @param {import('../world/sim-process.js').Machine} [machine] default: one of its own
 */
export async function startPart (cluster, name, machine = { name, step: 0 }) {
  const process = cluster.world.process(name, machine)
  const { clock, random, host } = process
  const { log, lines } = recordingLog()
  /** @template T @param {() => T | Promise<T>} run @returns {Promise<T>} what it returned in a turn of the process */
  const act = (run) => cluster.act(process, run)
  const redis = await act(async () => {
    const redis = createRedis({ urls: cluster.redis.url.split(','), name, log, clock, random })
    await redis.start()
    return redis
  })
  return { process, redis, log, lines, clock, random, host, act }
}

/**
 * @param {import('./scripted-cluster.js').ScriptedCluster} cluster
 * @param {readonly Part[]} parts do something at the same time
 * @param {(part: Part, index: number) => Promise<unknown>} run
 * @returns {Promise<void>} all have done it
 */
export async function together (cluster, parts, run) {
  let left = parts.length
  /** @type {unknown[]} */
  const errors = []
  for (const [i, part] of parts.entries())
    part.process.enter('together', () => run(part, i).catch((error) => errors.push(error)).finally(() => { left-- }))
  await cluster.until(() => left === 0)
  if (errors.length > 0) throw errors[0]
}
