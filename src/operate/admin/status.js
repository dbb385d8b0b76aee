/**
 * The status of one process, over its private listener to the launcher, or on ADMIN_PORT if it runs alone.
 *
 * @typedef {object} ProcessStatus
 * @property {string} name role and number, `gateway-0`
 * @property {string[]} notReady reasons why it is not ready; empty: it is ready
 * @property {string[]} [warnings] problems that need attention although it is ready; absent in earlier versions
 * @property {import('prom-client').MetricObject[]} metrics
 */

/** The reason of a process that is cordoned; balancers may not take it for a failure. */
export const CORDONED = 'cordoned'

/** A check of readiness: why not, or null. @typedef {() => string | null} ReadinessCheck */

/**
 * @param {object} dependencies
 * @param {string} dependencies.name
 * @param {import('../../observe/metrics/metrics.js').Metrics} dependencies.metrics
 */
export function createStatus ({ name, metrics }) {
  /** @type {ReadinessCheck[]} */
  const checks = []
  /** @type {(() => string[])[]} */
  const warnings = []
  let started = false
  let stopping = false
  let cordoned = false
  return {
    /** @param {ReadinessCheck} check */
    addCheck (check) { checks.push(check) },
    /** @param {() => string[]} warn called with each look at the status */
    addWarnings (warn) { warnings.push(warn) },
    started () { started = true },
    stopping () { stopping = true },
    /** @param {boolean} on whether balancers should send no new clients */
    cordon (on) { cordoned = on },
    get cordoned () { return cordoned },
    /** @returns {string[]} */
    notReady () {
      if (stopping) return ['stopping']
      if (!started) return ['starting']
      return [cordoned ? CORDONED : null, ...checks.map((check) => check())].filter((reason) => reason !== null)
    },
    /**
     * @param {readonly string[]} [names] of the metrics that are wanted; default: all
     * @returns {Promise<ProcessStatus>}
     */
    async read (names) {
      return {
        name,
        notReady: this.notReady(),
        warnings: warnings.flatMap((warn) => warn()),
        metrics: await metrics.collect(names)
      }
    }
  }
}
