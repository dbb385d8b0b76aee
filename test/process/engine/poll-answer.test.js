import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { entry } from '../../contract/bus-fixture.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { holdTime } from '../../helpers/held-time.js'
import { rawPolling, stalledPoll } from '../../helpers/raw-client.js'
import { waitFor } from '../../helpers/wait.js'

/**
 * A polling client without pending messages.
 * @param {import('node:test').TestContext} t
 * @param {Record<string, string>} [env]
 * @param {import('../../../src/base/common/clock.js').Clock} [clock]
 */
async function setUp (t, env, clock) {
  const server = await startEmbedded(t, { MAX_WAITING_BYTES: '12000000', ...env }, undefined, { clock })
  const client = await rawPolling(server.url)
  await client.post('40{"documents":{"doc":null}}')
  assert.ok(await client.until(/doc:joined/))
  return {
    server, client, engine: server.gateway.engine,
    /** Publishes much more than sockets buffer. */
    async publish () { await server.gateway.bus.publish([entry('doc', 'x'.repeat(11_000_000))]) }
  }
}

/** @param {import('node:net').Socket} stalled resumes reading, including bytes received in the meantime */
async function endsUnread (stalled) {
  await once(stalled.resume(), 'close')
  assert.ok(stalled.bytesRead < 8_000_000, `${stalled.bytesRead} bytes received`)
}

for (const refused of [false, true]) {
  test('a client that polls again before it has read the last response is closed, and the response is ' +
    `dropped${refused ? ', also after another request was refused' : ''}`, async (t) => {
    const { server, client, engine, publish } = await setUp(t)
    const stalling = stalledPoll(t, client.address)
    await waitFor(() => engine.sessionOf(client.sid).transport.writable, { message: 'the poll' })
    if (refused)
      assert.equal((await fetch(client.address.replace('transport=polling', 'transport=websocket'))).status, 400)
    await publish()
    const stalled = await stalling
    assert.equal((await client.poll()).status, 400)
    await endsUnread(stalled)
    assert.equal(server.gateway.connections, 0)
    assert.equal((await server.metrics.slow_connections.get()).values[0].value, 1)
    assert.match((await client.poll()).text, /Session ID unknown/)
  })
}

test('an unread last response is dropped, however its session ended', async (t) => {
  const { clock, pass } = holdTime(t)
  const { server, client, engine, publish } = await setUp(t, { NETWORK: '1000:1000:5000' }, clock)
  await publish()
  // Ends the session; queued packets are still sent.
  await client.post('41')
  const stalled = await stalledPoll(t, client.address)
  // a ping, and its timeout: two steps of time, which the deadline of a response takes for pauses of the process
  pass(1300)
  await waitFor(async () => (await server.metrics.heartbeats.get()).values[0]?.value === 1)
  pass(5300)
  await waitFor(() => engine.sessionOf(client.sid) === undefined)
  assert.equal(engine.answers.size, 1)
  await waitFor(() => {
    pass(100)
    return engine.answers.size === 0
  })
  await endsUnread(stalled)
})
