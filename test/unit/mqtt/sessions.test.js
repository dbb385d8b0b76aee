import assert from 'node:assert/strict'
import { test } from 'node:test'
import { InkcastError } from '../../../src/base/common/errors.js'
import { MqttSessions } from '../../../src/gateway/mqtt/mqtt-sessions.js'
import { openAgain } from '../../../src/gateway/mqtt/subscribe.js'
import { manualClock } from '../../helpers/manual-clock.js'

const HOUR = 3600_000

test('[MQTT-4.1.0-1] [MQTT-4.1.0-2] [MQTT5-4.1.0-1] [MQTT5-4.1.0-2] Redis keeps a session while its client is connected, however long it ' +
  'is silent, and then as long as was granted', async () => {
  const clock = manualClock()
  let expiresAt = 0
  let writes = 0
  const store = {
    /** @param {unknown} _owner @param {string} _text @param {number} seconds */
    async write (_owner, _text, seconds) {
      writes++
      expiresAt = clock.monotonic() + seconds * 1000
      return true
    },
    async remove () { expiresAt = 0 }
  }
  const sessions = new MqttSessions(/** @type {any} */ (store), /** @type {any} */ ({ clock }))
  const connection = /** @type {any} */ ({ uid: 'ada', client: 'sensor', subscriptions: () => [], identity: { anonymous: false } })
  sessions.begin(connection, 60, null)
  for (let hour = 0; hour < 100; hour++) {
    await clock.pass(HOUR)
    assert.ok(expiresAt > clock.monotonic(), `after ${hour} hours`)
  }
  assert.ok(writes < 12, `${writes} writes`)
  sessions.end(connection)
  assert.equal(expiresAt, clock.monotonic() + 60_000)
  assert.equal(clock.timers, 0)
})

test('a session is written within 5 s after a record was acknowledged, not without one, and again after a write that failed', async () => {
  const clock = manualClock()
  let writes = 0
  let fails = false
  const store = { async write () {
    writes++
    return !fails
  } }
  const sessions = new MqttSessions(/** @type {any} */ (store), /** @type {any} */ ({ clock }))
  const connection = /** @type {any} */ ({ uid: 'ada', client: 'sensor', subscriptions: () => [], identity: { anonymous: false } })
  sessions.begin(connection, 60, null)
  await clock.pass(5000)
  assert.equal(writes, 1, 'a new one')
  await clock.pass(60_000)
  assert.equal(writes, 1)
  connection.unsaved = fails = true
  await clock.pass(5000)
  fails = false
  await clock.pass(5000)
  await clock.pass(60_000)
  assert.equal(writes, 3)
})

test('each of many sessions is tried once in 5 s while no write succeeds', async () => {
  const clock = manualClock()
  let writes = 0
  const store = { async write () {
    if (writes++ > 1000) assert.fail('the worker does nothing else')
    throw new InkcastError('unavailable')
  } }
  const sessions = new MqttSessions(/** @type {any} */ (store), /** @type {any} */ ({
    clock, metrics: { bus_errors: { inc () {} } }, log: { debug () {} }
  }))
  for (let i = 0; i < 250; i++)
    sessions.begin(/** @type {any} */ ({ uid: 'ada', client: `sensor-${i}`, subscriptions: () => [] }), 60, null)
  await clock.pass(5000)
  assert.equal(writes, 250)
  await clock.pass(5000)
  assert.equal(writes, 500)
})

test('a subscription is kept before its SUBACK also if the connection has claimed its client id only meanwhile, and SUBACK does not wait ' +
  'for ever', async () => {
  const clock = manualClock()
  const store = { write: async (/** @type {any} */ { claimedAt }) => claimedAt > 0 }
  const random = { number: () => 1 }
  const sessions = new MqttSessions(/** @type {any} */ (store), /** @type {any} */ ({ clock, random }))
  for (const claims of [true, false]) {
    const connection = /** @type {any} */ ({
      uid: 'ada', client: 'sensor', claimedAt: 0, open: true, subscriptions: () => [], identity: { anonymous: false }
    })
    sessions.begin(connection, 60, null)
    let saved = false
    const saving = sessions.save(connection).then(() => { saved = true })
    await clock.pass(100)
    assert.equal(saved, false)
    if (claims) connection.claimedAt = 5
    await clock.pass(2000)
    await saving
    assert.equal(connection.unsaved, !claims)
  }
})

test('a client whose session could not be read or ended is refused: after a clean start the old one must not come back', async () => {
  const down = async () => { throw new Error('no Redis') }
  const sessions = new MqttSessions(/** @type {any} */ ({ read: down, drop: down }), /** @type {any} */ ({
    metrics: { bus_errors: { inc () {} } }, log: { debug () {} }
  }))
  for (const clean of [false, true]) {
    const wish = /** @type {any} */ ({ client: 'sensor', clean, assigned: false })
    await assert.rejects(sessions.find('ada', wish, false), { code: 'unavailable' })
  }
})

test('a connection whose log of the user cannot be read is given up, so that the client comes back, and keeps the topic', async () => {
  const topics = /** @type {any} */ ([['user', 0, false, null]])
  for (const open of [true, false]) {
    /** @type {string[]} */
    const given = []
    const subscribed = new Map()
    const connection = /** @type {any} */ ({
      uid: 'ada', open, giveUp: (/** @type {string} */ reason) => given.push(reason),
      subscribe: (/** @type {string} */ topic, /** @type {object} */ to) => subscribed.set(topic, to)
    })
    const userLogs = { has: () => false, begin: async () => { throw new InkcastError('unavailable') } }
    await openAgain(connection, topics, /** @type {any} */ ({ userLogs }))
    assert.deepEqual([given, [...subscribed.keys()]], [open ? ['unavailable, connect again'] : [], ['user']])
  }
})
