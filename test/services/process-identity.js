/**
 * Identity of a process behind a stored pid. The system reuses pids, so a pid is stored together with the start time of
 * its process.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'

/**
 * @typedef {object} ProcessIdentity
 * @property {number} pid
 * @property {string} began start time, in a format of the system
 */

/**
 * @param {number} pid
 * @returns {ProcessIdentity | undefined} undefined when there is no process with this pid, or only a zombie
 */
export function identify (pid) {
  const began = process.platform === 'linux' ? beganLinux(pid) : beganPs(pid)
  return began === undefined ? undefined : { pid, began }
}

/**
 * @param {ProcessIdentity} identity
 * @returns {boolean} whether exactly this process still runs
 */
export function isAlive (identity) {
  return identify(identity.pid)?.began === identity.began
}

/**
 * Ends a process that need not be a child: SIGTERM, after the grace period SIGKILL. Does nothing if the pid belongs to
 * another process.
 *
 * @param {ProcessIdentity} identity
 * @param {number} [graceMs] default 10,000
 * @returns {Promise<boolean>} false when the process was not running
 * @throws {Error} when it survives SIGKILL for 5 s
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
 * proc(5): after the name, which is in brackets and may contain anything, the first field is the state and the 20th the
 * start time, in ticks since boot. The boot id distinguishes one boot from the next.
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
