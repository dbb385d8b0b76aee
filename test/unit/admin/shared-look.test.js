import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSharedLook } from '../../../src/operate/admin/shared-look.js'
import { manualClock } from '../../helpers/manual-clock.js'
import { settle } from '../../helpers/scripted-socket.js'

function scene () {
  const clock = manualClock()
  /** @type {{ resolve: (value: number) => void, reject: (error: Error) => void }[]} */
  const looks = []
  const ask = createSharedLook(() => new Promise((resolve, reject) => { looks.push({ resolve, reject }) }), { clock })
  return {
    looks,
    ask,
    /** @param {number} ms */
    async pass (ms) {
      clock.advance(ms)
      await settle()
    }
  }
}

test('concurrent requests share one look, and requests during it share the next one', async () => {
  const { looks, ask, pass } = scene()
  const first = Promise.all(Array.from({ length: 100 }, ask))
  await settle()
  const second = Promise.all(Array.from({ length: 100 }, ask))
  await pass(10)
  assert.equal(looks.length, 1)
  looks[0].resolve(1)
  assert.deepEqual(new Set(await first), new Set([1]))
  await pass(40)
  assert.equal(looks.length, 2)
  looks[1].resolve(2)
  assert.deepEqual(new Set(await second), new Set([2]), 'a response is never older than its request')
})

test('looks take a fifth of the time at most, for any number of requests', async () => {
  const { looks, ask, pass } = scene()
  let passed = 0
  for (let i = 0; i < 20; i++) {
    ask().catch(() => {})
    for (; looks.length === i; passed++) await pass(1)
    for (let ms = 0; ms < 10; ms++, passed++) await pass(1)
    looks[i].resolve(i)
  }
  assert.ok(passed >= 900, `20 looks of 10 ms in ${passed} ms`)
})

test('a failing look fails its own requests only', async () => {
  const { looks, ask, pass } = scene()
  const failing = assert.rejects(ask(), /x/)
  await pass(1)
  looks[0].reject(new Error('x'))
  await failing
  const again = ask()
  await pass(4)
  looks[1].resolve(2)
  assert.equal(await again, 2)
})

test('a look that had to wait for a process that does not answer delays the next one by 2 s at most', async () => {
  const { looks, ask, pass } = scene()
  const first = ask()
  await settle()
  await pass(30_000)
  looks[0].resolve(1)
  await first
  await settle()
  ask()
  await pass(1990)
  assert.equal(looks.length, 1)
  await pass(20)
  assert.equal(looks.length, 2)
})
