import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import tls from 'node:tls'
import { makeAuthority } from '../helpers/certificates.js'
import { fileScope } from '../helpers/file-scope.js'
import { ownRedisUrl } from '../helpers/own-redis.js'
import { startPm2 } from '../helpers/pm2.js'

const scope = fileScope()
const REDIS_URL = await ownRedisUrl(scope)
/** The response names the worker. */
const REQUEST = 'GET /socket.io/?EIO=4&transport=polling HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'

/**
 * One request on a connection of its own.
 * @param {tls.ConnectionOptions} options
 * @returns {Promise<{ worker: string | undefined, reused: boolean, session: Buffer }>}
 */
function ask (options) {
  return new Promise((resolve, reject) => {
    let reused = false
    const socket = tls.connect({ host: '127.0.0.1', ...options }, () => {
      reused = socket.isSessionReused()
      socket.write(REQUEST)
    })
    let text = ''
    /** @type {Buffer} */
    let session
    socket.on('session', (ticket) => { session = ticket })
    socket.setEncoding('utf8').on('data', (chunk) => { text += chunk })
    socket.on('error', reject)
    socket.on('close', () => resolve({ worker: /"sid":"(..)/.exec(text)?.[1], reused, session }))
  })
}

test('under PM2 a TLS session of one worker is resumed at the others, also after a reload', {
  timeout: 240_000
}, async (t) => {
  const authority = makeAuthority(t)
  const pair = authority.issue('gateway')
  const cluster = await startPm2(t, {
    WORKERS: '2', REDIS_URL, DRAIN_TIMEOUT: '1000', TLS_FILES: `cert:${pair.cert},key:${pair.key}`
  })
  const versions = await Promise.all(/** @type {const} */ (['TLSv1.2', 'TLSv1.3']).map(async (version) => {
    const server = {
      port: Number(new URL(cluster.url).port), ca: readFileSync(authority.ca), minVersion: version, maxVersion: version
    }
    return { version, server, first: await ask(server) }
  }))
  const resume = async () => {
    for (const { version, server, first } of versions) {
      const answers = []
      // until both workers have answered
      for (let i = 0; i < 200 && new Set(answers.map(({ worker }) => worker)).size < 2; i++)
        answers.push(await ask({ ...server, session: first.session }))
      assert.equal(new Set(answers.map(({ worker }) => worker)).size, 2, `${version}: both workers have answered`)
      assert.deepEqual(answers.filter(({ reused }) => !reused), [], version)
    }
  }
  await resume()
  await cluster.pm2('reload', 'inkcast-gateway')
  await resume()
})
