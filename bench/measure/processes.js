/**
 * Resource usage of processes, from /proc (Linux; man 5 proc).
 */
import { readdirSync, readFileSync } from 'node:fs'

/** @typedef {{ pid: number, role: string }} ServerProcess */

/**
 * @typedef {object} Usage
 * @property {number} cpuMs user and system time of all threads since the start of the process
 * @property {number} systemMs its system time, in steps of 10 ms
 * @property {number} residentKb
 * @property {number} descriptors open files and sockets
 */

/** A clock tick is 10 ms on every architecture that Node supports (USER_HZ). */
const TICK_MS = 10
const PAGE_KB = 4

/**
 * Fields of /proc/<pid>/stat after the command, which may contain spaces and parentheses.
 * @param {number} pid
 * @returns {string[]} the first one is field 3, the state
 * @throws {Error} when there is no such process
 */
function statFields (pid) {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
}

/** @param {number} pid @returns {Usage} @throws {Error} when there is no such process */
export function usageOf (pid) {
  const fields = statFields(pid)
  return {
    // only the first one includes ended threads; it has steps of 10 ms
    cpuMs: Math.max((Number(fields[11]) + Number(fields[12])) * TICK_MS, threadsMs(pid)),
    systemMs: Number(fields[12]) * TICK_MS,
    residentKb: Number(fields[21]) * PAGE_KB,
    descriptors: readdirSync(`/proc/${pid}/fd`).length
  }
}

/**
 * Run time of the living threads, from the scheduler, in nanoseconds.
 * @param {number} pid
 * @returns {number} ms; 0 on a kernel without this file
 */
function threadsMs (pid) {
  let total = 0
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    try {
      total += Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'latin1').split(' ', 1)[0])
    } catch {
      // the thread has ended, or there is no file
    }
  }
  return total / 1e6
}

/**
 * A process and the Node processes below it.
 * @param {number} root
 * @param {(command: string) => string} roleOf command: its command line
 * @returns {ServerProcess[]} the root first
 */
export function processTree (root, roleOf) {
  /** @type {Map<number, number[]>} */
  const children = new Map()
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    try {
      const parent = Number(statFields(Number(name))[1])
      children.set(parent, [...children.get(parent) ?? [], Number(name)])
    } catch {
      // the process has ended
    }
  }
  const found = [root]
  for (const pid of found) found.push(...children.get(pid) ?? [])
  return found.flatMap((pid) => {
    const [program = '', ...args] = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
    // the guard's watcher is a shell, and not part of the system
    return pid === root || /node$/.test(program) ? [{ pid, role: roleOf(args.join(' ')) }] : []
  })
}

/**
 * @param {ServerProcess[]} processes
 * @returns {(ServerProcess & Usage)[]}
 */
export const sample = (processes) => processes.map((each) => ({ ...each, ...usageOf(each.pid) }))

/**
 * Usage between two samples of the same processes.
 * @param {(ServerProcess & Usage)[]} before
 * @param {(ServerProcess & Usage)[]} after
 * @returns {(ServerProcess & Usage)[]}
 */
export const difference = (before, after) => after.map((end, i) => ({
  pid: end.pid,
  role: end.role,
  cpuMs: end.cpuMs - before[i].cpuMs,
  systemMs: end.systemMs - before[i].systemMs,
  residentKb: end.residentKb - before[i].residentKb,
  descriptors: end.descriptors - before[i].descriptors
}))
