/**
 * The same task written directly from the official guides (bench/baseline).
 */
import { fileURLToPath } from 'node:url'
import { freePort } from '../../test/services/ports.js'
import { startSystem } from './system.js'

const FILE = fileURLToPath(new URL('../baseline/primary.js', import.meta.url))

/**
 * @param {import('./system.js').SystemSettings} settings
 * @param {{ key?: 'object' | 'string' }} [options] key for jsonwebtoken: a KeyObject, or the secret as a string
 * @returns {Promise<import('./system.js').System>}
 */
export async function startBaseline (
  { workers, redisUrl, secret, kafkaBrokers, nodeArgs = [], extension },
  { key = 'object' } = {}
) {
  const port = await freePort()
  return startSystem({
    name: key === 'object' ? 'baseline' : 'baseline, string secret',
    args: [...nodeArgs, FILE],
    port,
    env: {
      PORT: String(port),
      WORKERS: String(workers),
      REDIS_URL: redisUrl,
      AUTH_JWT_SECRET: secret,
      JWT_KEY: key,
      KAFKA_BROKERS: kafkaBrokers,
      EXTENSION: extension
    },
    ready: (output) => {
      const started = output.match(/^Worker \d+ started$/gm)?.length ?? 0
      if (started < workers) throw new Error(`${started} of ${workers} workers have started`)
    },
    roleOf: (command) => (command.includes('worker.js') ? 'worker' : 'primary')
  })
}

/** As in the README of jsonwebtoken. @type {import('./system.js').StartSystem} */
export const startBaselineWithString = (settings) => startBaseline(settings, { key: 'string' })
