import assert from 'node:assert/strict'
import { once } from 'node:events'
import net from 'node:net'
import { test } from 'node:test'
import { handOver } from '../../../src/transport/peers/handover.js'
import { listen } from '../../../src/base/process/listen.js'

test('a connection that is given to another worker closes for the limits of this one', async (t) => {
  const server = net.createServer()
  await listen(server, { host: '127.0.0.1', port: 0 })
  t.after(() => server.close())
  const client = net.connect(/** @type {net.AddressInfo} */ (server.address()).port, '127.0.0.1')
  t.after(() => client.destroy())
  const [socket] = await once(server, 'connection')
  const closed = once(socket, 'close')
  /** @type {any[]} */
  const sent = []
  const own = ['send', 'connected'].map((name) => /** @type {const} */ ([name, Object.getOwnPropertyDescriptor(process, name)]))
  t.after(() => {
    for (const [name, before] of own)
      if (before) Object.defineProperty(process, name, before)
      else delete (/** @type {any} */ (process)[name])
  })
  Object.defineProperty(process, 'connected', { value: true, configurable: true })
  Object.defineProperty(process, 'send', {
    configurable: true,
    /** @param {any} message @param {any} handle @param {unknown} _options @param {() => void} done */
    value (message, handle, _options, done) {
      sent.push({ ...message, isOpen: handle.fd > 0 })
      done()
    }
  })
  assert.equal(handOver({ to: 1, head: 'GET / HTTP/1.1\r\n\r\n', rest: Buffer.alloc(0), socket }), true)
  await closed
  assert.deepEqual(sent.map(({ type, to, isOpen }) => ({ type, to, isOpen })), [{ type: 'handover', to: 1, isOpen: true }])
})
