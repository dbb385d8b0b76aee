import assert from 'node:assert/strict'
import http from 'node:http'
import { test } from 'node:test'
import { startEmbedded } from '../../helpers/embedded.js'

/** @param {string} url @param {object} [options] @returns {Promise<{ status: number | undefined, body: string }>} */
const ask = (url, options = {}) => new Promise((resolve, reject) => {
  http.get(url, options, async (res) => {
    let body = ''
    for await (const part of res) body += part
    resolve({ status: res.statusCode, body })
  }).on('error', reject)
})

for (const NODE_ENV of ['development', 'production']) {
  test(`the port of the clients has a health route (${NODE_ENV})`, async (t) => {
    const { url, status } = await startEmbedded(t, {
      NODE_ENV, AUTH_JWT_SECRET: 'a-secret-of-at-least-32-characters', API_TOKENS: 'test:a-token-of-the-test'
    })
    assert.deepEqual(await ask(`${url}/health`), { status: 200, body: 'ok\n' })
    assert.deepEqual(await ask(`${url}/health?from=balancer`), { status: 200, body: 'ok\n' })
    // a balancer asks the address of the machine, whatever name its clients use
    assert.equal((await ask(`${url}/health`, { headers: { host: 'balancer.example.com' } })).status, 200)
    assert.deepEqual(await ask(`${url}/health`, { method: 'HEAD' }), { status: 200, body: '' })

    let trouble = /** @type {string | null} */ ('Redis at 10.0.0.1 does not answer')
    status.addCheck(() => trouble)
    assert.deepEqual(await ask(`${url}/health`), { status: 503, body: 'not ready\n' })
    trouble = null
    assert.equal((await ask(`${url}/health`)).status, 200)
    assert.equal((await ask(`${url}/healthy`)).status, 404)
  })
}

test('a draining worker is not healthy, on connections that are still open', async (t) => {
  const { url, gateway, stop } = await startEmbedded(t)
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
  t.after(() => agent.destroy())
  assert.equal((await ask(`${url}/health`, { agent })).status, 200)
  gateway.parts.drain?.stop?.()
  assert.equal((await ask(`${url}/health`, { agent })).status, 503)
  await stop()
})
