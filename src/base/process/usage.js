import { readFileSync } from 'node:fs'

/**
 * Field 3 of /proc/<pid>/stat, and the fields of CPU time in user and kernel mode:
 * https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
 */
const [STATE, USER, SYSTEM] = [0, 11, 12]
/** Unit of these times, ms: USER_HZ is 100 on every system that Node supports. */
const TICK = 10

/**
 * What the system knows of a process.
 * @typedef {object} Usage
 * @property {string} state `R` running, `S` waiting, `D` waiting for a disk, `T` stopped by a signal; '': unknown
 * @property {number} cpuMs CPU time of all its threads so far
 * @property {number} queuedMs how long its main thread was ready to run so far, while others had the CPUs; 0: unknown
 */

/**
 * @param {number} pid of this machine
 * @returns {Usage}
 */
export function readUsage (pid) {
  const stat = read(`/proc/${pid}/stat`)
  // the name of the program may have spaces and parentheses
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const [, queued] = read(`/proc/${pid}/schedstat`).split(' ')
  return {
    state: fields[STATE],
    cpuMs: ((Number(fields[USER]) || 0) + (Number(fields[SYSTEM]) || 0)) * TICK,
    queuedMs: (Number(queued) || 0) / 1e6
  }
}

/** @param {number} pid @returns {boolean} whether a debugger (gdb, strace) is attached, and may have stopped it */
export const isTraced = (pid) => /^TracerPid:\s*[1-9]/m.test(read(`/proc/${pid}/status`))

/** @param {string} file @returns {string} empty on other systems, and when the process has ended */
function read (file) {
  try {
    return readFileSync(file, 'latin1')
  } catch {
    return ''
  }
}
