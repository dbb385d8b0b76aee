import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { systemClock } from '../../../src/base/common/clock.js'
import { systemRandom } from '../../../src/base/common/random.js'
import { createSessionIds, MAX_WORKERS, timeOfSid, workerOfSid } from '../../../src/wire/session-id.js'

/** @param {number} now */
const stopped = (now) => ({ now: () => now, sleep: async () => {} })

describe('session ids', () => {
  test('are 20 characters that name their worker', () => {
    for (const number of [0, 1, 63, 64, 65, 2049, MAX_WORKERS - 1]) {
      const id = createSessionIds(number, { clock: systemClock, random: systemRandom })()
      assert.match(id, /^[A-Za-z0-9_-]{20}$/)
      assert.notEqual(workerOfSid(id), undefined)
      assert.equal(workerOfSid(id), number)
    }
  })

  test('contain their creation time', () => {
    const now = 1_795_246_843_280
    assert.equal(timeOfSid(createSessionIds(77, { clock: { now: () => now }, random: systemRandom })()), now)
  })

  test('have the layout of the contract: worker, time, sequence, random', () => {
    const next = createSessionIds(64 * 2 + 3, {
      clock: stopped(64 ** 6 + 5),
      random: { bytes: (count) => Buffer.alloc(count, 0b11000001) }
    })
    assert.equal(next(), 'CD' + 'BAAAAAF' + 'AB' + 'BBBBBBBBB')
    assert.equal(next(), 'CD' + 'BAAAAAF' + 'AC' + 'BBBBBBBBB')
  })

  test('put today\'s time into seven characters without loss', () => {
    const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    for (const now of [1_700_000_000_123, Date.UTC(2100, 0)]) {
      const time = createSessionIds(1, { clock: stopped(now), random: systemRandom })().slice(2, 9)
      assert.equal([...time].reduce((sum, digit) => sum * 64 + digits.indexOf(digit), 0), now)
    }
  })

  test('are unique, also beyond what the sequence counts within one millisecond', () => {
    const next = createSessionIds(7, { clock: stopped(1_700_000_000_000), random: systemRandom })
    const ids = new Set(Array.from({ length: 50_000 }, next))
    assert.equal(ids.size, 50_000)
    const other = createSessionIds(7, { clock: stopped(1_700_000_000_000), random: systemRandom })
    for (let i = 0; i < 50_000; i++) assert.ok(!ids.has(other()))
  })

  test('take nine fresh random bytes each', () => {
    let draws = 0
    let byte = 0
    const next = createSessionIds(0, { clock: systemClock, random: { bytes (count) {
      draws++
      return Buffer.from(Array.from({ length: count }, () => Math.floor(byte++ / 9) % 64))
    } } })
    const randoms = Array.from({ length: 64 }, () => next().slice(11))
    assert.ok(draws >= 1)
    assert.equal(new Set(randoms).size, 64, 'no byte is used twice')
    assert.ok(randoms.every((random) => new Set(random).size === 1), 'every byte is used')
  })

  test('use all 64 digits at every random position about equally', () => {
    const next = createSessionIds(0, { clock: systemClock, random: systemRandom })
    const counts = Array.from({ length: 9 }, () => new Map())
    for (let i = 0; i < 20_000; i++) {
      const random = next().slice(11)
      for (let place = 0; place < 9; place++)
        counts[place].set(random[place], (counts[place].get(random[place]) ?? 0) + 1)
    }
    for (const count of counts) {
      assert.equal(count.size, 64)
      // 312.5 expected each, standard deviation 17.5: a deviation of eight times that means a broken generator
      for (const times of count.values()) assert.ok(times > 172 && times < 453, `${times} times`)
    }
  })

  test('invalid ids are recognized', () => {
    for (const wrong of [
      '',
      'abc',
      'A'.repeat(19),
      'A'.repeat(21),
      'A'.repeat(19) + '+',
      'A'.repeat(19) + '\n',
      undefined,
      null,
      20,
      {}
    ]) {
      assert.equal(workerOfSid(/** @type {any} */ (wrong)), undefined)
      assert.equal(workerOfSid(/** @type {any} */ (wrong)), undefined)
    }
  })

  test('worker numbers that do not fit are refused', () => {
    for (const wrong of [-1, 4096, 1.5, NaN, /** @type {any} */ ('1'), /** @type {any} */ (undefined)]) {
      assert.throws(() => createSessionIds(wrong, { clock: systemClock, random: systemRandom }), RangeError)
    }
  })
})
