import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import https from 'node:https'
import { test } from 'node:test'
import { AdminServer } from '../../../src/operate/admin/server.js'
import { systemClock } from '../../../src/base/common/clock.js'
import { makeAuthority, startCertificate } from '../../helpers/certificates.js'

/** @param {import('node:test').TestContext} t @param {boolean} mutual */
async function start (t, mutual) {
  const authority = makeAuthority(t)
  const { certificate, log } = await startCertificate(t, {
    ...authority.issue('admin'), ...mutual ? { ca: authority.ca } : {}
  })
  const server = new AdminServer({
    settings: { host: '127.0.0.1', port: 0 },
    processes: { read: async () => ({ processes: [], reasons: [] }) },
    production: true, certificate, log, clock: systemClock
  })
  await server.start()
  t.after(() => server.stop())
  return {
    authority,
    /** @param {import('../../helpers/certificates.js').Pair} [pair] @returns {Promise<number | string | undefined>} */
    ask: (pair) => new Promise((resolve) => {
      https.get({
        host: '127.0.0.1', port: server.port(), path: '/live', agent: false, ca: readFileSync(authority.ca),
        ...pair && { cert: readFileSync(pair.cert), key: readFileSync(pair.key) }
      }, (res) => resolve(res.resume().statusCode)).on('error', ({ message }) => resolve(message))
    })
  }
}

test('ADMIN_PORT answers over TLS', async (t) => {
  const { ask } = await start(t, false)
  assert.equal(await ask(), 200)
})

test('with authorities of clients, only those with a certificate of them are answered', async (t) => {
  const { authority, ask } = await start(t, true)
  assert.equal(await ask(authority.issue('prometheus')), 200)
  for (const pair of [undefined, makeAuthority(t, 'stranger').issue('prometheus')])
    assert.match(String(await ask(pair)), /certificate required|unknown ca|socket hang up|ECONNRESET/)
})
