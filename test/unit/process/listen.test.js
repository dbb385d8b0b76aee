import assert from 'node:assert/strict'
import net from 'node:net'
import { test } from 'node:test'
import { listen } from '../../../src/base/process/listen.js'

test('resolves when the server accepts connections, and rejects when its port is in use', async (t) => {
  const [first, second] = [net.createServer(), net.createServer()]
  t.after(() => first.close())
  await listen(first, { host: '127.0.0.1', port: 0 }, 16)
  const { port } = /** @type {net.AddressInfo} */ (first.address())
  await assert.rejects(listen(second, { host: '127.0.0.1', port }), { code: 'EADDRINUSE' })
  assert.deepEqual([first.listenerCount('error'), first.listening, second.listening], [0, true, false])
})
