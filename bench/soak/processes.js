/**
 * The processes of a cluster that was started with the probe: memory after a collection, descriptors, heap snapshots.
 */
import { once } from 'node:events'
import net from 'node:net'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { makeDirectory, removeDirectory } from '../../test/services/directory.js'
import { processTree, usageOf } from '../measure/processes.js'

/**
 * @typedef {import('./probe.js').Memory & { pid: number, role: string, descriptors: number, cpuMs: number }} Reading
 */

const PROBE = new URL('probe.js', import.meta.url).href
const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const TIMEOUT = 60_000

/** @param {{ after: (stop: () => unknown) => void }} t */
export function createProbes (t) {
  const directory = makeDirectory('soak')
  t.after(() => removeDirectory(directory))

  /**
   * @param {number} pid
   * @param {import('./probe.js').Question} [question]
   * @returns {Promise<import('./probe.js').Memory>}
   * @throws {Error} the process has ended, or does not answer
   */
  async function ask (pid, question = {}) {
    const socket = net.connect(path.join(directory, String(pid)))
    socket.setTimeout(TIMEOUT, () => socket.destroy(new Error(`process ${pid} does not answer the probe`)))
    socket.setEncoding('utf8')
    let text = ''
    socket.on('data', (chunk) => { text += chunk })
    socket.end(JSON.stringify(question))
    await once(socket, 'close')
    return JSON.parse(text)
  }

  return {
    /** Settings of the cluster. */
    env: { SOAK_PROBE: directory, NODE_OPTIONS: `--import ${PROBE}` },
    ask,

    /** @param {number} root process id of the launcher @returns {Promise<Reading[]>} one after the other */
    async read (root) {
      const readings = []
      for (const { pid, role } of processTree(root, roleOf)) {
        try {
          const memory = await ask(pid)
          const { descriptors, cpuMs } = usageOf(pid)
          readings.push({ pid, role, descriptors, cpuMs, ...memory })
        } catch {
          // the process has just ended, and is missing in this sample
        }
      }
      return readings
    }
  }
}

/** @typedef {ReturnType<typeof createProbes>} Probes */

/** @param {string} command @returns {string} */
export const roleOf = (command) => /src\/(\w+)\.js/.exec(command.replace(ROOT, ''))?.[1] ?? 'launcher'
