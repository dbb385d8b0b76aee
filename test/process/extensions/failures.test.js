import assert from 'node:assert/strict'
import { describe, test, before } from 'node:test'
import { fileURLToPath } from 'node:url'
import { io } from 'socket.io-client'
import { connectClient, createClient } from '../../helpers/clients.js'
import { startCluster } from '../../helpers/cluster.js'
import { fileScope } from '../../helpers/file-scope.js'
import { waitFor } from '../../helpers/wait.js'

const EXTENSION = fileURLToPath(new URL('../../helpers/failing-extension.js', import.meta.url))

describe('an extension that fails', () => {
  const scope = fileScope()
  /** @type {Awaited<ReturnType<typeof startCluster>>} */
  let cluster
  before(async () => { cluster = await startCluster(scope, { EXTENSIONS: EXTENSION }) }, { timeout: 60_000 })

  async function errors () {
    const [, count] = /^inkcast_extension_errors_total\{extension="failing-extension".*\} (\d+)$/m
      .exec(await cluster.metrics()) ?? []
    return Number(count ?? 0)
  }

  for (const where of [
    'listener', 'once', 'prepended', 'async', 'timer', 'immediate', 'floating', 'ack', 'acks', 'others', 'trap', 'used', 'any'
  ]) {
    test(`harms no client: ${where}`, async (t) => {
      const client = await connectClient(t, cluster.url)
      client.on('ask', (answer) => answer())
      const before = await errors()
      client.emit(where)
      await waitFor(async () => await errors() > before, { message: errors })
      assert.equal(await client.ask('alive'), client.id)
      assert.equal((await client.ask('doc:join', { guid: where })).ok, true)
    })
  }

  test('harms no client: disconnect, in the session of another one', async (t) => {
    const [one, two] = [await connectClient(t, cluster.url), await connectClient(t, cluster.url)]
    const before = await errors()
    one.disconnect()
    await waitFor(async () => await errors() > before)
    assert.equal(await two.ask('alive'), two.id)
  })

  test('refuses a client whose middleware throws, and calls next once', async (t) => {
    const connect = (/** @type {string} */ path, query = {}) => {
      const socket = io(cluster.url + path, { forceNew: true, transports: ['websocket'], reconnection: false, query })
      t.after(() => socket.disconnect())
      return new Promise((resolve) => {
        socket.once('connect', () => resolve('connected'))
        socket.once('connect_error', (error) => resolve(/** @type {any} */ (error).data?.code ?? error.message))
      })
    }
    assert.deepEqual(
      await Promise.all([
        connect('/', { how: 'throw' }), connect('/', { how: 'refuse' }), connect('/', { how: 'twice' }),
        connect('/broken'), connect('/thrown'), connect('/allowed'), connect('/unknown')
      ]),
      ['internal', 'not you', 'connected', 'internal', 'Invalid namespace', 'connected', 'Invalid namespace']
    )
  })

  test('a removed listener is not called, and a slow one shows in the metrics', async (t) => {
    const client = await connectClient(t, cluster.url)
    const before = await errors()
    client.emit('removed')
    client.emit('slow')
    assert.equal(await client.ask('alive'), client.id)
    assert.equal(await errors(), before)
    const sum = /^inkcast_extension_seconds_sum\{extension="failing-extension",part="blocking".*\} ([\d.]+)$/m
    assert.ok(Number(sum.exec(await cluster.metrics())?.[1]) >= 0.06)
  })

  test('is named in the log, and ends nothing', async (t) => {
    assert.match(cluster.output(), /extension failed/)
    assert.match(cluster.output(), /failing-extension/)
    assert.doesNotMatch(cluster.output(), /unhandled rejection|uncaught exception/)
    const polling = createClient(t, cluster.url, { transports: ['polling'] })
    await polling.next('connect')
    assert.equal(await polling.ask('alive'), polling.id)
  })
})
