/**
 * The whole machine (Linux; man 5 proc), to tell how much of it was not ours.
 */
import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'

const TICK_MS = 10
/**
 * Of the first line of /proc/stat: user, nice, system, irq, softirq, steal. Idle, iowait and guests, which count as
 * user, are not work.
 */
const WORK = [1, 2, 3, 6, 7, 8]

/** @returns {number} ms of all cores since the start of the machine */
export function machineMs () {
  const fields = readFileSync('/proc/stat', 'latin1').split('\n', 1)[0].split(/\s+/)
  return WORK.reduce((sum, field) => sum + Number(fields[field]), 0) * TICK_MS
}

/**
 * @param {number} workedMs by the whole machine
 * @param {number} ownMs of it by the benchmark
 * @param {number} wallMs
 * @returns {number} share of the machine, 0 to 1, that something else used
 */
export const othersShare = (workedMs, ownMs, wallMs) =>
  Math.max(0, workedMs - ownMs) / (wallMs * availableParallelism())
