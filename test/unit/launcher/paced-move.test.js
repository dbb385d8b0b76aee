import assert from 'node:assert/strict'
import { test } from 'node:test'
import { moveClients } from '../../../src/operate/launcher/paced-move.js'

/** Step of the model, ms, and the time until a client that was sent away connects again. */
const STEP = 50
const DELAY = 1000

/**
 * Two workers and their clients: `from` sends clients away at the rate of the last message, `to` accepts at most
 * `capacity` per second.
 * @param {{ clients: number, capacity: number, deaf?: boolean, stopAt?: number, diesAt?: number }} model times in s
 */
async function move ({ clients, capacity, deaf = false, stopAt = Infinity, diesAt = Infinity }) {
  let now = 0
  let rate = 0
  let due = 0
  let room = 0
  /** Times at which clients that were sent away try to connect, ms. @type {number[]} */
  const queue = []
  /** Time from being sent away to the new connection, ms. @type {number[]} */
  const waits = []
  const from = {
    connections: clients, exited: false, ask () {},
    send (/** @type {any} */ message) {
      assert.equal(message.type, 'move')
      assert.ok(message.rate >= 100, `${message.rate}/s`)
      rate = message.rate
    }
  }
  const to = { connections: 7, exited: false, ask () {}, send () {} }

  function step () {
    now += STEP
    from.exited = now >= diesAt * 1000
    for (due += deaf ? 0 : rate * STEP / 1000; due >= 1 && from.connections > 0; due--) {
      from.connections--
      queue.push(now + DELAY)
    }
    room = Math.min(capacity, room + capacity * STEP / 1000)
    for (; room >= 1 && queue[0] <= now; room--) {
      to.connections++
      waits.push(now - /** @type {number} */ (queue.shift()) + DELAY)
    }
  }
  const moved = await moveClients({
    from, to,
    stopped: () => now >= stopAt * 1000,
    clock: { monotonic: () => now, sleep: async (ms) => { for (const end = now + ms; now < end;) step() } }
  })
  return { moved, seconds: now / 1000, left: from.connections, waits: waits.sort((a, b) => a - b) }
}

test('clients leave as fast as they arrive, so that none of them waits long', async () => {
  const { moved, seconds, left, waits } = await move({ clients: 12_500, capacity: 300 })
  assert.ok(left <= 50 && moved >= 12_450, `${left} left, ${moved} moved`)
  assert.ok(seconds < 1.2 * 12_500 / 300, `${seconds} s`)
  assert.ok(waits[waits.length >> 1] < 3500, `median ${waits[waits.length >> 1]} ms`)
  assert.ok(waits[waits.length - 1] < 6000, `longest ${waits[waits.length - 1]} ms`)
})

test('a machine with room takes them quickly: the rate grows as they arrive', async () => {
  const { seconds, left, waits } = await move({ clients: 12_500, capacity: 5000 })
  assert.ok(left <= 50)
  assert.ok(seconds < 22, `${seconds} s`)
  assert.ok(waits[waits.length - 1] < 6000)
})

test('clients that do not come back hold it up for two minutes at most', async () => {
  const { seconds, left } = await move({ clients: 50_000, capacity: 0 })
  assert.ok(left <= 50)
  assert.ok(seconds > 110 && seconds < 140, `${seconds} s`)
})

test('few clients need no pace', async () => {
  assert.deepEqual(await move({ clients: 100, capacity: 300 }), { moved: 0, seconds: 0, left: 100, waits: [] })
})

test('it ends when the launcher stops, when a worker dies, and when no client leaves', async () => {
  assert.equal((await move({ clients: 12_500, capacity: 300, stopAt: 3 })).seconds, 3)
  assert.equal((await move({ clients: 12_500, capacity: 300, diesAt: 4 })).seconds, 4)
  const { moved, seconds } = await move({ clients: 12_500, capacity: 300, deaf: true })
  assert.deepEqual([moved, seconds], [0, 5])
})
