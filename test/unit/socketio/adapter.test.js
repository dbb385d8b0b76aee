import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRoomAdapter } from '../../../src/transport/socketio/adapter.js'
import { spareOwnRooms } from '../../../src/transport/socketio/own-rooms.js'

const PUBLISHER = { spublish: async () => 0, send_command: () => {} }

/** @param {'static' | 'dynamic'} subscriptionMode */
function setUp (subscriptionMode) {
  /** @type {string[]} */
  const channels = []
  /** @type {(value?: unknown) => void} */
  let subscribe = () => {}
  /** @type {Promise<void> | undefined} */
  let pending
  const subscriber = {
    on () {},
    ssubscribe (/** @type {string} */ channel) {
      channels.push(channel)
      pending = new Promise((resolve) => { subscribe = () => { pending = undefined; resolve() } })
    },
    subscribed: () => pending
  }
  const Adapter = createRoomAdapter(
    { publisher: PUBLISHER, subscriber }, subscriptionMode === 'static' ? 'shop:rooms' : 'rooms', 'shop:'
  )
  /** @type {any} */
  const adapter = new /** @type {any} */ (Adapter)({ name: '/', server: { encoder: {} }, sockets: new Map() })
  subscribe()
  return { adapter, channels, subscribe: () => subscribe() }
}

test('with a channel per room, a join resolves when the channel of the room is subscribed', async () => {
  const { adapter, channels, subscribe } = setUp('dynamic')
  let joined = false
  const join = adapter.addAll('id', new Set(['room'])).then(() => { joined = true })
  assert.equal(channels.at(-1), 'rooms#/#room#')
  await new Promise(setImmediate)
  assert.equal(joined, false)
  subscribe()
  await join
})

test('a join waits in the same way when connections have no entry for their own room', async () => {
  const { adapter, subscribe } = setUp('dynamic')
  spareOwnRooms(adapter)
  adapter.addAll('id', new Set(['id']))
  let joined = false
  const join = adapter.addAll('id', new Set(['room'])).then(() => { joined = true })
  await new Promise(setImmediate)
  assert.equal(joined, false)
  subscribe()
  await join
})

test('a join waits for nothing when no channel is pending', () => {
  const { adapter } = setUp('static')
  assert.equal(adapter.addAll('id', new Set(['room'])), undefined)
  assert.ok(adapter.rooms.has('room'))
})
