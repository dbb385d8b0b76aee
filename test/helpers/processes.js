import { execFile } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'
import { waitFor } from './wait.js'

/**
 * @param {number} pid
 * @returns {Promise<{ pid: number, role: string }[]>} its running child processes, oldest first
 */
export async function childrenOf (pid) {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=,ppid=,stat=,args='])
  return stdout.split('\n').flatMap((line) => {
    const [own, parent, state, ...args] = line.trim().split(/\s+/)
    if (Number(parent) !== pid || state.startsWith('Z')) return []
    return [{ pid: Number(own), role: path.basename(args.find((arg) => arg.endsWith('.js') && !arg.startsWith('file:')) ?? '', '.js') }]
  })
}

/**
 * Kills gateways of a cluster, one at a time.
 *
 * @param {number} cluster its process id
 * @param {number} workers as many as it keeps running
 */
export function gatewayKiller (cluster, workers) {
  /** In the process table for a moment longer. @type {Set<number>} */
  const killed = new Set()
  /** @type {{ pid: number, role: string }[]} */
  let running = []
  return {
    /** Waits until all workers run. */
    allRun: () => waitFor(async () => {
      running = (await childrenOf(cluster)).filter(({ role, pid }) => role === 'gateway' && !killed.has(pid))
      return running.length === workers
    }, { timeout: 30_000, message: () => running }),

    /** Kills one of those that ran. @param {number} turn */
    kill (turn) {
      const { pid } = running[turn % workers]
      killed.add(pid)
      process.kill(pid, 'SIGKILL')
    }
  }
}

/** @param {number} pid @returns {boolean} */
export function isAlive (pid) {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
