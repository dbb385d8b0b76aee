import assert from 'node:assert/strict'
import { test } from 'node:test'
import { IdleCheck } from '../../../src/base/common/idle-check.js'
import { manualClock } from '../../helpers/manual-clock.js'

test('while the comparison of some items fails and is wanted again at once, all others are compared as well', async () => {
  const clock = manualClock()
  const items = new Map(Array.from({ length: 1500 }, (_, i) => [String(i), i]))
  /** @type {Set<number>} */
  const compared = new Set()
  const stopping = new AbortController()
  const check = new IdleCheck({
    items, cycle: 15_000, tick: 250, clock,
    isIdle: () => true,
    async compare (idle) {
      if (idle.some((item) => item < 500)) check.hurry()
      else for (const item of idle) compared.add(item)
      return []
    }
  })
  check.hurry()
  const end = assert.rejects(check.run(stopping.signal))
  await clock.pass(2000)
  assert.equal(compared.size, 1000)
  stopping.abort()
  await end
})
