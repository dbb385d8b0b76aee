/**
 * What one process tells about itself: over its private listener to the launcher, and on ADMIN_PORT where it runs
 * alone.
 *
 * @typedef {object} ProcessStatus
 * @property {string} name role and slot, `gateway-0`
 * @property {string[]} notReady why it does not serve; empty: it does
 * @property {import('prom-client').MetricObject[]} metrics
 */

/** A check of readiness: why not, or null. @typedef {() => string | null} ReadinessCheck */

/**
 * @param {object} dependencies
 * @param {string} dependencies.name
 * @param {import('../metrics.js').Metrics} dependencies.metrics
 */
export function createStatus ({ name, metrics }) {
  /** @type {ReadinessCheck[]} */
  const checks = []
  let started = false
  let stopping = false
  return {
    /** @param {ReadinessCheck} check */
    addCheck (check) { checks.push(check) },
    started () { started = true },
    stopping () { stopping = true },
    /** @returns {string[]} */
    notReady () {
      if (stopping) return ['stopping']
      if (!started) return ['starting']
      return checks.map((check) => check()).filter((reason) => reason !== null)
    },
    /** @returns {Promise<ProcessStatus>} */
    async read () {
      return { name, notReady: this.notReady(), metrics: await metrics.collect() }
    }
  }
}
