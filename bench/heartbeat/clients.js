/**
 * Processes with idle clients, seen as one.
 */
import { startChild } from '../../packages/load/child.js'

/** @typedef {import('./client-process.js').Commands} Commands */

const FILE = new URL('client-process.js', import.meta.url)

/** @param {number} size */
export function createIdleClients (size) {
  const children = Array.from({ length: size }, () =>
    /** @type {import('../../packages/load/child.js').Child<Commands>} */ (startChild(FILE)))

  /**
   * @template {keyof Commands} C
   * @param {C} command
   * @param {(i: number) => Parameters<Commands[C]>[0]} [options] for each process
   * @returns {Promise<Awaited<ReturnType<Commands[C]>>[]>}
   */
  const ask = (command, options) => Promise.all(children.map((child, i) => child.call(command, options?.(i))))
  /** @param {number} count @param {number} i */
  const share = (count, i) => Math.floor(count * (i + 1) / size) - Math.floor(count * i / size)

  return {
    /**
     * @param {{ target: import('../client/websocket-client.js').Target, count: number, concurrency: number, documents:
     *   number }} options
     */
    async open ({ target, count, concurrency, documents }) {
      const results = await ask('open', (i) => ({
        target,
        documents,
        first: Math.floor((count * i) / size),
        count: share(count, i),
        concurrency: Math.ceil(concurrency / size)
      }))
      return { ok: results.reduce((sum, { ok }) => sum + ok, 0), failures: results.map(({ failures }) => failures) }
    },

    /** @param {number} count */
    async die (count) { await ask('die', (i) => ({ count: share(count, i) })) },

    /** Counters since the last call. */
    async look () {
      const results = await ask('look')
      const sum = (/** @type {'pings' | 'lost' | 'open' | 'dead'} */ name) =>
        results.reduce((total, result) => total + result[name], 0)
      return {
        pings: sum('pings'), lost: sum('lost'), open: sum('open'), dead: sum('dead'),
        foundAfter: results.flatMap(({ foundAfter }) => foundAfter),
        firstEnd: Math.min(...results.map(({ firstEnd }) => firstEnd || Infinity)),
        lastEnd: Math.max(...results.map(({ lastEnd }) => lastEnd))
      }
    },

    /** @returns {Promise<number>} dead clients that are still connected */
    async waiting () { return (await ask('waiting')).reduce((sum, { dead }) => sum + dead, 0) },

    stop () { for (const { stop } of children) stop() }
  }
}
