import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTakenNumbers } from '../../../src/people/workers/taken-numbers.js'
import { MAX_WORKERS } from '../../../src/wire/session-id.js'
import { manualClock } from '../../helpers/manual-clock.js'
import { createKeys } from '../../../src/redis/keys.js'

test('invented numbers of clients cost one Redis request per 0.1 s, after which a new worker is found', async () => {
  const clock = manualClock()
  let numbers = ['7', '1023']
  let asked = 0
  const taken = createTakenNumbers({
    clock,
    redis: {
      keys: createKeys(),
      scripts: {
        numbers: async () => {
          asked++
          return numbers
        }
      }
    }
  })
  const all = Array.from({ length: MAX_WORKERS }, (_, number) => number)
  const found = async () =>
    (await Promise.all(all.map(async (number) => ((await taken.has(number)) ? number : -1)))).filter(
      (number) => number >= 0
    )
  assert.deepEqual([await found(), asked], [[7, 1023], 1])
  numbers = ['8']
  assert.deepEqual([await found(), asked], [[7, 1023], 1])
  clock.advance(100)
  assert.deepEqual([await found(), asked], [[8], 2])
})

test('while Redis is unavailable all requests fail, and later ones try again', async () => {
  const clock = manualClock()
  let away = true
  const taken = createTakenNumbers({
    clock,
    redis: {
      keys: createKeys(),
      scripts: {
        numbers: async () => {
          if (away) throw new Error('away')
          return ['1']
        }
      }
    }
  })
  for (let i = 0; i < 3; i++) await assert.rejects(taken.has(1), /away/)
  away = false
  clock.advance(100)
  assert.equal(await taken.has(1), true)
})
