/**
 * Which process a pid means. A pid that was written down yesterday may belong to somebody else today, so it is kept
 * together with the moment at which its process began.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'

/**
 * @typedef {object} ProcessIdentity
 * @property {number} pid
 * @property {string} began when it was started, in the system's own words
 */

/**
 * @param {number} pid
 * @returns {ProcessIdentity | undefined} undefined when there is no such process, or only its remains (a zombie)
 */
export function identify (pid) {
  const began = process.platform === 'linux' ? beganLinux(pid) : beganPs(pid)
  return began === undefined ? undefined : { pid, began }
}

/**
 * @param {ProcessIdentity} identity
 * @returns {boolean} whether this very process still runs
 */
export function isAlive (identity) {
  return identify(identity.pid)?.began === identity.began
}

/**
 * Ends a process that need not be our child: SIGTERM, after the grace period SIGKILL. Does nothing if the pid has gone
 * to another.
 *
 * @param {ProcessIdentity} identity
 * @param {number} [graceMs] default 10,000
 * @returns {Promise<boolean>} false when it did not run any more
 * @throws {Error} when it outlives SIGKILL by 5 s
 */
export async function endProcess (identity, graceMs = 10_000) {
  if (!isAlive(identity)) return false
  const deadline = performance.now() + graceMs
  signal(identity.pid, 'SIGTERM')
  while (isAlive(identity)) {
    const late = performance.now() - deadline
    if (late > 0) signal(identity.pid, 'SIGKILL')
    if (late > 5000) throw new Error(`process ${identity.pid} does not end, not even by SIGKILL`)
    await delay(50)
  }
  return true
}

/** @param {number} pid @param {NodeJS.Signals} name */
function signal (pid, name) {
  try {
    process.kill(pid, name)
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'ESRCH') throw error
  }
}

/**
 * proc(5): after the name, which is in brackets and may hold anything, the state is the first field and the start, in
 * ticks since the machine was booted, the 20th. The boot id tells one boot from the next.
 * @param {number} pid
 */
function beganLinux (pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    if (fields[0] === 'Z' || fields[0] === 'X') return undefined
    return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()} ${fields[19]}`
  } catch {
    return undefined
  }
}

/** @param {number} pid */
function beganPs (pid) {
  try {
    const [state, ...began] = execFileSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], { encoding: 'utf8' })
      .trim()
      .split(/\s+/)
    return state.startsWith('Z') ? undefined : began.join(' ')
  } catch {
    return undefined
  }
}
