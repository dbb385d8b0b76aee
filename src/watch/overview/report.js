import { EVERY } from './contract.js'

/**
 * Writes the report of this process every 5 s.
 *
 * @param {object} dependencies
 * @param {import('./contract.js').OverviewStore} dependencies.store
 * @param {() => Promise<import('./contract.js').ProcessReport>} dependencies.describe
 * @param {import('../../base/common/log.js').Log} dependencies.log
 * @param {import('../../base/common/wait.js').Timers} dependencies.clock
 * @param {Pick<import('../../base/common/random.js').Random, 'bytes'>} dependencies.random
 * @param {number} [dependencies.every] ms
 */
export function createReport ({
  store, describe, log, clock, random, every = EVERY
}) {
  // while one process replaces another, both have the same name
  const id = random.bytes(12).toString('base64url')
  /** @type {import('../../base/common/clock.js').Timer | undefined} */
  let timer
  let stopped = false
  /** @type {Promise<void>} */
  let writing = Promise.resolve()

  function write () {
    writing = describe()
      .then((report) => store.write(id, report))
      // the next one follows
      .catch((error) => log.debug({ err: error }, 'the report for the overview could not be written'))
      .then(() => { if (!stopped) timer = clock.timer(every, write).unref() })
  }

  return {
    start: write,
    async stop () {
      stopped = true
      timer?.stop()
      await writing
      await store.remove(id).catch(() => {}) // it ends by itself
    }
  }
}
