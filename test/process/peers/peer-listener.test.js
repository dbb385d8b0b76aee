import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PROOF_HEADER, proofFor, isProven } from '../../../src/transport/peers/request-proof.js'
import { createPeerListener } from '../../../src/transport/peers/peer-listener.js'
import { createMetrics } from '../../../src/observe/metrics/metrics.js'
import { manualClock } from '../../helpers/manual-clock.js'
import { rawHttp } from '../../helpers/raw-http.js'
import { recordingLog } from '../../helpers/recording-log.js'
import { freePorts } from '../../services/ports.js'

const SECRETS = ['the secret of this cluster', 'the one before it']
const URL_PATH = '/socket.io/?EIO=4&transport=polling&sid=AAAAAAAAAAAAAAAAAAAA'

/**
 * @param {import('node:test').TestContext} t
 * @param {readonly number[]} ports
 */
async function startListener (t, ports = [0]) {
  const metrics = createMetrics({ processMetrics: false })
  const clock = manualClock()
  const listener = createPeerListener({
    socketPath: '/socket.io/', address: { host: '127.0.0.1', ports }, metrics, log: recordingLog().log, clock
  })
  await listener.start()
  t.after(() => listener.stop())
  /** @type {string[]} */
  const served = []
  const engine = /** @type {any} */ ({
    handleOwnRequest: (/** @type {any} */ req, /** @type {any} */ res) => {
      served.push(req.url)
      res.end('ok')
    },
    handleOwnUpgrade: (/** @type {any} */ req, /** @type {any} */ socket) => {
      served.push(req.url)
      socket.end('HTTP/1.1 101 Switching Protocols\r\n\r\n')
    }
  })
  return { listener, engine, metrics, clock, served, url: `http://127.0.0.1:${listener.port()}` }
}

const refused = async (/** @type {import('../../../src/observe/metrics/metrics.js').Metrics} */ metrics) =>
  (await metrics.stray_requests.get()).values.find(({ labels }) => labels.result === 'refused')?.value ?? 0

test('only a request with the proof of a worker is served', async (t) => {
  const { listener, engine, metrics, clock, served, url } = await startListener(t)
  const get = (/** @type {Record<string, string>} */ headers) =>
    fetch(url + URL_PATH, { headers }).then(({ status }) => status)
  const proof = (/** @type {string} */ secret, at = clock.now()) => ({
    [PROOF_HEADER]: proofFor(secret, 'GET', URL_PATH, at)
  })
  assert.equal(await get(proof(SECRETS[0])), 403, 'nothing is served before the gateway')
  listener.serve(engine, () => SECRETS)
  assert.equal(await get({}), 403)
  assert.equal(await get(proof('another secret')), 403)
  assert.deepEqual(served, [])
  assert.equal(await refused(metrics), 3)
  for (const secret of SECRETS) assert.equal(await get(proof(secret)), 200)
  assert.equal(served.length, 2)
})

test('an upgrade needs a proof as well', async (t) => {
  const { listener, engine, metrics, clock, served, url } = await startListener(t)
  listener.serve(engine, () => SECRETS)
  const upgrade = (/** @type {string} */ header) =>
    rawHttp(url, `GET ${URL_PATH} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${header}\r\n`)
  assert.match(await upgrade(''), /^HTTP\/1\.1 403 /)
  assert.equal(await refused(metrics), 1)
  assert.deepEqual(served, [])
  assert.match(
    await upgrade(`${PROOF_HEADER}: ${proofFor(SECRETS[0], 'GET', URL_PATH, clock.now())}\r\n`),
    /^HTTP\/1\.1 101 /
  )
})

test('a proof is for one method, one url and one time', () => {
  const now = 1_700_000_000_000
  const request = (
    /** @type {Partial<{ method: string, url: string, value: string | string[] }>} */ {
      method = 'GET',
      url = URL_PATH,
      value
    }
  ) => /** @type {any} */ ({ method, url, headers: { [PROOF_HEADER]: value } })
  const value = proofFor(SECRETS[0], 'GET', URL_PATH, now)
  assert.equal(isProven(SECRETS, request({ value }), now), true)
  assert.equal(isProven(SECRETS, request({ value }), now + 30_000), true)
  assert.equal(isProven(SECRETS, request({ value }), now - 30_000), true)
  assert.equal(isProven(SECRETS, request({ value }), now + 30_001), false)
  assert.equal(isProven(SECRETS, request({ value }), now - 30_001), false)
  assert.equal(isProven(SECRETS, request({ value, method: 'POST' }), now), false)
  assert.equal(isProven(SECRETS, request({ value, url: URL_PATH.replace('AAAA', 'AAAB') }), now), false)
  assert.equal(isProven([], request({ value }), now), false)
  const [time, signature] = value.split('.')
  for (const forged of [
    `${Number(time) + 1}.${signature}`,
    `${time}.${signature.slice(1)}`,
    `${time}.${signature}x`,
    time,
    `.${signature}`,
    '',
    [value, value]
  ]) {
    assert.equal(isProven(SECRETS, request({ value: forged }), now), false, String(forged))
  }
})

test('a replacement has another port while the previous worker still has the first one', async (t) => {
  const ports = await freePorts(2)
  const first = await startListener(t, ports)
  const second = await startListener(t, ports)
  assert.deepEqual([first.listener.port(), second.listener.port()], ports)
  await assert.rejects(startListener(t, ports), { code: 'EADDRINUSE' })
})
