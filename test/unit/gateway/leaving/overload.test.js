import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createMemoryMeter, Overload } from '../../../../src/gateway/leaving/overload.js'
import { systemRandom } from '../../../../src/base/common/random.js'
import { manualClock } from '../../../helpers/manual-clock.js'
import { recordingLog } from '../../../helpers/recording-log.js'

const TICK = 500

/** @param {{ enabled?: boolean, clients?: any[] }} [options] */
function setUp ({ enabled = true, clients = [] } = {}) {
  const clock = manualClock()
  const { log, lines } = recordingLog()
  /** @type {number[]} */
  const gauge = []
  let shed = 0
  let used = 0
  const connections = new Set(clients)
  for (const client of clients)
    client.disconnect = (/** @type {string} */ code, /** @type {number} */ retryInMs) => {
      client.ended = { code, retryInMs }
      connections.delete(client)
    }
  const overload = new Overload({
    enabled, clock, log,
    random: systemRandom,
    memory: () => used,
    directory: /** @type {any} */ ({ all: () => [...connections], get size () { return connections.size } }),
    metrics: /** @type {any} */ ({
      overloaded: { set: (/** @type {number} */ value) => gauge.push(value) },
      connections_shed: { inc () { shed++ } }
    })
  })
  overload.start()
  return {
    overload, gauge, lines, clock, connections,
    shed: () => shed,
    /** @param {number} part */
    use (part) { used = part },
    /** @param {number} times @param {number} [lag] ms by which each check is late */
    checks (times, lag = 0) {
      for (let i = 0; i < times; i++) {
        clock.stall(TICK + lag)
        clock.advance(0)
      }
    }
  }
}

/** @param {number} anonymous @param {number} named */
const clientsOf = (anonymous, named) => [
  ...Array.from({ length: named }, () => ({ identity: { anonymous: false }, documentCount: 0 })),
  ...Array.from({ length: anonymous }, (_, i) => ({ identity: { anonymous: true }, documentCount: i % 2 }))
]

test('newcomers are refused while the event loop is late, and welcome after 5 s of calm', () => {
  const { overload, checks, gauge, lines } = setUp()
  checks(5, 900)
  assert.equal(overload.active, false)
  checks(5, 1100)
  assert.equal(overload.active, true)
  assert.match(overload.warnings()[0], /event loop/)
  checks(10)
  assert.equal(overload.active, true, 'not calm for 5 s')
  checks(4)
  assert.equal(overload.active, false)
  assert.deepEqual(gauge, [0, 1, 0])
  assert.equal(lines.filter(({ level }) => level === 'warn').length, 1)
  assert.deepEqual(overload.warnings(), [])
})

test('a single pause of any length is no overload', () => {
  const { overload, checks } = setUp()
  checks(5)
  checks(1, 60_000)
  checks(1)
  checks(1, 30_000)
  checks(5)
  assert.equal(overload.active, false)
})

test('full memory counts as well, until less is used', () => {
  const { overload, checks, use } = setUp()
  use(0.95)
  checks(1)
  assert.equal(overload.active, true)
  assert.match(overload.warnings()[0], /memory/)
  use(0.88)
  checks(20)
  assert.equal(overload.active, true, 'between the two limits nothing changes')
  use(0.5)
  checks(11)
  assert.equal(overload.active, false)
})

test('after 5 s anonymous clients are sent away, 1 % at a time, those without a document first; others stay', () => {
  const { checks, use, connections, shed } = setUp({ clients: clientsOf(100, 100) })
  use(1)
  checks(10)
  assert.equal(shed(), 0)
  checks(1)
  assert.equal(shed(), 2)
  checks(24)
  const anonymous = [...connections].filter(({ identity }) => identity.anonymous)
  assert.ok(anonymous.every(({ documentCount }) => documentCount > 0))
  checks(200)
  assert.equal(connections.size, 100)
  assert.ok([...connections].every(({ identity }) => !identity.anonymous))
})

test('those that are sent away learn why and when to come back, and nobody goes once it is calm', () => {
  const clients = clientsOf(100, 0)
  const { checks, use, shed } = setUp({ clients })
  use(1)
  checks(12)
  const { ended } = clients.find((client) => 'ended' in client) ?? /** @type {any} */ ({})
  assert.equal(ended.code, 'overloaded')
  assert.ok(ended.retryInMs >= 10_000 && ended.retryInMs <= 60_000)
  use(0.88)
  const before = shed()
  checks(20)
  assert.equal(shed(), before)
})

test('nothing is measured where it is off, as in development', () => {
  const { overload, checks, use, clock } = setUp({ enabled: false })
  use(1)
  checks(20, 5000)
  assert.equal(overload.active, false)
  assert.equal(clock.timers, 0)
})

test('the memory of this process is measured', () => {
  const [few, many] = [createMemoryMeter(1)(), createMemoryMeter(1000)()]
  assert.ok(few > 0 && few < 0.9, `${few}`)
  assert.ok(many > few)
})
