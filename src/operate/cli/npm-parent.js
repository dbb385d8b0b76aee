import { readFileSync } from 'node:fs'
import { launcherContext } from '../../config/load.js'

/**
 * Ends a process that npm has started when npm ends. npm passes SIGTERM to the shell of the script only, and the shell
 * does not pass it on: a supervisor, a container or a script that stops `npm start` would leave the process and its
 * ports behind.
 */

/** Time between two looks, ms. */
const EVERY = 1000

/**
 * Sends SIGTERM to this process, so that it stops in order, if npm started it and ends.
 * @param {Pick<import('../../base/common/clock.js').Clock, 'every'>} clock
 */
export function endWithNpm (clock) {
  if (launcherContext().script === undefined) return
  const parents = parentsUpToNpm()
  const timer = clock.every(EVERY, () => {
    if (parentsUpToNpm().join() === parents.join()) return
    timer.stop()
    process.kill(process.pid, 'SIGTERM')
  }).unref()
}

/** @returns {number[]} the shell of the script, if there is one, and npm; without /proc only the first of them */
function parentsUpToNpm () {
  try {
    const isShell = /^[^\0]*sh\0-c\0/.test(readFileSync(`/proc/${process.ppid}/cmdline`, 'utf8'))
    return isShell ? [process.ppid, parentOf(process.ppid)] : [process.ppid]
  } catch {
    return [process.ppid]
  }
}

/** @param {number} pid @returns {number} proc(5): it follows the state, and the name before may have brackets */
const parentOf = (pid) => Number(readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ')[1])
