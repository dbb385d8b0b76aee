import { throwInkcastError } from '../../redis/errors.js'
import { LIFE } from './contract.js'

/**
 * The reports in Redis: one hash, whose entries end by the server's time.
 *
 * @param {object} dependencies
 * @param {Pick<import('../../redis/client.js').RedisConnection, 'scripts' | 'keys'>} dependencies.redis
 * @param {number} [dependencies.life] ms
 * @returns {import('./contract.js').OverviewStore}
 */
export function createRedisOverview ({ redis: { scripts, keys: { reports } }, life = LIFE }) {
  const keys = [reports.texts, reports.times]
  return {
    async write (id, report) {
      await scripts.report(keys, [life, id, JSON.stringify(report)]).catch(throwInkcastError)
    },
    async remove (id) {
      await scripts.report(keys, [life, id, '']).catch(throwInkcastError)
    },
    async read () {
      const texts = await scripts.report(keys, [life]).catch(throwInkcastError)
      return texts.map((text) => JSON.parse(text))
    }
  }
}
