import { throwInkcastError } from '../../redis/errors.js'
import { REPORTS } from '../../redis/keys.js'
import { LIFE } from './contract.js'

/**
 * The reports in Redis: one hash, whose entries end by the server's time.
 *
 * @param {object} dependencies
 * @param {Pick<import('../../redis/client.js').RedisConnection, 'scripts'>} dependencies.redis
 * @param {number} [dependencies.life] ms
 * @returns {import('./contract.js').OverviewStore}
 */
export function createRedisOverview ({ redis: { scripts }, life = LIFE }) {
  const keys = [REPORTS.texts, REPORTS.times]
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
