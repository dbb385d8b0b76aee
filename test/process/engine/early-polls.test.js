import assert from 'node:assert/strict'
import http from 'node:http'
import { test } from 'node:test'
import { systemClock as clock } from '../../../src/base/common/clock.js'
import { listen } from '../../../src/base/process/listen.js'
import { InputLimits } from '../../../src/transport/admission/input-limits.js'
import { Engine } from '../../../src/transport/engine/engine.js'
import { createHttpServer } from '../../../src/transport/engine/http.js'

test('a poll whose head takes the room of all early sessions ends its own one: its answer says that the session is unknown', async (t) => {
  /** @type {string[]} */
  const cut = []
  const metrics = { onCollect () {}, sessions_cut: { inc: (/** @type {any} */ { reason }) => cut.push(reason) } }
  const inputLimits = new InputLimits({ maxBytes: 1e6, perSecond: 10 }, /** @type {any} */ (metrics), clock)
  let ids = 0
  const engine = new Engine(/** @type {any} */ ({
    newSessionId: () => `AA${String(ids++).padStart(18, '0')}`,
    maxBytes: 1e6, heartbeat: { max: 25_000, timeout: 20_000 }, compress: false, clock,
    events: { onFrames () {}, onEnded () {} },
    admission: {
      origins: { mayConnect: () => true, refuse: () => false }, connectionLimits: { opened () {}, ended () {} },
      handshakeLimit: { enter: (/** @type {any[]} */ ...args) => args[2]() },
      inputLimits
    }
  }))
  const server = createHttpServer(/** @type {any} */ ({
    engine, socketPath: '/socket.io/', fallback () {}, isDraining: () => false,
    log: { error: (/** @type {any} */ { err }) => assert.fail(err), warn () {}, debug () {} }
  }))
  await listen(server, { host: '127.0.0.1', port: 0 })
  t.after(() => {
    engine.close()
    server.close()
  })
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  /** @param {string} query @returns {Promise<{ status: number | undefined, text: string }>} */
  const get = (query) => new Promise((resolve, reject) => {
    const path = `/socket.io/?EIO=4&transport=polling${query}`
    http.get({ port, agent: false, path, headers: { 'x-large': 'a'.repeat(12_500) } }, async (res) =>
      resolve({ status: res.statusCode, text: Buffer.concat(await res.toArray()).toString() })).on('error', reject)
  })
  const { sid } = JSON.parse((await get('')).text.slice(1))
  for (let i = 1; i < 20; i++) await get('')
  assert.deepEqual(cut, [])
  const { status, text } = await get(`&sid=${sid}`)
  assert.deepEqual([status, JSON.parse(text).message, cut], [400, 'Session ID unknown', ['bytes']])
})
