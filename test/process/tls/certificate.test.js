import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import https from 'node:https'
import { join } from 'node:path'
import { test } from 'node:test'
import tls from 'node:tls'
import { promisify } from 'node:util'
import { systemClock } from '../../../src/base/common/clock.js'
import { createHttpServer, notFound } from '../../../src/transport/engine/http.js'
import { createClosing } from '../../../src/transport/engine/socket-reader.js'
import { listen } from '../../../src/base/process/listen.js'
import { makeAuthority, replaceFile, startCertificate } from '../../helpers/certificates.js'
import { recordingLog } from '../../helpers/recording-log.js'
import { waitFor } from '../../helpers/wait.js'
import { freePort } from '../../services/ports.js'

/** @typedef {import('node:test').TestContext} TestContext */

/**
 * The HTTP server of a gateway with a certificate from files that a test changes.
 * @param {TestContext} t
 * @param {object} [options]
 * @param {Partial<Parameters<typeof startCertificate>[2]>} [options.more]
 */
async function serve (t, { more } = {}) {
  const authority = makeAuthority(t)
  const [cert, key] = ['cert.pem', 'key.pem'].map((name) => join(authority.folder, name))
  /** @param {import('../../helpers/certificates.js').Pair} pair */
  const use = (pair) => {
    replaceFile(cert, readFileSync(pair.cert))
    replaceFile(key, readFileSync(pair.key))
  }
  use(authority.issue('first'))
  const started = await startCertificate(t, { cert, key }, more)
  const server = createHttpServer({
    engine: /** @type {any} */ ({ clock: systemClock, closing: createClosing(systemClock) }),
    socketPath: '/socket.io/', fallback: notFound, certificate: started.certificate, isDraining: () => false, log: recordingLog().log
  })
  // one that it listens on again has a number that no other process gets meanwhile
  const port = await freePort()
  await listen(server, { host: '127.0.0.1', port })
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  return { authority, cert, key, use, port, server, ca: readFileSync(authority.ca), ...started }
}

/**
 * @param {{ port: number, ca: Buffer }} server
 * @param {tls.ConnectionOptions} [options]
 * @returns {Promise<tls.TLSSocket>}
 */
function connect ({ port, ca }, options) {
  return new Promise((resolve, reject) => {
    const socket = tls.connect({ host: '127.0.0.1', port, ca, ...options }, () => resolve(socket))
    socket.once('error', reject)
  })
}

/** @param {{ lines: { text: string }[] }} server @returns {string[]} the log, without fields */
const textsOf = ({ lines }) => lines.map(({ text }) => text.replace(/^\{.*\} /, ''))

/** @param {{ port: number, ca: Buffer }} server @returns {Promise<string>} common name */
async function nameAt (server) {
  const socket = await connect(server)
  const { subject } = socket.getPeerCertificate()
  socket.destroy()
  return String(subject.CN)
}

/** @param {{ port: number, ca: Buffer }} server @param {https.Agent} agent @returns {Promise<number | undefined>} */
const get = ({ port, ca }, agent) => new Promise((resolve, reject) => {
  https.get({ host: '127.0.0.1', port, ca, agent }, (res) => {
    res.resume().on('end', () => resolve(res.statusCode))
  }).on('error', reject)
})

/** @param {number} port @param {string[]} args @returns {Promise<string>} what openssl s_client prints */
async function sClient (port, ...args) {
  const running = promisify(execFile)('openssl', ['s_client', '-connect', `127.0.0.1:${port}`, ...args])
  running.child.stdin?.end()
  const { stdout } = await running.catch((error) => error)
  return stdout
}

test('a changed certificate is taken for new connections, and open ones go on', async (t) => {
  const server = await serve(t)
  const agent = new https.Agent({ keepAlive: true, maxSockets: 1 })
  t.after(() => agent.destroy())
  assert.equal(await get(server, agent), 404)
  const [kept] = Object.values(agent.freeSockets)[0] ?? []
  assert.equal(await nameAt(server), 'first')

  server.use(server.authority.issue('second'))
  await waitFor(async () => await nameAt(server) === 'second')
  assert.equal(await get(server, agent), 404)
  assert.equal(Object.values(agent.freeSockets)[0]?.[0], kept, 'the same connection')
  assert.deepEqual(textsOf(server), ['TLS_FILES has changed and is in force'])
})

for (const when of ['while it does not listen', 'after it listens again']) {
  test(`a server that stops listening for a time has a certificate that changes ${when}`, async (t) => {
    const served = await serve(t)
    const { server, port, use, authority, certificate } = served
    const stopped = once(server, 'close')
    server.close()
    await stopped
    const renew = async () => {
      const { version } = certificate
      use(authority.issue('second'))
      await waitFor(() => certificate.version > version)
    }
    if (when.startsWith('while')) await renew()
    await listen(server, { host: '127.0.0.1', port })
    if (when.startsWith('after')) await renew()
    const socket = await connect(served)
    t.after(() => socket.destroy())
    assert.equal(socket.getPeerCertificate().subject.CN, 'second')
  })
}

test('wrong files change nothing, the reason is logged, and correct ones are taken later', async (t) => {
  const server = await serve(t)
  const second = server.authority.issue('second')
  const problems = () => server.lines.filter(({ level }) => level === 'error').map(({ text }) => text)
  // without its key
  replaceFile(server.cert, readFileSync(second.cert))
  await waitFor(() => problems().length === 1)
  assert.match(problems()[0], /"cert and key are no PEM certificate and its key \(.*mismatch\)"/)
  assert.match(problems()[0], /TLS_FILES has changed but is wrong: the last correct one stays in force$/)
  assert.equal(await nameAt(server), 'first')
  replaceFile(server.cert, 'nothing')
  await waitFor(() => problems().length === 2)
  assert.match(problems()[1], /no PEM certificate and its key/)
  assert.equal(await nameAt(server), 'first')
  server.use(second)
  await waitFor(async () => await nameAt(server) === 'second')
})

test('files that are replaced one after the other are no error', async (t) => {
  const server = await serve(t, { more: { every: 10 } })
  const second = server.authority.issue('second')
  replaceFile(server.key, readFileSync(second.key))
  await new Promise((resolve) => { setTimeout(resolve, 100) })
  replaceFile(server.cert, readFileSync(second.cert))
  await waitFor(async () => await nameAt(server) === 'second')
  assert.deepEqual(server.lines.map(({ level }) => level), ['info'])
})

test('reload reads at once, and says so', async (t) => {
  const server = await serve(t, { more: { every: 3600_000 } })
  server.use(server.authority.issue('second'))
  await server.certificate.reload()
  assert.equal(await nameAt(server), 'second')
  writeFileSync(server.cert, 'nothing')
  await server.certificate.reload()
  assert.equal(await nameAt(server), 'second')
  assert.deepEqual(textsOf(server), [
    'TLS_FILES was read again and is in force',
    'TLS_FILES was read again but is wrong: the last correct one stays in force'
  ])
})

test('a metric has the days that are left, and the last 14 are a warning', async (t) => {
  const server = await serve(t)
  await server.metrics.collect()
  const { values: [{ value, labels }] } = await server.metrics.tls_certificate_days_left.get()
  assert.ok(value > 89.9 && value < 90.1, String(value))
  assert.equal(labels.setting, 'TLS_FILES')
  assert.deepEqual(server.certificate.warnings(), [])
  server.use(server.authority.issue('soon', { days: 3 }))
  await waitFor(() => server.certificate.daysLeft() < 4)
  assert.deepEqual(server.certificate.warnings(), ['the certificate of TLS_FILES expires in 2 days'])
})

test('TLS 1.3 alone is accepted with the option of Node.js, and no option allows TLS 1.1', async (t) => {
  const { DEFAULT_MIN_VERSION } = tls
  t.after(() => { tls.DEFAULT_MIN_VERSION = DEFAULT_MIN_VERSION })
  for (const [least, expected] of /** @type {const} */ ([['TLSv1.3', false], ['TLSv1.2', true], ['TLSv1', true]])) {
    tls.DEFAULT_MIN_VERSION = least
    const server = await serve(t)
    const accepts = (/** @type {tls.SecureVersion} */ version) =>
      connect(server, { minVersion: 'TLSv1.1', maxVersion: version, ciphers: 'DEFAULT:@SECLEVEL=0' })
        .then((socket) => { socket.destroy(); return true }, () => false)
    assert.deepEqual(
      [await accepts('TLSv1.1'), await accepts('TLSv1.2'), await accepts('TLSv1.3')], [false, expected, true], least)
  }
})

test('http/1.1 is negotiated, h2 and versions before 1.2 are refused, CBC ciphers are not offered', async (t) => {
  const server = await serve(t)
  assert.match(await sClient(server.port, '-alpn', 'h2,http/1.1'), /ALPN protocol: http\/1\.1/)
  await assert.rejects(connect(server, { ALPNProtocols: ['h2'] }), /no application protocol/i)
  await assert.rejects(
    connect(server, { minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT:@SECLEVEL=0' }),
    /alert|version|protocol/i
  )
  const [modern, older] = await Promise.all([connect(server), connect(server, { maxVersion: 'TLSv1.2' })])
  assert.deepEqual([modern.getProtocol(), older.getProtocol()], ['TLSv1.3', 'TLSv1.2'])
  assert.match(older.getCipher().name, /^ECDHE-ECDSA-(AES\d+-GCM|CHACHA20)/)
  for (const socket of [modern, older]) socket.destroy()
  await assert.rejects(
    connect(server, { maxVersion: 'TLSv1.2', ciphers: 'ECDHE-ECDSA-AES128-SHA:AES128-SHA' }), /handshake failure/
  )
})
