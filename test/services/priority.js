import { writeFileSync } from 'node:fs'
import { constants, setPriority } from 'node:os'

const LOWEST = constants.priority.PRIORITY_LOW

/**
 * A process, and what it starts, gets only the CPU time that others leave.
 * @param {number} pid of a process that has just been started in a session of its own
 */
export function giveWay (pid) {
  setPriority(pid, LOWEST)
  setGroupPriority(pid, LOWEST)
}

/**
 * The end of `giveWay`: beside a busy program it would get almost nothing. Without effect where only root may raise
 * priorities, and Linux does not group processes.
 * @param {number} pid
 */
export function takeTurns (pid) {
  setGroupPriority(pid, constants.priority.PRIORITY_NORMAL)
}

/**
 * Where Linux groups processes by their session, a priority counts within its group only.
 * @param {number} pid
 * @param {number} priority
 */
function setGroupPriority (pid, priority) {
  try {
    writeFileSync(`/proc/${pid}/autogroup`, String(priority))
  } catch { /* no such groups, or the process has ended */ }
}
