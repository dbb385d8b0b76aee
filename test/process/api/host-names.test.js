import assert from 'node:assert/strict'
import { request } from 'node:http'
import { test } from 'node:test'
import { startEmbedded } from '../../helpers/embedded.js'

const TOKEN = 'demo-token-for-this-machine'

/** @param {string} url @param {string} host @returns {Promise<number | undefined>} */
const statusOf = (url, host) => new Promise((resolve, reject) => {
  request(`${url}/v1/documents/notes/broadcast`, {
    method: 'POST', headers: { host, authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' }
  }, (response) => {
    response.resume()
    resolve(response.statusCode)
  }).on('error', reject).end('1')
})

test('a token that everybody knows does not open the api to a page whose name points to this machine', async (t) => {
  const { apiUrl } = await startEmbedded(t, { API_TOKENS: `demo:${TOKEN}` })
  for (const host of ['evil.example', 'evil.example:3001', '127.0.0.1.nip.io', 'localhost.evil.com', 'a.b.c.'])
    assert.equal(await statusOf(apiUrl, host), 403, host)
  for (const host of ['localhost:3001', '127.0.0.1', '10.0.0.5:3001', 'inkcast:3001', '[::1]:3001', 'app.localhost'])
    assert.equal(await statusOf(apiUrl, host), 202, host)
})
