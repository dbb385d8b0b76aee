import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { TICK } from '../../../src/transport/heartbeat/wheel.js'
import { onLossyNetwork } from './lossy-network.js'
import { simulate } from './simulation.js'

/** @param {number[]} times @param {number} from @returns {number[]} ms between consecutive times */
const gaps = (times, from) => times.map((time, i) => time - (i === 0 ? from : times[i - 1]))
/** @param {number} ms @returns {number} rounded to a tick of the wheel */
const about = (ms) => Math.round(ms / TICK) * TICK

describe('the heartbeat', () => {
  test('starts at the shortest interval and grows by a step after every two answers, up to the longest', () => {
    const simulation = simulate({ min: 5000, max: 60_000 })
    simulation.onPing((conn) => simulation.hear(conn))
    const begin = simulation.now
    const conn = simulation.connect()
    simulation.pass(600_000)
    const intervals = gaps(conn.pings, begin)
    for (const [i, expected] of [5000, 5000, 23_333, 23_333, 41_667, 41_667, 59_300, 59_300, 59_300].entries()) {
      assert.ok(Math.abs(intervals[i] - expected) <= TICK, `interval ${i}: ${intervals[i]}`)
    }
  })

  test('probes every second directly after a late answer, and starts again when two probes were answered', async () => {
    const simulation = simulate()
    let delay = 0
    simulation.onPing((conn) => { if (delay === 0) simulation.hear(conn) })
    const conn = simulation.connect()
    simulation.pass(300_000)
    delay = 6000
    while (conn.pings.at(-1) !== simulation.now) simulation.pass(TICK)
    const before = conn.pings.length
    simulation.pass(delay)
    assert.equal(conn.pings.length, before)
    simulation.hear(conn)
    delay = 0
    const answered = simulation.now
    simulation.pass(20_000)
    assert.deepEqual(gaps(conn.pings.slice(before), answered).map(about), [1000, 1000, 5000, 5000])
    assert.equal(await simulation.count('late_heartbeats'), 1)
  })

  test('tolerates any number of late answers: connections that answer in time are not closed', () => {
    const simulation = simulate()
    const conn = simulation.connect()
    for (let i = 0; i < 20; i++) {
      const { length } = conn.pings
      while (conn.pings.length === length) simulation.pass(TICK)
      simulation.pass(19_000)
      simulation.hear(conn)
    }
    assert.deepEqual(simulation.expired, [])
  })

  test('does not ping a busy connection before the advertised interval requires it', () => {
    const simulation = simulate()
    simulation.onPing((conn) => simulation.hear(conn))
    const conn = simulation.connect()
    const begin = simulation.now
    for (let i = 0; i < 100; i++) {
      simulation.pass(1000)
      simulation.hear(conn, 'message')
    }
    assert.deepEqual(gaps(conn.pings, begin).map(about), [24_400, 24_400, 24_400, 24_400])
  })

  test('counts any packet as an answer', () => {
    const simulation = simulate()
    simulation.onPing((conn) => simulation.hear(conn, 'message'))
    const conn = simulation.connect()
    simulation.pass(300_000)
    assert.equal(conn.expiredAt, undefined)
    assert.equal(about(gaps(conn.pings, 0).at(-1) ?? 0), 24_400)
  })

  test('closes connections without an answer, no sooner than the timeout after the ping', async () => {
    const simulation = simulate()
    const conn = simulation.connect()
    simulation.pass(60_000)
    assert.equal(conn.pings.length, 1, 'without a second ping')
    assert.ok(
      conn.expiredAt !== undefined &&
      conn.expiredAt - conn.pings[0] >= 20_000 &&
      conn.expiredAt - conn.pings[0] <= 20_000 + TICK
    )
    assert.equal(await simulation.count('expired_connections'), 1)
    simulation.pass(120_000)
    assert.equal(conn.pings.length, 1)
  })

  test('also pings connections that have not answered yet, before the advertised interval has passed', () => {
    const simulation = simulate({ min: 1000, max: 3000, timeout: 10_000 })
    const begin = simulation.now
    const conn = simulation.connect()
    simulation.pass(20_000)
    assert.deepEqual(gaps(conn.pings, begin).map(about), [1000, 2400, 2400, 2400, 2400])
    assert.equal(about((conn.expiredAt ?? 0) - conn.pings[0]), 10_000)
  })

  test('has separate figures for each tier, from the moment it is known', () => {
    const simulation = simulate({ tiers: [{ name: 'editors', min: 1000, max: 3000, timeout: 2000 }] })
    const [editor, stranger, nobody] = [
      simulation.connect('editors'),
      simulation.connect('strangers'),
      simulation.connect()
    ]
    const begin = simulation.now
    simulation.onPing((conn) => simulation.hear(conn))
    simulation.pass(60_000)
    assert.equal(about(editor.pings[0] - begin), 1000)
    assert.equal(about(gaps(editor.pings, begin).at(-1) ?? 0), 3000)
    assert.deepEqual(stranger.pings, nobody.pings)
    // a new token may have another tier
    nobody.tier = 'editors'
    simulation.pass(60_000)
    assert.equal(about(gaps(nobody.pings, begin).at(-1) ?? 0), 3000)
    simulation.onPing(() => {})
    const { length } = editor.pings
    simulation.pass(10_000)
    assert.equal(editor.pings.length, length + 1)
    assert.equal(about((editor.expiredAt ?? 0) - editor.pings[length]), 2000)
  })

  test('closes a crowd in batches, in the order of their pings', () => {
    const simulation = simulate({ min: 1000, max: 10_000, timeout: 5000 })
    const conns = Array.from({ length: 1000 }, (_, i) => {
      if (i % 10 === 0) simulation.pass(1)
      return simulation.connect()
    })
    simulation.pass(1000 + TICK)
    while (conns.some(({ pings }) => pings.length === 0)) simulation.clock.turn()
    simulation.stall(6000)
    simulation.pass(0)
    let turns = 1
    for (let before = 0; before < simulation.expired.length; turns++) {
      assert.ok(simulation.expired.length - before <= 10)
      before = simulation.expired.length
      simulation.clock.turn()
    }
    assert.ok(turns >= 100)
    assert.deepEqual(simulation.expired, conns)
  })

  test('pings connections first that it neglected while the process was blocked', () => {
    const simulation = simulate()
    const conn = simulation.connect()
    simulation.stall(300_000)
    simulation.pass(TICK)
    assert.deepEqual([conn.pings.length, conn.expiredAt], [1, undefined])
  })

  test('reads input that arrived while the process was blocked before it closes any connection', async () => {
    const simulation = simulate()
    const conn = simulation.connect()
    simulation.pass(5000 + TICK)
    assert.equal(conn.pings.length, 1)
    simulation.stall(60_000)
    simulation.onTimer(() => {
      simulation.onTimer(() => {})
      assert.equal(conn.expiredAt, undefined)
      simulation.hear(conn)
    })
    simulation.pass(0)
    assert.deepEqual([conn.pings.length, conn.expiredAt], [1, undefined])
    simulation.pass(2 * TICK)
    assert.deepEqual([conn.pings.length, conn.expiredAt], [2, undefined])
  })

  test('releases a closed connection, in every state', async () => {
    const simulation = simulate()
    const [young, pinged, sending, unspoken] = [
      simulation.connect(),
      simulation.connect(),
      simulation.connect(),
      simulation.connect()
    ]
    const close = (/** @type {import('./simulation.js').Conn} */ conn) => { conn.readyState = 'closed' }
    close(young)
    simulation.heartbeat.forget(young)
    close(unspoken)
    simulation.onPing((conn) => { if (conn === sending) close(conn) })
    simulation.pass(5000 + TICK)
    close(pinged)
    simulation.heartbeat.forget(pinged)
    simulation.pass(100_000)
    assert.deepEqual([young, pinged, sending, unspoken].map(({ pings }) => pings.length), [0, 1, 1, 0])
    assert.deepEqual(simulation.expired, [])
    assert.equal(await simulation.count('heartbeats'), 2)
    // the connection was no longer in the wheel, which would have kept it until it was due
    const gone = simulation.connect()
    close(gone)
    simulation.heartbeat.forget(gone)
    gone.readyState = 'open'
    simulation.pass(100_000)
    assert.deepEqual(gone.pings, [])
  })

  test('keeps a connection that has only sent a disconnect packet, because nothing else would close it', () => {
    const simulation = simulate()
    const conn = simulation.connect()
    conn.readyState = 'closing'
    simulation.heartbeat.forget(conn)
    simulation.pass(30_000)
    assert.deepEqual(simulation.expired, [conn])
  })

  test('waits for a device as long as four retransmissions take, at least a quarter of the timeout', () => {
    for (const [roundTrip, timeout] of [[20, 5000], [600, 9100], [4000, 20_000]]) {
      const simulation = simulate()
      const conn = Object.assign(simulation.connect(), { answersAtOnce: true })
      let answers = 0
      const ticks = roundTrip / 20
      for (let i = 0, due = -1; answers < 20; i++) {
        const { length } = conn.pings
        simulation.pass(20)
        if (conn.pings.length > length) due = i + ticks
        if (i !== due) continue
        simulation.hear(conn)
        answers++
      }
      simulation.pass(120_000)
      const waited = (conn.expiredAt ?? Infinity) - conn.pings[20]
      assert.ok(Math.abs(waited - timeout) <= 1000, `round trips of ${roundTrip} ms: ${waited} ms`)
    }
  })

  test('waits for the whole timeout if a page answers the pings, or no pong was measured', () => {
    for (const [answersAtOnce, type] of /** @type {const} */ ([[false, 'pong'], [true, 'message']])) {
      const simulation = simulate()
      const conn = Object.assign(simulation.connect(), { answersAtOnce })
      simulation.onPing((conn) => { if (conn.pings.length < 10) simulation.hear(conn, type) })
      simulation.pass(400_000)
      assert.equal(about((conn.expiredAt ?? 0) - conn.pings[9]), 20_000)
    }
  })

  test('notices the end of devices sooner over a lossy network, and closes no living one', () => {
    const [usual, measured] = [false, true].map((measured) => onLossyNetwork({ measured, devices: 200, hours: 5 }))
    const median = (/** @type {number[]} */ values) => values[values.length >> 1]
    assert.deepEqual([usual.falseCloses, measured.falseCloses], [0, 0])
    assert.equal(measured.noticed.length, 200)
    assert.ok(median(measured.noticed) < 0.8 * median(usual.noticed), `${median(measured.noticed)} of ${median(usual.noticed)}`)
  })

  test('measures the round trip and the time without packets', async () => {
    const simulation = simulate()
    const conn = simulation.connect()
    simulation.pass(5000)
    simulation.stall(30)
    simulation.hear(conn)
    simulation.stall(40)
    simulation.hear(conn)
    const { values } = await simulation.metrics.heartbeat_seconds.get()
    const value = (/** @type {string} */ end) =>
      values.find(({ metricName }) => /** @type {string} */ (metricName).endsWith(end))?.value
    assert.deepEqual([value('_sum'), value('_count')], [0.03, 1])
    simulation.stall(7000)
    assert.equal(simulation.heartbeat.silence(conn), 7000)
  })
})
