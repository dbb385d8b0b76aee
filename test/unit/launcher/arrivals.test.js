import assert from 'node:assert/strict'
import { test } from 'node:test'
import { untilArrived } from '../../../src/launcher/arrivals.js'

/**
 * @param {(second: number) => number | undefined} connections
 * @param {number} [stopAt] s
 * @returns {Promise<number>} seconds until the next worker is replaced
 */
async function waited (connections, stopAt = Infinity) {
  let now = 0
  await untilArrived(1000, () => connections(now / 1000), () => now / 1000 >= stopAt, {
    monotonic: () => now,
    sleep: async (ms) => { now += ms }
  })
  return now / 1000
}

test('the next worker waits until most of the moved clients have arrived', async () => {
  assert.equal(await waited((second) => 600 + 50 * second), 7)
  assert.equal(await waited(() => 950), 0)
})

test('it does not wait for clients that have gone elsewhere', async () => {
  assert.equal(await waited((second) => Math.min(400, 300 + 50 * second)), 3)
  assert.equal(await waited((second) => 100 + 9 * second), 1)
})

test('it waits a minute at most, not for a worker that does not say how many it has, and not in a stop', async () => {
  assert.equal(await waited((second) => 10 * second), 60)
  assert.equal(await waited(() => undefined), 0)
  assert.equal(await waited((second) => 50 * second, 4), 4)
})
