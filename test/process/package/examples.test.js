import assert from 'node:assert/strict'
import { execFile, execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import msgpack from 'socket.io-msgpack-parser'
import { io } from 'socket.io-client'
import { startEmbedded } from '../../helpers/embedded.js'
import { generatePythonClient, lacksPythonGrpc } from '../../helpers/python-grpc.js'
import { lacksPythonSocketio, startPythonClient } from '../../helpers/python-socketio.js'
import { waitFor } from '../../helpers/wait.js'
import { spawnGuarded } from '../../services/guard.js'
import { onPath } from '../../services/install.js'

const EXAMPLES = fileURLToPath(new URL('../../../examples/', import.meta.url))
/** Kills the program after it renames a file. */
const KILLED_WHEN_SAVED = `data:text/javascript,${encodeURIComponent(`
  import fs from 'node:fs'
  import { syncBuiltinESMExports } from 'node:module'
  const rename = fs.renameSync
  fs.renameSync = (...args) => { rename(...args); process.kill(process.pid, 'SIGKILL') }
  syncBuiltinESMExports()
`)}`
const server = await startEmbedded({ after })

/** @param {import('node:test').TestContext} t */
function temporaryFolder (t) {
  const folder = mkdtempSync(join(tmpdir(), 'inkcast-'))
  t.after(() => rmSync(folder, { recursive: true }))
  return folder
}

describe('the examples', () => {
  test('callers: each one may do what its entry says', async (t) => {
    const { post } = await startEmbedded(t, { API_CALLERS_FILE: join(EXAMPLES, 'callers', 'callers.json') })
    const status = async (/** @type {string} */ token, /** @type {string} */ path) =>
      (await post(path, 1, { authorization: `Bearer ${token}` })).status
    const editor = 'editor-token-for-this-machine'
    assert.equal(await status(editor, '/v1/documents/notes%2F1/broadcast'), 202)
    assert.equal(await status(editor, '/v1/documents/minutes/broadcast'), 403)
    assert.equal(await status('notifications-token-here', '/v1/users/ada/send'), 202)
    assert.equal(await status('notifications-token-here', '/v1/documents/notes%2F1/broadcast'), 403)
  })

  test('node: a program that follows a document continues after a kill where it was', async (t) => {
    const folder = temporaryFolder(t)
    const follow = (/** @type {string[]} */ ...flags) => {
      const log = join(folder, `log-${Math.random()}`)
      const run = spawnGuarded(
        process.execPath,
        [...flags, join(EXAMPLES, 'node', 'follow.js'), 'followed', server.url, join(folder, 'position.json')],
        { log }
      )
      t.after(() => run.stop(1000))
      return run
    }
    /** @param {ReturnType<typeof follow>} run */
    const printed = (run) => run.lastOutput().split('\n').filter((line) => line.startsWith('{'))
    const publish = (/** @type {number} */ value) => server.post('/v1/documents/followed/broadcast', value)
    const first = follow()
    await waitFor(() => existsSync(join(folder, 'position.json')), {
      timeout: 15_000,
      message: () => first.lastOutput()
    })
    await first.stop(0)
    for (let value = 1; value <= 4; value++) await publish(value)
    // all records have arrived when it is killed, directly after it has processed one
    const second = follow('--import', KILLED_WHEN_SAVED)
    assert.deepEqual(await second.finished(), { code: null, signal: 'SIGKILL' })
    assert.deepEqual(printed(second), ['{"offset":1,"payload":1}'])
    const third = follow()
    await waitFor(() => printed(third).length === 3, { timeout: 15_000, message: () => third.lastOutput() })
    assert.deepEqual(printed(third), [
      '{"offset":2,"payload":2}',
      '{"offset":3,"payload":3}',
      '{"offset":4,"payload":4}'
    ])
    await publish(5)
    await waitFor(() => printed(third).length === 4, { timeout: 15_000, message: () => third.lastOutput() })
    // it prints a record before it saves the position
    const saved = () => JSON.parse(readFileSync(join(folder, 'position.json'), 'utf8')).offset
    await waitFor(() => saved() === 5, { timeout: 15_000, message: () => `the position is ${saved()}` })
    await third.stop(5000)
  })

  test('msgpack: binary is returned unchanged', async () => {
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [join(EXAMPLES, 'msgpack', 'client.js'), server.url],
      { timeout: 30_000 }
    )
    assert.equal(stdout.trim(), 'red Float32Array(3) [ 0.5, 1.5, 2.25 ]')
  })

  test('producers: Python compiles', { skip: onPath('python3') ? false : 'there is no python3' }, () => {
    execFileSync('python3', [
      '-c',
      'import ast, sys; ast.parse(open(sys.argv[1]).read())',
      join(EXAMPLES, 'producers', 'producer.py')
    ])
  })

  test('http: curl publishes to a document and a user', { skip: onPath('curl') ? false : 'there is no curl' }, async (t) => {
    const { apiUrl } = await startEmbedded(t)
    const { stdout } = await promisify(execFile)('sh', [join(EXAMPLES, 'http', 'publish.sh'), 'minutes', apiUrl])
    const [toDocument, toUser] = stdout.trim().split('\n').map((line) => JSON.parse(line))
    assert.equal(toDocument.position.offset, 1)
    assert.equal(toUser.position.offset, 1)
  })

  test('http: a Node program publishes one record, then many', async (t) => {
    const { apiUrl } = await startEmbedded(t)
    const { stdout } = await promisify(execFile)(process.execPath, [join(EXAMPLES, 'http', 'publish.js'), 'minutes', apiUrl])
    assert.deepEqual(stdout.trim().split('\n').map((line) => JSON.parse(line)), [
      { published: 1 }, { batch: 100, failed: 0 }
    ])
  })

  test('grpc: a generated Python client publishes, streams, and reads what clients do', { timeout: 240_000 }, async (t) => {
    const lacks = await lacksPythonGrpc()
    if (lacks) return t.skip(lacks)
    const { python, env } = await generatePythonClient(temporaryFolder(t))
    const gateway = await startEmbedded(t, { GRPC_PORT: '0', UPLINK_GROUPS: 'example' })
    const address = `127.0.0.1:${gateway.grpcPort()}`
    const client = io(gateway.url, { forceNew: true })
    t.after(() => client.disconnect())
    /** @type {any[]} */
    const received = []
    client.on('edit', (payload) => received.push(payload))
    await client.timeout(30_000).emitWithAck('doc:join', { guid: 'minutes' })

    const { stdout } = await promisify(execFile)(
      python, [join(EXAMPLES, 'grpc', 'publish.py'), 'minutes', address], { env: { ...process.env, ...env } }
    )
    assert.deepEqual(stdout.trim().split('\n'), [
      'published 1', 'refused INVALID_ARGUMENT reserved_event', 'streamed 1000 True'
    ])
    await waitFor(() => received.length === 1001, { message: () => received.length })
    assert.deepEqual(received[0], { cell: 'A1', text: 'hello' })
    assert.deepEqual(received.slice(1), Array.from({ length: 1000 }, (_, number) => ({ number })))

    const reader = spawnGuarded(python, [join(EXAMPLES, 'grpc', 'events.py'), 'example', address], {
      log: join(temporaryFolder(t), 'log'), env: { ...process.env, ...env }
    })
    t.after(() => reader.stop(1000))
    await client.timeout(30_000).emitWithAck('doc:send', { guid: 'minutes', data: 'from the page' })
    await waitFor(() => /^message minutes \S+ "from the page"$/m.test(reader.lastOutput()), {
      timeout: 20_000, message: () => reader.lastOutput()
    })
  })

  test('producers: Go is well formed', { skip: onPath('gofmt') ? false : 'there is no gofmt' }, () => {
    assert.equal(execFileSync('gofmt', ['-l', '-e', join(EXAMPLES, 'producers', 'producer.go')]).toString(), '')
  })
})

describe('the example of rooms', () => {
  test('serves python-socketio, in two namespaces and with both transports', async (t) => {
    const lacks = await lacksPythonSocketio()
    if (lacks) return t.skip(lacks)
    const { url } = await startEmbedded(t, { EXTENSIONS: join(EXAMPLES, 'rooms', 'rooms.js') })
    for (const [namespace, transport] of [['/', 'websocket'], ['/support', 'polling']]) {
      const socket = io(url + namespace, { forceNew: true })
      t.after(() => socket.disconnect())
      /** @type {unknown[]} */
      const received = []
      socket.on('message', ({ text }) => received.push(text))
      socket.on('left', ({ room }) => received.push(`left ${room}`))
      await socket.timeout(30_000).emitWithAck('join', 'lobby')
      const { printed, end } = startPythonClient(t, url, namespace, transport, 'lobby')
      await waitFor(() => received.includes('from Python') && printed.length === 2, { message: () => printed })
      await socket.timeout(30_000).emitWithAck('message', { room: 'lobby', text: 'hello' })
      await waitFor(() => printed.length === 3, { message: () => printed })
      end()
      await waitFor(() => received.includes('left lobby'), { message: () => received })
      assert.deepEqual(printed.slice(0, 3).map(([event, data]) => data.text ?? `${event} ${data.length}`), [
        'members 2', 'from Python', 'hello'
      ])
    }
  })

  for (const namespace of ['/', '/support']) {
    test(`gives stock clients join, leave and message in ${namespace}`, async (t) => {
      const { url } = await startEmbedded(t, {
        EXTENSIONS: join(EXAMPLES, 'rooms', 'rooms.js'),
        EXTENSION_ROOMS_MAX_ROOMS: '3'
      })
      const [one, two, three] = [{}, { parser: msgpack }, { transports: ['polling'] }].map((options) => {
        const socket = io(url + namespace, { forceNew: true, ...options })
        t.after(() => socket.disconnect())
        return socket
      })
      const ask = (/** @type {typeof one} */ socket, /** @type {string} */ event, /** @type {unknown[]} */ ...args) =>
        socket.timeout(30_000).emitWithAck(event, ...args)
      /** @type {unknown[]} */
      const received = []
      for (const socket of [one, two, three]) {
        socket.on('message', ({ room, text }) => received.push(`${room} ${text}`))
        socket.on('left', ({ room }) => received.push(`left ${room}`))
      }
      assert.equal((await ask(one, 'join', 'lobby')).members.length, 1)
      assert.equal((await ask(two, 'join', 'lobby')).members.length, 2)
      assert.match((await ask(three, 'message', { room: 'lobby', text: 'hello' })).error, /join the room/)
      assert.equal((await ask(three, 'join', 'lobby')).members.length, 3)
      assert.deepEqual(await ask(three, 'message', { room: 'lobby', text: 'hello' }), {})
      await waitFor(() => received.length === 3, { message: () => received })
      assert.deepEqual(await ask(three, 'leave', 'lobby'), {})
      await waitFor(() => received.length === 5, { message: () => received })
      two.disconnect()
      await waitFor(() => received.length === 6, { message: () => received })
      assert.deepEqual(received, [...Array(3).fill('lobby hello'), ...Array(3).fill('left lobby')])
      assert.match((await ask(one, 'join', '../etc')).error, /letters/)
      await ask(one, 'join', 'a')
      await ask(one, 'join', 'b')
      assert.match((await ask(one, 'join', 'c')).error, /3 rooms/)
    })
  }
})
