/**
 * One embedded inkcast: a single process, so that its figures match those of one worker.
 */
import { fileURLToPath } from 'node:url'
import { freePorts } from '../../test/services/ports.js'
import { waitUntil } from '../../test/services/wait.js'
import { HOST, startSystem } from '../systems/system.js'

const file = (/** @type {string} */ name) => fileURLToPath(new URL(name, import.meta.url))

/** Intervals, ms; the others are compared with the first one, which is that of Socket.IO. */
export const KINDS = {
  '25 s': { min: 25_000, max: 25_000 },
  '5 to 60 s': { min: 5000, max: 60_000 }
}
/** Heartbeat timeout, ms. */
export const TIMEOUT = 20_000

/** @typedef {{ heapUsed: number, rss: number, delayMs: number }} Probe bytes, ms */

/** @param {keyof typeof KINDS} kind */
export async function startKind (kind) {
  const { min, max } = KINDS[kind]
  const [port, apiPort, adminPort] = await freePorts(3)
  const system = await startSystem({
    name: 'inkcast',
    args: [
      '--expose-gc',
      '--import',
      file('probe.js'),
      file('../../cluster.js')
    ],
    port,
    env: {
      HOST,
      PORT: String(port),
      API_PORT: String(apiPort),
      ADMIN_PORT: String(adminPort),
      API_TOKENS: 'bench:0123456789abcdef',
      AUTH_ALLOW_ANONYMOUS: 'true',
      LOG_LEVEL: 'warn',
      MAX_HANDSHAKES_PER_SECOND: '1000000',
      NETWORK: `${min}:${max}:${TIMEOUT}`
    },
    ready: async () => {
      const answer = await fetch(`http://${HOST}:${adminPort}/ready`)
      if (answer.status !== 200) throw new Error(await answer.text())
    },
    roleOf: () => 'embedded'
  })
  const [{ pid }] = system.processes
  const probes = () =>
    system
      .output()
      .split('\n')
      .filter((line) => line.startsWith('probe '))
      .map((line) => JSON.parse(line.slice(6)))

  return {
    ...system,
    pid,
    /** @returns {Promise<Probe>} */
    async probe () {
      const { length } = probes()
      process.kill(pid, 'SIGUSR2')
      await waitUntil('a probe', async () => { if (probes().length === length) throw new Error('no line yet') })
      return probes().at(-1)
    }
  }
}
