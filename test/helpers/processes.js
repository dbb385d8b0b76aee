import { execFile } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'

/**
 * @param {number} pid
 * @returns {Promise<{ pid: number, role: string }[]>} its running child processes, oldest first
 */
export async function childrenOf (pid) {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=,ppid=,stat=,args='])
  return stdout.split('\n').flatMap((line) => {
    const [own, parent, state, ...args] = line.trim().split(/\s+/)
    if (Number(parent) !== pid || state.startsWith('Z')) return []
    return [{ pid: Number(own), role: path.basename(args.find((arg) => arg.endsWith('.js')) ?? '', '.js') }]
  })
}

/** @param {number} pid @returns {boolean} */
export function isAlive (pid) {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
