import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemRandom } from '../../../../src/base/common/random.js'
import { Moves, readMove } from '../../../../src/gateway/leaving/moves.js'
import { manualClock } from '../../../helpers/manual-clock.js'

/** @param {number} size */
function setUp (size) {
  const clock = manualClock()
  /** @type {Map<string, any>} */
  const connections = new Map()
  /** @type {string[]} */
  const gone = []
  for (let i = 0; i < size; i++) {
    const id = String(i)
    let told = false
    connections.set(id, {
      id,
      tellDraining () { told = true },
      goAway () {
        assert.ok(told, 'it gets the message first')
        connections.delete(id)
        gone.push(id)
      }
    })
  }
  const directory = /** @type {any} */ ({
    get size () { return connections.size },
    all: () => connections.values(),
    connection: (/** @type {string} */ id) => connections.get(id)
  })
  let counted = 0
  const metrics = /** @type {any} */ ({ connections_moved: { inc () { counted++ } } })
  const moves = new Moves({ directory, metrics, clock, random: systemRandom })
  return {
    moves, connections, gone, clock,
    counted: () => counted,
    /** @param {number} ms */
    pass (ms) { clock.advance(ms) }
  }
}

test('the share moves at the rate, each once, and the others stay', () => {
  const { moves, gone, connections, pass, counted, clock } = setUp(100)
  assert.equal(moves.begin({ share: 0.3, rate: 10 }), 30)
  pass(1000)
  assert.equal(gone.length, 10)
  assert.equal(moves.left, 20)
  pass(5000)
  assert.equal(new Set(gone).size, 30)
  assert.equal(connections.size, 70)
  assert.equal(counted(), 30)
  assert.equal(clock.timers, 0)
})

test('a rate below one per second is kept', () => {
  const { moves, gone, pass } = setUp(4)
  moves.begin({ share: 1, rate: 0.5 })
  pass(1950)
  assert.equal(gone.length, 0)
  pass(2100)
  assert.equal(gone.length, 2)
})

test('clients that have gone by themselves are left out, and a new move replaces the one in progress', () => {
  const { moves, gone, connections, pass } = setUp(10)
  moves.begin({ share: 1, rate: 1 })
  pass(1000)
  assert.equal(gone.length, 1)
  for (const id of [...connections.keys()].slice(0, 4)) connections.delete(id)
  assert.equal(moves.begin({ share: 1, rate: 100 }), 5)
  const [left] = connections.keys()
  connections.delete(left)
  pass(1000)
  assert.equal(gone.length, 5)
})

test('a move that is stopped moves nobody any more', () => {
  const { moves, gone, pass, clock } = setUp(10)
  moves.begin({ share: 1, rate: 10 })
  pass(200)
  moves.stop()
  pass(2000)
  assert.equal(gone.length, 2)
  assert.equal(moves.left, 0)
  assert.equal(clock.timers, 0)
})

test('those that move are chosen at random', () => {
  const { moves, gone, pass } = setUp(1000)
  moves.begin({ share: 0.5, rate: 10_000 })
  pass(1000)
  const early = gone.filter((id) => Number(id) < 500).length
  assert.ok(early > 150 && early < 350, `${early} of the first 500`)
})

test('a move without a share or rate is refused', () => {
  const wrong = [
    {}, { share: 0, rate: 1 }, { share: 1.1, rate: 1 }, { share: '1', rate: 1 }, { share: 1, rate: 0 }, { share: 1 }
  ]
  for (const body of wrong) assert.throws(() => readMove(body), { code: 'bad_request' })
  assert.deepEqual(readMove({ share: 1, rate: 5 }), { share: 1, rate: 5 })
})

test('all connections move at a rate that can be changed, and those that came meanwhile follow', () => {
  const { moves, gone, connections, pass, clock } = setUp(100)
  moves.all(10)
  pass(1000)
  assert.equal(gone.length, 10)
  moves.all(40)
  pass(1000)
  assert.equal(gone.length, 50)
  pass(2000)
  assert.equal(new Set(gone).size, 100)
  assert.equal(clock.timers, 0)
  connections.set('late', { id: 'late', tellDraining () {}, goAway: () => { connections.delete('late') } })
  moves.all(40)
  pass(100)
  assert.equal(connections.size, 0)
})

test('all connections move although a part of them was moving', () => {
  const { moves, gone, pass } = setUp(100)
  moves.begin({ share: 0.1, rate: 1 })
  moves.all(100)
  pass(2000)
  assert.equal(gone.length, 100)
})
