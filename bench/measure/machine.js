/**
 * CPU time of the whole machine (Linux; man 5 proc), to show the share of other programs.
 */
import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'

const TICK_MS = 10
/**
 * Fields of the first line of /proc/stat: user, nice, system, irq, softirq, steal. Idle and iowait are not work; guests
 * are included in user.
 */
const WORK = [1, 2, 3, 6, 7, 8]

/** @returns {number} ms of all cores since boot */
export function machineMs () {
  const fields = readFileSync('/proc/stat', 'latin1').split('\n', 1)[0].split(/\s+/)
  return WORK.reduce((sum, field) => sum + Number(fields[field]), 0) * TICK_MS
}

/**
 * @param {number} workedMs CPU time of the whole machine
 * @param {number} ownMs the benchmark's part of it
 * @param {number} wallMs
 * @returns {number} share of the machine used by other programs, 0 to 1
 */
export const othersShare = (workedMs, ownMs, wallMs) =>
  Math.max(0, workedMs - ownMs) / (wallMs * availableParallelism())
