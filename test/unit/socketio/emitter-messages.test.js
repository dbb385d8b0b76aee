import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Emitter } from '@socket.io/redis-emitter'
import { encode } from '@msgpack/msgpack'
import { Server } from 'socket.io'
import { Adapter } from 'socket.io-adapter'
import { systemClock } from '../../../src/base/common/clock.js'
import { createMetrics } from '../../../src/observe/metrics/metrics.js'
import { createEmitterMessages, emitterChannels } from '../../../src/transport/socketio/emitter-messages.js'
import { recordingLog } from '../../helpers/recording-log.js'

const KEY = 'socket.io'

/** A server without port and clients. It records what the adapters of its namespaces are asked to do. */
function setUp () {
  /** @type {unknown[][]} */
  const calls = []
  class RecordingAdapter extends Adapter {
    /** @param {string} what @param {any} options @param {unknown} value */
    record (what, { rooms, except = [], flags: { local, ...others } = {} }, value) {
      assert.equal(local, true, 'only for clients of this worker')
      calls.push([what, this.nsp.name, [...rooms], [...except], others, value])
    }

    /** @override @param {any} packet @param {any} options */
    broadcast ({ data }, options) { this.record('emit', options, data) }
    /** @override @param {any} options @param {string[]} rooms */
    addSockets (options, rooms) { this.record('join', options, rooms) }
    /** @override @param {any} options @param {string[]} rooms */
    delSockets (options, rooms) { this.record('leave', options, rooms) }
    /** @override @param {any} options @param {boolean} close */
    disconnectSockets (options, close) { this.record('disconnect', options, close) }
  }
  const io = new Server({ adapter: RecordingAdapter, cleanupEmptyChildNamespaces: true })
  const metrics = createMetrics({ processMetrics: false })
  const { log, lines } = recordingLog()
  const receive = createEmitterMessages({ key: KEY, io, metrics, log, clock: systemClock })
  const emitter = new Emitter({
    publish: (/** @type {string} */ channel, /** @type {string | Buffer} */ payload) =>
      receive(channel, Buffer.from(payload))
  })
  for (const room of ['a', 'b', 'with # in it']) io.sockets.adapter.rooms.set(room, new Set(['one']))

  /** @returns {Promise<Record<string, number>>} messages by result */
  const results = async () => Object.fromEntries(
    (await metrics.emitter_messages.get()).values.map(({ labels, value }) => [labels.result, value])
  )
  return { io, emitter, receive, calls, lines, results }
}

test('the channels are those of the library with the same key', () => {
  assert.deepEqual(emitterChannels(KEY), ['socket.io#', 'socket.io-request#'])
})

test('every operation of the emitter is carried out for the clients of this worker', async () => {
  const { io, emitter, calls, results } = setUp()
  io.of('/chat')
  emitter.emit('all', 1, 'größer')
  emitter.to('a').except('b').emit('one room', { date: new Date(0), none: null })
  emitter.to(['a', 'b']).volatile.compress(false).emit('two rooms')
  emitter.to('with # in it').emit('special')
  emitter.of('/chat').emit('elsewhere')
  emitter.in('a').except('b').socketsJoin(['c', 'd'])
  emitter.in('a').socketsLeave('c')
  emitter.in('a').disconnectSockets()
  emitter.of('chat').disconnectSockets(true)
  assert.deepEqual(calls, [
    ['emit', '/', [], [], {}, ['all', 1, 'größer']],
    ['emit', '/', ['a'], ['b'], {}, ['one room', { date: new Date(0), none: null }]],
    ['emit', '/', ['a', 'b'], [], { volatile: true, compress: false }, ['two rooms']],
    ['emit', '/', ['with # in it'], [], {}, ['special']],
    ['emit', '/chat', [], [], {}, ['elsewhere']],
    ['join', '/', ['a'], ['b'], {}, ['c', 'd']],
    ['leave', '/', ['a'], [], {}, ['c']],
    ['disconnect', '/', ['a'], [], {}, false],
    ['disconnect', '/chat', [], [], {}, true]
  ])
  assert.deepEqual(await results(), { handled: calls.length })
})

test('binary data arrives as binary', () => {
  const { emitter, calls } = setUp()
  emitter.emit('bytes', Buffer.from([0, 1, 255]))
  const [, bytes] = /** @type {any} */ (calls[0][5])
  assert.ok(ArrayBuffer.isView(bytes))
  assert.deepEqual([.../** @type {Uint8Array} */ (bytes)], [0, 1, 255])
})

test('serverSideEmit calls listeners of the namespace, and a callback that a listener expects', () => {
  const { io, emitter, receive } = setUp()
  /** @type {unknown[]} */
  const got = []
  io.on('note', (...args) => got.push('/', ...args))
  io.of('/chat').on('note', (...args) => got.push('/chat', ...args))
  io.on('question', (answer) => { answer('nobody gets it'); got.push('answered') })
  emitter.serverSideEmit('note', 1, { two: 2 })
  emitter.of('/chat').serverSideEmit('note')
  receive(`${KEY}-request#/#`, Buffer.from('{"type":6,"requestId":"1","data":["question"]}'))
  assert.deepEqual(got, ['/', 1, { two: 2 }, '/chat', 'answered'])
})

test('messages for a room that this worker does not have are not even decoded', async () => {
  const { io, emitter, receive, calls, results } = setUp()
  emitter.to('c').emit('nobody')
  receive(`${KEY}#/#c#`, Buffer.from([0xc1]))
  assert.deepEqual([calls, await results()], [[], { ignored: 2 }])
  const numbered = /** @type {Map<any, Set<string>>} */ (io.sockets.adapter.rooms)
  numbered.set(7, new Set(['one']))
  emitter.to(/** @type {any} */ (7)).emit('a room that is a number')
  assert.deepEqual(calls.map(([, , rooms]) => rooms), [[7]])
})

test('messages for unknown namespaces are ignored, and create none', async () => {
  const { io, emitter, calls, results } = setUp()
  emitter.of('/nowhere').emit('nobody')
  emitter.of('/nowhere').disconnectSockets()
  emitter.of('/nowhere').serverSideEmit('nobody')
  assert.deepEqual([calls, await results()], [[], { ignored: 3 }])
  assert.equal(io._nsps.has('/nowhere'), false)
  io.of('/nowhere')
  emitter.of('/nowhere').emit('somebody')
  assert.equal(calls.length, 1)
})

test('requests that expect an answer, and requests of old versions for one socket, are ignored', async () => {
  const { receive, calls, lines, results } = setUp()
  const requests = [
    { type: 0, requestId: '1', rooms: [] },
    { type: 1, requestId: '1' },
    { type: 5, requestId: '1', opts: { rooms: [], except: [] } },
    { type: 2, requestId: '1', sid: 'one', room: 'a' },
    { type: 3, requestId: '1', sid: 'one', room: 'a' },
    { type: 4, requestId: '1', sid: 'one', close: true },
    { type: 99, opts: { rooms: [], except: [] } }
  ]
  for (const request of requests) receive(`${KEY}-request#/#`, Buffer.from(JSON.stringify(request)))
  // a broadcast with acknowledgements
  receive(`${KEY}-request#/#`, Buffer.from(encode({ type: 7, requestId: '1', opts: { rooms: [], except: [] } })))
  assert.deepEqual([calls, lines, await results()], [[], [], { ignored: requests.length + 1 }])
})

for (const [what, channel, payload] of /** @type {[string, string, string | Uint8Array][]} */ ([
  ['an emit that is no msgpack', '#/#', new Uint8Array([0xc1])],
  ['an empty emit', '#/#', ''],
  ['an emit that ends too early', '#/#', encode(['emitter', { data: ['x'] }, { rooms: [], except: [] }]).slice(0, -3)],
  ['an emit without a packet', '#/#', encode(['emitter'])],
  ['an emit without data', '#/#', encode(['emitter', {}, { rooms: [] }])],
  ['an emit whose data is no list', '#/#', encode(['emitter', { data: 'event' }, { rooms: [] }])],
  ['an emit without options', '#/#', encode(['emitter', { data: ['event'] }])],
  ['an emit without rooms', '#/#', encode(['emitter', { data: ['event'] }, {}])],
  ['an emit of a reserved event', '#/#', encode(['emitter', { data: ['connect'] }, { rooms: [] }])],
  ['an emit that is a number', '#/#', encode(7)],
  ['a request that is no JSON', '-request#/#', '{"type":4'],
  ['a disconnect without rooms', '-request#/#', '{"type":4,"opts":{}}'],
  ['a disconnect whose rooms are no list', '-request#/#', '{"type":4,"opts":{"rooms":{}}}'],
  ['a disconnect with empty options', '-request#/#', '{"type":4,"opts":null}'],
  ['a join without rooms to join', '-request#/#', '{"type":2,"opts":{"rooms":[]}}'],
  ['a serverSideEmit without data', '-request#/#', '{"type":6}'],
  ['a serverSideEmit whose listener is missing for an error', '-request#/#', '{"type":6,"data":["error","x"]}']
])) {
  test(`malformed: ${what} reaches nobody, and is logged and counted`, async () => {
    const { receive, calls, lines, results } = setUp()
    const bytes = Buffer.from(/** @type {any} */ (payload))
    receive(KEY + channel, bytes)
    receive(KEY + channel, bytes)
    assert.deepEqual([calls, await results()], [[], { failed: 2 }])
    assert.deepEqual(lines.map(({ level }) => level), ['warn'], 'one line a minute')
    assert.ok(lines[0].text.includes('a message for Socket.IO rooms cannot be read'))
    assert.ok(lines[0].text.includes(KEY + channel))
  })
}
