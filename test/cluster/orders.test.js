import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { openOrderCuts } from '../fault/order-cuts.js'
import { fileScope } from '../helpers/file-scope.js'
import { seededRandom } from '../helpers/random.js'

const scope = fileScope()
const seed = Number(process.env.TEST_SEED ?? Math.floor(Math.random() * 2 ** 32))
/** @type {Awaited<ReturnType<typeof openOrderCuts>>} */
let cuts
before(
  async () => {
    cuts = await openOrderCuts(scope, { by: 'kafka', random: seededRandom(seed) })
  },
  { timeout: 120_000 }
)

// test/fault/orders.test.js does the same a thousand times
test('kicks and revokes reach their users while connections to Redis are cut, and no record after a revoke reaches the revoked user', async () => {
  await cuts.round()
  const { orders, lost, leaked, rejoined, missing } = cuts.sum
  assert.deepEqual(
    { orders, lost, leaked, rejoined, missing },
    { orders: cuts.orders, lost: 0, leaked: 0, rejoined: 0, missing: 0 },
    `seed ${seed}`
  )
})
