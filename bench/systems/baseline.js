/**
 * The same job written straight from the official guides (bench/baseline).
 */
import { fileURLToPath } from 'node:url'
import { freePort } from '../../test/services/ports.js'
import { startSystem } from './system.js'

const FILE = fileURLToPath(new URL('../baseline/primary.js', import.meta.url))

/**
 * @param {import('./system.js').SystemSettings} settings
 * @returns {Promise<import('./system.js').System>}
 */
export async function startBaseline ({ workers, redisUrl, secret, kafkaBrokers, nodeArgs }) {
  const port = await freePort()
  return startSystem({
    name: 'baseline',
    file: FILE,
    nodeArgs,
    port,
    env: { PORT: String(port), WORKERS: String(workers), REDIS_URL: redisUrl, AUTH_JWT_SECRET: secret, KAFKA_BROKERS: kafkaBrokers },
    ready: (output) => {
      const started = output.match(/^Worker \d+ started$/gm)?.length ?? 0
      if (started < workers) throw new Error(`${started} of ${workers} workers have started`)
    },
    roleOf: (command) => command.includes('worker.js') ? 'worker' : 'primary'
  })
}
