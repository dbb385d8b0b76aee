import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, test } from 'node:test'
import tls from 'node:tls'
import { fileURLToPath } from 'node:url'
import { startCluster } from '../helpers/cluster.js'
import { makeAuthority, replaceFile } from '../helpers/certificates.js'
import { fileScope } from '../helpers/file-scope.js'
import { ownRedisUrl } from '../helpers/own-redis.js'
import { waitFor } from '../helpers/wait.js'

const scope = fileScope()
const REDIS_URL = await ownRedisUrl(scope)

/** Open connections while the certificate changes; TLS_CONNECTIONS=5000 is the run of docs/tls.md. */
const CONNECTIONS = Number(process.env.TLS_CONNECTIONS ?? 60)
/** The response names the worker. */
const REQUEST = 'GET /socket.io/?EIO=4&transport=polling HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'
const UPGRADE = `GET /socket.io/?EIO=4&transport=websocket HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade
Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`

/** Socket.IO's CONNECT as a frame, masked with zeros. */
const CONNECT = Buffer.from([0x81, 0x82, 0, 0, 0, 0, 0x34, 0x30])

/** The composition root of a role, without a launcher. */
const GATEWAY = fileURLToPath(new URL('../../src/gateway.js', import.meta.url))

/** @param {Record<string, string>} [env] @param {string} [file] */
async function start (env = {}, file) {
  const authority = makeAuthority(scope)
  const [cert, key] = ['cert.pem', 'key.pem'].map((name) => join(authority.folder, name))
  /** @param {string} name */
  const use = (name) => {
    const pair = authority.issue(name)
    replaceFile(cert, readFileSync(pair.cert))
    replaceFile(key, readFileSync(pair.key))
  }
  use('first')
  const cluster = await startCluster(scope, {
    REDIS_URL, WORKERS: '2', LOG_LEVEL: 'info', TLS_FILES: `cert:${cert},key:${key}`,
    MAX_HANDSHAKES_PER_SECOND: '10000', MAX_CONNECTIONS: '10000', MAX_CONNECTIONS_PER_ADDRESS: '100000',
    // each connection is silent until then
    NETWORK: '60000:60000:20000', DRAIN_TIMEOUT: '3000', ...env
  }, { file })
  return { cluster, use, cert, key, ca: readFileSync(authority.ca), port: Number(cluster.port) }
}

/** @type {Awaited<ReturnType<typeof start>>} */
let server
before(async () => { server = await start() }, { timeout: 270_000 })

/**
 * One request on a connection of its own.
 * @param {{ port: number, ca: Buffer }} server
 * @param {tls.ConnectionOptions} [options]
 * @returns {Promise<{ worker: string, reused: boolean, name: string, session: Buffer }>}
 */
function ask ({ port, ca }, options) {
  return new Promise((resolve, reject) => {
    const socket = tls.connect({ host: '127.0.0.1', port, ca, ...options }, () => socket.write(REQUEST))
    let text = ''
    /** @type {Buffer} */
    let session
    let [reused, name] = [false, '']
    socket.once('secureConnect', () => {
      reused = socket.isSessionReused()
      name = String(socket.getPeerCertificate().subject?.CN)
    })
    socket.on('session', (ticket) => { session = ticket })
    socket.setEncoding('latin1').on('data', (chunk) => { text += chunk })
    socket.on('error', reject).on('end', () => resolve({
      worker: /"sid":"(..)/.exec(text)?.[1] ?? text, reused, name, session
    }))
  })
}

for (const version of /** @type {const} */ (['TLSv1.2', 'TLSv1.3'])) {
  test(`a session of one worker is resumed at the other: ${version}`, async () => {
    const seen = { same: 0, other: 0, resumed: 0 }
    const options = { minVersion: version, maxVersion: version }
    await waitFor(async () => {
      const first = await ask(server, options)
      const again = await ask(server, { ...options, session: first.session })
      seen[again.worker === first.worker ? 'same' : 'other']++
      if (again.reused) seen.resumed++
      return seen.other >= 5 && seen.same >= 1
    }, { timeout: 20_000 })
    assert.equal(seen.resumed, seen.same + seen.other, JSON.stringify(seen))
  })
}

test('machines with the same TLS_TICKET_SECRET resume each other\'s sessions', async () => {
  const env = { TLS_TICKET_SECRET: 'a secret of more than 32 characters' }
  const [one, two] = await Promise.all([start(env, GATEWAY), start(env, GATEWAY)])
  const { session } = await ask(one)
  const options = { session, rejectUnauthorized: false }
  assert.deepEqual([(await ask(two, options)).reused, (await ask(server, options)).reused], [true, false])
  await Promise.all([one.cluster.stop(), two.cluster.stop()])
})

test('a session is resumed at workers that are started later', async () => {
  const versions = /** @type {const} */ (['TLSv1.2', 'TLSv1.3'])
    .map((version) => ({ minVersion: version, maxVersion: version }))
  const sessions = []
  for (const options of versions) sessions.push((await ask(server, options)).session)
  process.kill(server.cluster.pid, 'SIGHUP')
  await waitFor(() => server.cluster.output().includes('reload finished'), { timeout: 60_000 })
  for (const [i, options] of versions.entries())
    for (let tries = 0; tries < 6; tries++)
      assert.equal((await ask(server, { ...options, session: sessions[i] })).reused, true)
})

test(`a changed certificate is taken under ${CONNECTIONS} connections, none of which is dropped`, async (t) => {
  /** @type {Set<tls.TLSSocket>} */
  const open = new Set()
  let received = 0
  const connect = () => new Promise((resolve, reject) => {
    const socket = tls.connect({ host: '127.0.0.1', port: server.port, ca: server.ca }, () => socket.write(
      UPGRADE.replace(/([^\r])\n/, '$1\r\n')
    ))
    let text = ''
    socket.once('error', reject)
    socket.on('data', function answer (chunk) {
      if (text === '') socket.write(CONNECT)
      text += chunk.toString('latin1')
      if (!text.includes('40{"sid"')) return
      socket.off('data', answer)
      open.add(socket)
      socket.on('data', () => { received++ }).on('close', () => open.delete(socket))
      resolve(undefined)
    })
  })
  t.after(() => { for (const socket of open) socket.destroy() })
  for (let left = CONNECTIONS; left > 0; left -= 50)
    await Promise.all(Array.from({ length: Math.min(50, left) }, connect))
  assert.equal(open.size, CONNECTIONS)

  server.use('second')
  const [from, names] = [Date.now(), new Map()]
  await waitFor(async () => {
    // at once: one after the other, the same worker may accept all of them
    const answers = await Promise.all(Array.from({ length: 8 }, () => ask(server)))
    for (const { worker, name } of answers) names.set(worker, name)
    return names.size === 2 && [...names.values()].every((name) => name === 'second')
  }, { timeout: 10_000, message: () => [...names] })
  t.diagnostic(`all workers have the new certificate after ${Date.now() - from} ms`)

  received = 0
  for (const socket of open) socket.write(Buffer.from([0x89, 0x80, 0, 0, 0, 0])) // a WebSocket ping
  await waitFor(() => received >= CONNECTIONS, {
    timeout: 20_000, message: () => `${CONNECTIONS} answers, there are ${received} of ${open.size} connections`
  })
  assert.equal(open.size, CONNECTIONS)

  // a wrong one changes nothing
  replaceFile(server.cert, 'nothing')
  await waitFor(() => server.cluster.output().match(/TLS_FILES has changed but is wrong/g)?.length === 2, {
    timeout: 10_000, message: () => server.cluster.output()
  })
  assert.equal((await ask(server)).name, 'second')
  assert.match(await server.cluster.metrics(), /inkcast_tls_certificate_days_left\{setting="TLS_FILES",role="gateway"\} 89\.9/)
})
