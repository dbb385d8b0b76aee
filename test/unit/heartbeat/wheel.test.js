import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { seededRandom } from '../../helpers/random.js'
import { WheelEntry, TICK, TimingWheel } from '../../../src/transport/heartbeat/wheel.js'

class Named extends WheelEntry {
  /** @param {string} name */
  constructor (name) {
    super()
    this.name = name
  }
}

/** @param {TimingWheel<Named>} wheel */
function takeAll (wheel) {
  const names = []
  for (let entry; (entry = wheel.take()) !== undefined;) names.push(entry.name)
  return names
}

describe('the timing wheel', () => {
  test('returns due entries only, in order', () => {
    /** @type {TimingWheel<Named>} */
    const wheel = new TimingWheel(10_000, 0)
    for (const [name, at] of /** @type {[string, number][]} */ ([
      ['c', 3 * TICK],
      ['a', TICK + 1],
      ['b', 2 * TICK],
      ['d', 40 * TICK]
    ]))
      wheel.put(new Named(name), at)
    assert.equal(wheel.advance(2 * TICK - 1), false)
    assert.equal(wheel.advance(2 * TICK), true)
    assert.deepEqual(takeAll(wheel), ['a', 'b'])
    assert.equal(wheel.advance(40 * TICK - 1), true)
    assert.deepEqual(takeAll(wheel), ['c'])
    assert.equal(wheel.advance(40 * TICK), true)
    assert.deepEqual(takeAll(wheel), ['d'])
    assert.equal(wheel.advance(100_000), false)
  })

  test('keeps due entries that were not taken ahead of later ones', () => {
    /** @type {TimingWheel<Named>} */
    const wheel = new TimingWheel(1000, 0)
    for (const name of ['a', 'b', 'c']) wheel.put(new Named(name), TICK)
    wheel.put(new Named('d'), 2 * TICK)
    wheel.advance(TICK)
    assert.equal(wheel.take()?.name, 'a')
    wheel.advance(2 * TICK)
    assert.deepEqual(takeAll(wheel), ['b', 'c', 'd'])
  })

  test('drops removed entries, due or not, and has moved ones at their new time only', () => {
    /** @type {TimingWheel<Named>} */
    const wheel = new TimingWheel(1000, 0)
    const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((name) => new Named(name))
    for (const entry of [a, b, c, d]) wheel.put(entry, TICK)
    wheel.remove(a)
    wheel.put(b, 3 * TICK)
    wheel.advance(TICK)
    wheel.remove(c)
    wheel.remove(c)
    assert.deepEqual(takeAll(wheel), ['d'])
    wheel.remove(d)
    assert.equal(wheel.size, 1)
    wheel.advance(3 * TICK)
    assert.deepEqual(takeAll(wheel), ['b'])
    assert.equal(wheel.size, 0)
    assert.equal(wheel.advance(5000), false)
  })

  test('loses no entry when it is blocked for longer than its horizon', () => {
    /** @type {TimingWheel<Named>} */
    const wheel = new TimingWheel(10 * TICK, 0)
    for (let i = 1; i <= 10; i++) wheel.put(new Named(String(i)), i * TICK)
    wheel.advance(1_000_000)
    assert.deepEqual(takeAll(wheel).sort(), ['1', '10', '2', '3', '4', '5', '6', '7', '8', '9'])
    wheel.put(new Named('next'), 1_000_000)
    wheel.advance(1_000_000 + TICK)
    assert.deepEqual(takeAll(wheel), ['next'])
  })

  test('agrees with a sorted list, for random operations', () => {
    for (let seed = 1; seed <= 50; seed++) {
      const random = seededRandom(seed)
      let now = Math.floor(random() * 1e6)
      /** @type {TimingWheel<Named>} */
      const wheel = new TimingWheel(5000, now)
      const entries = Array.from({ length: 50 }, (_, i) => new Named(String(i)))
      /** @type {Map<Named, number>} */
      const expected = new Map()
      for (let step = 0; step < 400; step++) {
        const entry = entries[Math.floor(random() * entries.length)]
        const what = random()
        if (what < 0.6) {
          const at = now + Math.floor(random() * 5000)
          wheel.put(entry, at)
          expected.set(entry, at)
        } else if (what < 0.7) {
          wheel.remove(entry)
          expected.delete(entry)
        } else {
          now += Math.floor(random() * 3 * TICK)
          wheel.advance(now)
          for (let due; (due = wheel.take()) !== undefined;) {
            assert.ok(/** @type {number} */ (expected.get(due)) <= now, `seed ${seed}: ${due.name} came early`)
            expected.delete(due)
          }
          for (const [late, at] of expected) assert.ok(at > now - TICK, `seed ${seed}: ${late.name} did not come`)
        }
      }
    }
  })
})
