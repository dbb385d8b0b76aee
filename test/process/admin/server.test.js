import assert from 'node:assert/strict'
import http from 'node:http'
import { test } from 'node:test'
import { AdminServer } from '../../../src/operate/admin/server.js'
import { systemClock } from '../../../src/base/common/clock.js'
import { recordingLog } from '../../helpers/recording-log.js'

/** @typedef {import('node:test').TestContext} TestContext */

/**
 * @param {TestContext} t
 * @param {object} [options]
 * @param {boolean} [options.production]
 */
async function startAdmin (t, { production = false } = {}) {
  let reads = 0
  const processes = {
    async read () {
      reads++
      await new Promise((resolve) => { setTimeout(resolve, 10) })
      return { processes: [{ id: 'a', name: 'api-0', notReady: [], metrics: [] }], reasons: [] }
    }
  }
  const server = new AdminServer({
    settings: { host: '127.0.0.1', port: 0 },
    production,
    processes,
    clock: systemClock,
    log: recordingLog().log
  })
  await server.start()
  t.after(() => server.stop())
  return {
    reads: () => reads,
    /** @param {string} path @param {string} [host] @returns {Promise<number | undefined>} status */
    ask: (path, host = 'localhost') => new Promise((resolve, reject) => {
      http
        .get({ port: server.port(), host: '127.0.0.1', path, headers: { host }, agent: false }, (res) =>
          resolve(res.resume().statusCode)
        )
        .on('error', reject)
    })
  }
}

test('concurrent requests share a few reads of the processes', async (t) => {
  const { reads, ask } = await startAdmin(t)
  for (const path of ['/metrics', '/ready']) {
    const before = reads()
    const statuses = await Promise.all(Array.from({ length: 100 }, () => ask(path)))
    assert.deepEqual(new Set(statuses), new Set([200]))
    assert.ok(reads() - before <= 50, `${reads() - before} looks for ${path}`)
  }
})

test('in development a public host name is refused, because a stranger may point it here (DNS rebinding)', async (t) => {
  const development = await startAdmin(t)
  for (const path of ['/metrics', '/ready', '/live', '/']) {
    for (const host of ['rebound.evil.example:9100', 'evil.example'])
      assert.equal(await development.ask(path, host), 403, host)
  }
  for (const host of [
    'localhost:9100',
    '127.0.0.1:9100',
    '[::1]:9100',
    '10.0.0.11:9100',
    'inkcast:9100',
    'host.docker.internal'
  ])
    assert.equal(await development.ask('/metrics', host), 200, host)
  const production = await startAdmin(t, { production: true })
  assert.equal(await production.ask('/metrics', 'inkcast.example.com'), 200)
})
