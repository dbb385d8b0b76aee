import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Heap } from '../../../simulation/world/heap.js'
import { SeededRandom } from '../../../simulation/world/random.js'

const nothing = () => {}
/** Values of the seed 4711. */
const WORDS = [3916400512, 3248502150, 531472661]
const UUID = '2e28ad0f-0bd6-4930-9d22-93cbfe5414d8'
const BYTES = 'b9ea099a6b'

describe('the events of a world', () => {
  test('come by their time, and among those of one time by their number', () => {
    for (let seed = 1; seed <= 50; seed++) {
      const random = new SeededRandom(seed)
      const heap = new Heap()
      /** @type {import('../../../simulation/world/heap.js').Event[]} */
      const left = []
      let number = 0
      for (let step = 0; step < 400; step++) {
        if (random.chance(0.6)) {
          const event = {
            at: random.whole(0, 20), number: number++, owner: null, kind: '', run: nothing, canceled: false, lost: undefined
          }
          left.push(event)
          heap.push(event)
        } else {
          left.sort((a, b) => a.at - b.at || a.number - b.number)
          assert.equal(heap.peek(), left[0])
          assert.equal(heap.pop(), left.shift())
        }
        assert.equal(heap.size, left.length)
      }
    }
  })

  test('do not stay in memory until their time if they are canceled, and the others keep their order', () => {
    const random = new SeededRandom(7)
    const heap = new Heap()
    const kept = []
    for (let number = 0; number < 10_000; number++) {
      const event = {
        at: random.whole(0, 500), number, owner: null, kind: '', run: nothing, canceled: false, lost: undefined
      }
      heap.push(event)
      if (random.chance(0.95)) event.canceled = true
      else kept.push(event)
    }
    assert.ok(heap.size < 3 * kept.length, `${heap.size} of ${kept.length}`)
    kept.sort((a, b) => a.at - b.at || a.number - b.number)
    const popped = []
    for (let event; (event = heap.pop()) !== undefined;) if (!event.canceled) popped.push(event)
    assert.deepEqual(popped, kept)
  })
})

describe('random values of a seed', () => {
  test('are the same ones on each version of Node', () => {
    const random = new SeededRandom(4711)
    assert.deepEqual([random.word(), random.word(), random.word()], WORDS)
    assert.equal(random.uuid(), UUID)
    assert.equal(random.bytes(5).toString('hex'), BYTES)
  })

  test('are within their bounds, spread, and other ones for each seed and fork', () => {
    const random = new SeededRandom(1)
    const counts = Array.from({ length: 6 }, () => 0)
    for (let i = 0; i < 6000; i++) {
      counts[random.whole(0, 5)]++
      const number = random.number()
      assert.ok(number >= 0 && number < 1)
      assert.ok(random.duration(10) > 0)
    }
    assert.ok(counts.every((count) => count > 800 && count < 1200), `${counts}`)
    const firsts = new Set()
    for (let seed = 0; seed < 1000; seed++) {
      const one = new SeededRandom(seed)
      firsts.add(one.fork().word()).add(one.word())
    }
    assert.equal(firsts.size, 2000)
  })

  test('of a fork do not depend on how many the first source draws later', () => {
    const [one, two] = [new SeededRandom(9), new SeededRandom(9)]
    const [a, b] = [one.fork(), two.fork()]
    for (let i = 0; i < 100; i++) one.word()
    assert.deepEqual(a.bytes(32), b.bytes(32))
  })

  test('fill arrays of each length, and only these', () => {
    for (let length = 0; length < 9; length++) {
      const bytes = Buffer.alloc(length + 2)
      new SeededRandom(3).fill(bytes.subarray(1, length + 1))
      assert.deepEqual([bytes[0], bytes[length + 1]], [0, 0])
      if (length >= 4) assert.notDeepEqual(bytes.subarray(1, length + 1), Buffer.alloc(length))
    }
  })
})
