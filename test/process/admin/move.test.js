import assert from 'node:assert/strict'
import path from 'node:path'
import { test } from 'node:test'
import { systemClock } from '../../../src/base/common/clock.js'
import { createMoveControl } from '../../../src/operate/admin/control/move.js'
import { createPrivateListener } from '../../../src/operate/admin/private-listener.js'
import { recordingLog } from '../../helpers/recording-log.js'
import { makeDirectory, removeDirectory } from '../../services/directory.js'

/**
 * A machine with workers of ten clients each.
 * @param {import('node:test').TestContext} t
 * @param {(name: string | undefined, method: string | undefined) => boolean} [fails] whether it gives no answer
 */
async function setUp (t, fails = () => false) {
  const directory = makeDirectory('move')
  t.after(() => removeDirectory(directory))
  /** What happened, in order. @type {string[]} */
  const events = []
  for (const [i, name] of ['gateway-0', 'gateway-1'].entries()) {
    const listener = createPrivateListener({
      path: path.join(directory, `${name}.${i + 1}.sock`),
      status: /** @type {any} */ ({}),
      log: recordingLog().log,
      routes: new Map([['/move', ({ method }, res) => {
        if (fails(name, method)) return void res.destroy()
        if (method === 'POST') events.push(`${name} moves its clients`)
        res.end(JSON.stringify(method === 'POST' ? { connections: 10 } : { left: 0 }))
      }]]),
      clock: systemClock
    })
    await listener.start()
    t.after(() => listener.stop())
  }
  const move = createMoveControl({
    directory, onBegin: (name, seconds) => { events.push(`${name} accepts none for ${seconds} s`) }
  })
  return { move, events }
}

test('a worker accepts no clients before the first of its own leaves, and until the last has arrived', async (t) => {
  const { move, events } = await setUp(t)
  assert.deepEqual(await move.begin({ share: 1, rate: 2 }, 'gateway-1'), { 'gateway-1': 10 })
  assert.deepEqual(events, [
    'gateway-1 accepts none for 5 s', 'gateway-1 moves its clients', 'gateway-1 accepts none for 10 s'
  ])
})

test('if the clients of all workers move, all of them accept', async (t) => {
  const { move, events } = await setUp(t)
  await move.begin({ share: 1, rate: 2 })
  assert.deepEqual(events.sort(), ['gateway-0 moves its clients', 'gateway-1 moves its clients'])
  await assert.rejects(move.begin({ share: 1, rate: 2 }, 'gateway-7'), { code: 'not_found' })
  assert.equal(events.length, 2)
})

test('if a worker does not answer, no clients move: another try would move even more of the others', async (t) => {
  const { move, events } = await setUp(t, (name) => name === 'gateway-1')
  await assert.rejects(move.begin({ share: 0.5, rate: 2 }), { code: 'unavailable', message: /^gateway-1 did not answer/ })
  assert.deepEqual(events, [])
  await move.begin({ share: 0.5, rate: 2 }, 'gateway-0')
  assert.equal(events[1], 'gateway-0 moves its clients')
})

test('if a worker fails while the clients of others begin to move, the error says that they may', async (t) => {
  const { move, events } = await setUp(t, (name, method) => name === 'gateway-1' && method === 'POST')
  await assert.rejects(move.begin({ share: 0.5, rate: 2 }), {
    code: 'timeout', message: 'gateway-1 did not answer; moves may have begun: see GET /move'
  })
  assert.deepEqual(events, ['gateway-0 moves its clients'])
})
