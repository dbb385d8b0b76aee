#!/usr/bin/env node
/**
 * Duration of a start and of a stop without clients, with Redis and Kafka: `node bench/start.js`, two minutes. From the
 * start of the launcher until `/ready` answers 200, and from SIGTERM until it has ended.
 */
import { randomBytes } from 'node:crypto'
import os from 'node:os'
import { startKafka } from '../test/services/kafka.js'
import { startRedis } from '../test/services/redis.js'
import { environment } from './measure/environment.js'
import { round } from './measure/quantiles.js'
import { scoped } from './measure/scope.js'
import { saveResults } from './report/results.js'
import { markdownTable } from './report/table.js'
import { startInkcast } from './systems/inkcast.js'

const ROUNDS = 5
const WORKERS = [2, 8]

/** @typedef {{ workers: number, start: number, stop: number }} Round s */

/** @returns {Promise<Round[]>} */
const measure = () => scoped(async (t) => {
  const redis = await startRedis()
  t.after(() => redis.stop())
  const kafka = await startKafka()
  t.after(() => kafka.stop())
  const settings = { redisUrl: redis.url, kafkaBrokers: kafka.brokers, secret: randomBytes(32).toString('hex') }
  // creates the topics
  await (await startInkcast({ ...settings, workers: 2 })).stop()
  /** @type {Round[]} */
  const rounds = []
  for (const workers of WORKERS) {
    for (let i = 0; i < ROUNDS; i++) {
      const began = performance.now()
      const system = await startInkcast({ ...settings, workers })
      const ready = performance.now()
      await system.stop()
      rounds.push({ workers, start: (ready - began) / 1000, stop: (performance.now() - ready) / 1000 })
    }
  }
  return rounds
})

const where = environment()
const rounds = await measure()
const range = (/** @type {number[]} */ values) => `${round(Math.min(...values), 1)} to ${round(Math.max(...values), 1)}`
const table = markdownTable(['workers', 'start, s', 'stop, s'], WORKERS.map((workers) => {
  const own = rounds.filter((each) => each.workers === workers)
  return [workers, range(own.map(({ start }) => start)), range(own.map(({ stop }) => stop))]
}))
console.log(table)
const page = [
  `# Duration of a start and a stop, ${where.date.slice(0, 10)}`, table, '## How it was measured',
  `\`${where.command}\` on ${where.date}, ${os.availableParallelism()} cores, ${where.machine.kernel}, load ${where.machine.load} ` +
  `before the run, Node ${process.versions.node}. One machine with Redis and Kafka, topics exist, no clients; ${ROUNDS} rounds each. ` +
  'Start: from the start of the launcher until `/ready` answers 200. Stop: from SIGTERM until the launcher has ended.'
].join('\n\n') + '\n'
console.log(saveResults('start', { ...where, rounds }, () => page))
process.exit()
