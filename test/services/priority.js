import { writeFileSync } from 'node:fs'
import { constants, setPriority } from 'node:os'

const LOWEST = constants.priority.PRIORITY_LOW

/**
 * A process, and what it starts, gets only the CPU time that others leave.
 * @param {number} pid of a process that has just been started in a session of its own
 */
export function giveWay (pid) {
  setPriority(pid, LOWEST)
  try {
    // where Linux groups processes by their session, a priority counts within its group only
    writeFileSync(`/proc/${pid}/autogroup`, String(LOWEST))
  } catch { /* no such groups */ }
}
