/**
 * A thousand kicks and revokes while the connections of workers, API and ingest to Redis are cut.
 */
import assert from 'node:assert/strict'
import { loadavg } from 'node:os'
import { describe, test } from 'node:test'
import { quantiles } from '../../bench/measure/quantiles.js'
import { fileScope } from '../helpers/file-scope.js'
import { seededRandom } from '../helpers/random.js'
import { openOrderCuts } from './order-cuts.js'
import { saveRow } from './rows.js'
import { say } from './scene.js'

const ORDERS = 504
const seed = Number(process.env.TEST_SEED ?? Math.floor(Math.random() * 2 ** 32))

describe('kicks and revokes', () => {
  const scope = fileScope()
  for (const by of /** @type {const} */ (['kafka', 'http'])) {
    test(`by ${by} while connections to Redis are cut`, { timeout: 900_000 }, async () => {
      const load = loadavg()[0]
      const cuts = await openOrderCuts(scope, {
        by,
        random: seededRandom(seed),
        onRound: ({ orders, lost, leaked }) => say(`${by}: ${orders} orders, ${lost} lost, ${leaked} records leaked`)
      })
      const begin = performance.now()
      const { sum } = cuts
      try {
        while (sum.orders < ORDERS) await cuts.round()
      } finally {
        saveRow({
          fault: `Redis: connections cut during kicks and revokes by ${by}`,
          clients: sum.orders,
          records: sum.orders + sum.records,
          deliveries: sum.orders - sum.lost + sum.deliveries,
          lost: sum.lost + sum.missing,
          disordered: sum.leaked,
          doubled: 0,
          dropped: 0,
          resyncs: 0,
          bridged: 0,
          reconnects: 0,
          lasted: Math.round(performance.now() - begin),
          gaps: quantiles([]),
          normal: null,
          load: [load, loadavg()[0]].map((each) => Math.round(each * 10) / 10),
          refusals: {},
          more: {
            'kicks and revokes, lost of them:': `${sum.orders}, ${sum.lost}`,
            'records after a revoke, delivered to the revoked user:': `${sum.records}, ${sum.leaked}`,
            'revoked users that rejoined with the same token:': sum.rejoined,
            'connections to Redis closed:': sum.cuts,
            'retries by publishers:': sum.tries,
            'seed:': seed
          }
        })
      }
      assert.deepEqual([sum.lost, sum.leaked, sum.rejoined, sum.missing], [0, 0, 0, 0], `seed ${seed}`)
    })
  }
})
