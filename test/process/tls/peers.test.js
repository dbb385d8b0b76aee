import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import http from 'node:http'
import { test } from 'node:test'
import tls from 'node:tls'
import { systemRandom } from '../../../src/base/common/random.js'
import { systemClock } from '../../../src/base/common/clock.js'
import { createMetrics } from '../../../src/observe/metrics/metrics.js'
import { MisroutedRequests } from '../../../src/transport/peers/misrouted-requests.js'
import { createPeerListener } from '../../../src/transport/peers/peer-listener.js'
import { listen } from '../../../src/base/process/listen.js'
import { createSessionIds } from '../../../src/wire/session-id.js'
import { makeAuthority, replaceFile, startCertificate } from '../../helpers/certificates.js'
import { recordingLog } from '../../helpers/recording-log.js'
import { waitFor } from '../../helpers/wait.js'

const OWNER = 7
const SECRET = 'the secret of this cluster'
const sid = createSessionIds(OWNER, { clock: systemClock, random: systemRandom })()
const path = `/socket.io/?EIO=4&transport=polling&sid=${sid}`

/** @typedef {import('node:test').TestContext} TestContext */
/** @typedef {import('../../../src/config/tls/certificate.js').Certificate} Certificate */

/** @param {TestContext} t @param {Certificate} [certificate] of the owner's machine */
async function startOwner (t, certificate) {
  const listener = createPeerListener({
    socketPath: '/socket.io/', address: { host: '127.0.0.1', ports: [0] },
    certificate, metrics: createMetrics({ processMetrics: false }), log: recordingLog().log, clock: systemClock
  })
  await listener.start()
  t.after(() => listener.stop())
  listener.serve(/** @type {any} */ ({
    handleOwnRequest: (/** @type {any} */ req, /** @type {any} */ res) => res.end(`owner of ${req.headers.host}`),
    handleOwnUpgrade: (/** @type {any} */ _, /** @type {any} */ socket) =>
      socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nowner')
  }), () => [SECRET])
  return { port: listener.port(), tls: certificate !== undefined }
}

/**
 * A worker on another machine, which forwards to the owner.
 * @param {TestContext} t
 * @param {{ port: number, tls: boolean, host?: string }} owner
 * @param {Certificate} [certificate]
 */
async function startOther (t, owner, certificate) {
  const { log, lines } = recordingLog()
  const misrouted = new MisroutedRequests({
    workerNumber: 1,
    secret: () => SECRET,
    findRoute: async () => ({ listener: { host: '127.0.0.1', ...owner }, handover: false }),
    certificate, log, metrics: createMetrics({ processMetrics: false }), clock: systemClock
  })
  const server = http.createServer(async (req, res) => {
    if (!await misrouted.request(sid, req, res)) res.writeHead(404).end('no owner')
  })
  server.on('upgrade', async (req, socket, head) => {
    if (!await misrouted.upgrade(sid, req, /** @type {any} */ (socket), head)) socket.destroy()
  })
  await listen(server, { host: '127.0.0.1', port: 0 })
  t.after(() => {
    misrouted.stop()
    server.close()
    server.closeAllConnections()
  })
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  return {
    lines,
    /** @returns {Promise<string>} */
    poll: () => new Promise((resolve, reject) => {
      // the name of a page's gateway, which is not the one of a machine
      http.get({ port, path, agent: false, headers: { Host: 'app.example.com' } }, async (res) => {
        resolve((await res.toArray()).join(''))
      }).on('error', reject)
    }),
    /** @returns {Promise<number | undefined>} */
    upgrade: () => new Promise((resolve) => {
      http.get({ port, path, headers: { Connection: 'Upgrade', Upgrade: 'websocket' } })
        .on('upgrade', (res, socket) => {
          socket.destroy()
          resolve(res.statusCode)
        })
        .on('error', () => resolve(undefined))
    })
  }
}

/** @param {TestContext} t */
async function machines (t) {
  const authority = makeAuthority(t)
  /** @param {import('../../helpers/certificates.js').Pair} pair @param {string} [ca] */
  const certificateOf = async (pair, ca = authority.ca) =>
    (await startCertificate(t, { ...pair, ca }, { secure: { minVersion: 'TLSv1.3' } })).certificate
  return { authority, certificateOf }
}

test('polls and upgrades are forwarded over TLS, with certificates on both sides', async (t) => {
  const { authority, certificateOf } = await machines(t)
  const owner = await startOwner(t, await certificateOf(authority.issue('one')))
  const other = await startOther(t, owner, await certificateOf(authority.issue('two')))
  assert.match(await other.poll(), /^owner of app\.example\.com$/)
  assert.match(await other.poll(), /^owner/)
  assert.equal(await other.upgrade(), 101)
})

test('a machine without a certificate, or with one of another authority, is refused by the owner', async (t) => {
  const { authority, certificateOf } = await machines(t)
  const owner = await startOwner(t, await certificateOf(authority.issue('one')))
  const stranger = makeAuthority(t, 'stranger').issue('two')
  for (const certificate of [undefined, await certificateOf(stranger)]) {
    const other = await startOther(t, owner, certificate)
    // with TLS 1.3 the client has sent its request before the owner checks the certificate
    assert.match(await other.poll(), /^(no owner|\{"code":1,"message":"Session ID unknown"\})$/)
    assert.equal(await other.upgrade(), undefined)
  }
  const bare = tls.connect({ port: owner.port, host: '127.0.0.1', ca: readFileSync(authority.ca) })
  bare.on('secureConnect', () => bare.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`))
  await assert.rejects(bare.toArray(), /certificate required|ECONNRESET/)
})

test('an owner whose certificate is of another authority, or for another address, is not trusted', async (t) => {
  const { authority, certificateOf } = await machines(t)
  const stranger = makeAuthority(t, 'stranger')
  for (const pair of [stranger.issue('one'), authority.issue('one', { names: 'IP:10.1.2.3' })]) {
    const owner = await startOwner(t, await certificateOf(pair))
    const other = await startOther(t, owner, await certificateOf(authority.issue('two')))
    assert.equal(await other.poll(), 'no owner')
    assert.equal(await other.upgrade(), undefined)
  }
})

test('an owner without TLS is reached by a machine with a certificate, during a change-over', async (t) => {
  const { authority, certificateOf } = await machines(t)
  const other = await startOther(t, await startOwner(t), await certificateOf(authority.issue('two')))
  assert.match(await other.poll(), /^owner/)
})

test('a changed certificate is shown to owners', async (t) => {
  const { authority, certificateOf } = await machines(t)
  const owner = await startOwner(t, await certificateOf(authority.issue('one')))
  const pair = makeAuthority(t, 'stranger').issue('two')
  const certificate = await certificateOf(pair)
  const other = await startOther(t, owner, certificate)
  assert.doesNotMatch(await other.poll(), /^owner/)
  const { version } = certificate
  const good = authority.issue('renewed')
  replaceFile(pair.cert, readFileSync(good.cert))
  replaceFile(pair.key, readFileSync(good.key))
  await waitFor(() => certificate.version > version)
  assert.match(await other.poll(), /^owner/)
})
