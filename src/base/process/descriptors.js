import { readFileSync } from 'node:fs'

/** Default of most systems, used if the limit is unknown. */
const USUAL = 1024
/** Descriptors reserved for listeners, Redis, Kafka, api, admin and files, plus this share of all. */
const RESERVE = 64
const RESERVED_SHARE = 0.05
/** Of each port besides PORT, in each worker: its listening sockets (gateway/public-port.js), and two as a stand-in. */
const PER_PORT = 10

/**
 * Exported for tests: its value is that at the start of the process.
 * @returns {number} descriptors that this process may have open (`ulimit -n`)
 */
export function descriptorLimit () {
  try {
    const [, soft] = /^Max open files\s+(\S+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    return soft === 'unlimited' ? Infinity : Number(soft ?? USUAL)
  } catch {
    // Linux only
    const limits = /** @type {any} */ (process.report.getReport()).userLimits
    return Number(limits?.open_files?.soft) || USUAL
  }
}

/**
 * @param {number} ports at which a worker listens besides PORT
 * @returns {number} descriptors without theirs
 */
export const descriptorsBeside = (ports) => descriptorLimit() - PER_PORT * ports

/**
 * @param {number} descriptors
 * @returns {number} connections that a process can accept and still have the reserved descriptors
 */
export const connectionsFor = (descriptors) =>
  Math.min(10_000_000, Math.max(1, Math.floor(descriptors * (1 - RESERVED_SHARE)) - RESERVE))
