import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { startEmbedded } from '../../helpers/embedded.js'
import { openDocument, startClient } from '../../helpers/inkcast-client.js'
import { startProxy } from '../../helpers/proxy.js'
import { startRelay } from '../../helpers/relay.js'
import { waitFor } from '../../helpers/wait.js'

/** Lines that are dead without being closed, and proxies that swallow WebSockets. */

const gateway = await startEmbedded({ after })
const port = Number(new URL(gateway.url).port)

for (const transports of [['websocket'], ['polling']]) {
  test(`a dead line is found by a check, and what was missed arrives: ${transports}`, async (t) => {
    const proxy = await startProxy(port)
    t.after(() => proxy.stop())
    const client = startClient(t, `http://127.0.0.1:${proxy.port}`, { transports })
    const doc = await openDocument(client, `dead-${transports}`)
    await waitFor(() => client.check())
    proxy.hang()
    await gateway.post(`/v1/documents/${doc.guid}/broadcast`, 'missed')
    assert.equal(await client.check(), false)
    assert.deepEqual([client.state, client.reason?.code], ['reconnecting', 'disconnected'])
    proxy.heal()
    await doc.has('missed')
    await waitFor(() => client.check())
  })
}

/**
 * A proxy that swallows WebSockets.
 * @param {import('node:test').TestContext} t
 * @param {'hold' | 'mute' | 'cut'} fault hold: no answer; mute: a 101 and nothing after it; cut: closed after the 101
 */
async function swallowingProxy (t, fault) {
  let swallowed = 0
  const relay = await startRelay(port, (client, upstream) => {
    let isWebSocket = false
    client.on('data', (chunk) => {
      if (/upgrade: websocket/i.test(chunk.toString('latin1'))) {
        isWebSocket = true
        swallowed++
        if (fault === 'hold') return
      }
      upstream.write(chunk)
    })
    upstream.on('data', (chunk) => {
      if (!isWebSocket) return void client.write(chunk)
      if (fault === 'hold') return
      const end = chunk.indexOf('\r\n\r\n')
      if (end === -1) return // a frame
      client.write(chunk.subarray(0, end + 4), () => { if (fault === 'cut') client.destroy() })
    })
  })
  t.after(() => relay.stop())
  return { url: `http://127.0.0.1:${relay.port}`, swallowed: () => swallowed }
}

describe('behind a proxy that swallows WebSockets', { concurrency: true }, () => {
  for (const fault of /** @type {const} */ (['hold', 'mute', 'cut'])) {
    test(`(${fault}) a page is connected by long polling, and begins with it the next time`, async (t) => {
      const proxy = await swallowingProxy(t, fault)
      const client = startClient(t, proxy.url)
      // the timeout of a transport is 15 s
      await waitFor(() => client.state === 'connected', { timeout: 12_000, message: () => client.reason?.message })
      assert.equal(client.transport, 'polling')
      assert.equal(client.states.filter(([state]) => state === 'connecting').length, 1, 'one attempt has failed')
      client.drop(0)
      await waitFor(() => client.states.some(([state]) => state === 'reconnecting'))
      await client.reaches('connected')
      assert.deepEqual(client.states.slice(-2).map(([state, code]) => [state, code]),
        [['reconnecting', 'disconnected'], ['connected', undefined]], 'no attempt has failed')
      assert.ok(proxy.swallowed() > 0)
    })
  }
})
