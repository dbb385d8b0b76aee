import { History } from './history.js'
import { noValues, readingOf } from './reading.js'
import { carriedOver, sampleBetween } from './sample.js'

/**
 * The figures of one machine over the last hour, and of each of its processes now. The process that serves ADMIN_PORT
 * keeps them: a sample every 15 s, and every 5 s while a page is open.
 *
 * @typedef {import('./reading.js').Reading} Reading
 * @typedef {import('./reading.js').Values} Values
 *
 * @typedef {import('./history.js').Sample} Sample
 *
 * @typedef {object} ProcessRow
 * @property {string} name
 * @property {string[]} notReady reasons
 * @property {number} startedAt ms since 1970, 0 if unknown
 * @property {number} seconds since its answer before; 0: there is none, or it did not answer
 * @property {Values} values as in a sample, of these seconds
 */

const EVERY = 5000
const EVERY_UNSEEN = 15_000
/** A page that has asked within this time is open, ms. */
const SEEN = 20_000
const HOUR = 3_600_000
/** Samples kept: an hour of those with an open page. */
const KEPT = HOUR / EVERY

/**
 * @param {object} dependencies
 * @param {Pick<ReturnType<typeof import('../processes.js').createProcesses>, 'read'>} dependencies.processes
 * @param {Pick<import('../../../base/common/clock.js').Clock, 'now' | 'monotonic' | 'timer'>} dependencies.clock
 * @param {import('../../../base/common/log.js').Log} dependencies.log
 */
export function createSamples ({ processes: all, clock, log }) {
  const history = new History(KEPT)
  /** @type {Reading | undefined} */
  let last
  /** @type {import('../processes.js').Overview} */
  let overview = { processes: [], reasons: [] }
  /** @type {ProcessRow[]} */
  let rows = []
  /** @type {Promise<void> | undefined} */
  let taking
  let seenAt = -Infinity
  /** @type {import('../../../base/common/clock.js').Timer | undefined} */
  let timer

  async function take () {
    const read = await all.read('figures')
    const reading = carriedOver(last, readingOf(read.processes, clock.monotonic()))
    const { sample, processes } = sampleBetween(last, reading)
    overview = read
    rows = read.processes.map(({ name, notReady }) => ({
      name,
      notReady,
      startedAt: reading.processes.get(name)?.startedAt ?? 0,
      ...processes.get(name) ?? { seconds: 0, values: noValues() }
    }))
    const ready = read.processes.filter(({ notReady }) => notReady.length === 0).length
    history.push({ ...sample, at: clock.now(), ready })
    last = reading
  }

  /** @returns {Promise<void>} shared by all callers while it runs */
  function takeOnce () {
    return taking ??= take()
      .catch((error) => log.debug({ err: error }, 'no sample of the figures could be taken'))
      .finally(() => { taking = undefined })
  }

  function plan () {
    const every = clock.monotonic() - seenAt < SEEN ? EVERY : EVERY_UNSEEN
    timer = clock.timer(every, () => takeOnce().then(() => { if (timer !== undefined) plan() })).unref()
  }

  return {
    start () { plan() },
    stop () {
      timer?.stop()
      timer = undefined
    },

    /**
     * @param {number} after samples later than this, ms since 1970
     * @returns {Promise<{ overview: import('../processes.js').Overview, rows: ProcessRow[], partitions:
     *   import('./reading.js').Partition[], listeners: Record<string, number>, samples: Sample[] }>} with a sample of
     *   the last 5 s; listeners: connections by the name of their listener
     */
    async read (after) {
      const wasUnseen = clock.monotonic() - seenAt >= SEEN
      seenAt = clock.monotonic()
      if (last === undefined || seenAt - last.at >= EVERY) await takeOnce()
      // the next one is planned for later than a page expects
      if (wasUnseen && timer !== undefined) {
        timer.stop()
        plan()
      }
      return {
        overview,
        rows,
        partitions: [...last?.partitions.values() ?? []].sort((a, b) => Number(a.partition) - Number(b.partition)),
        listeners: Object.fromEntries(last?.listeners ?? []),
        samples: history.after(Math.max(after, clock.now() - HOUR - 1))
      }
    }
  }
}
