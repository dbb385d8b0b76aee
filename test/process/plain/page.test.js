import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { codeBlocks } from '../../helpers/code-blocks.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { pythonEnvironment } from '../../helpers/python-environment.js'
import { startRelay } from '../../helpers/relay.js'
import { waitFor } from '../../helpers/wait.js'
import { spawnGuarded } from '../../services/guard.js'

const python = pythonEnvironment(['aiohttp==3.14.5', 'python-socketio==5.18.1'])

test('the Python of docs/websocket.md gets every record once and in order, over cuts of its connection', async (t) => {
  const lacks = await python.lacks()
  if (lacks) return t.skip(lacks)
  const inkcast = await startEmbedded(t, { LISTENERS: 'ws:/websocket/handshake' })
  /** @type {Set<import('node:net').Socket>} */
  const sockets = new Set()
  const line = await startRelay(Number(new URL(inkcast.url).port), (client, upstream) => {
    client.pipe(upstream).pipe(client)
    sockets.add(client)
    return () => { sockets.delete(client) }
  })
  t.after(() => line.stop())
  const folder = mkdtempSync(join(tmpdir(), 'inkcast-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const [block] = codeBlocks().filter(({ file, language }) => file === 'docs/websocket.md' && language === 'python')
  const log = join(folder, 'log')
  writeFileSync(join(folder, 'sensor.py'),
    `${block.code.replace('localhost:3000', `127.0.0.1:${line.port}`)}\n\nasyncio.run(main())\n`)
  const run = spawnGuarded(python.python, [join(folder, 'sensor.py')], { log })
  t.after(() => run.stop(1000))

  const shown = () => readFileSync(log, 'utf8').split('\n').filter((text) => /^\d+$/.test(text)).map(Number)
  let n = 0
  const publish = () => inkcast.post('/v1/documents/board/broadcast', ++n)
  await waitFor(async () => {
    await publish()
    return shown().length > 0
  }, { timeout: 30_000, message: () => readFileSync(log, 'utf8') })
  for (let round = 0; round < 2; round++) {
    for (const socket of sockets) socket.destroy()
    for (let i = 0; i < 3; i++) await publish()
    await waitFor(() => shown().at(-1) === n, { timeout: 30_000, message: () => readFileSync(log, 'utf8') })
  }
  const [first] = shown()
  assert.deepEqual(shown(), Array.from({ length: n - first + 1 }, (_, i) => first + i))
})
