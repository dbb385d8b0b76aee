import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { after, describe, test } from 'node:test'
import { promisify } from 'node:util'
import WebSocket from 'ws'
import { breakSendFrame } from '../../helpers/broken-hooks.js'
import { connectClient } from '../../helpers/clients.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { recordingLog } from '../../helpers/recording-log.js'
import { waitFor } from '../../helpers/wait.js'
import { checkHooks } from '../../../src/common/hook-switch.js'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))

/**
 * The optional private parts that a server uses.
 * @param {import('node:test').TestContext} t
 * @param {import('../../../src/common/log.js').Log} [log]
 */
async function partsInUse (t, log) {
  const { url, gateway } = await startEmbedded(t, { COMPRESS_FROM: '1' }, log)
  const ws = new WebSocket(`${url.replace('http', 'ws')}/socket.io/?EIO=4&transport=websocket`)
  const [{ headers }] = await new Promise((resolve) => { ws.once('upgrade', (...args) => resolve(args)) })
  const client = await connectClient(t, url)
  const { rooms } = gateway.io.sockets.adapter
  const [{ id, handshake, conn }] = [...gateway.io.sockets.sockets.values()]
  /** @type {unknown[]} */
  const got = []
  client.on('notice', (...args) => got.push(args))
  gateway.io.to(id).emit('notice', 1)
  await waitFor(() => got.length > 0, { message: 'an event for one connection' })
  assert.deepEqual(got, [[1]])
  ws.terminate()
  const { acks } = /** @type {any} */ (Object.getPrototypeOf(gateway.io.sockets.sockets.get(id)))
  return {
    compression: headers['sec-websocket-extensions'] ?? null,
    'own rooms': rooms.constructor.name,
    handshake: Object.keys(handshake).includes('issued'),
    request: conn.request !== null,
    acks: acks !== undefined
  }
}

const STOCK = { compression: null, 'own rooms': 'Map', handshake: true, request: true, acks: false }

describe('without private parts', () => {
  after(() => checkHooks({ enabled: true, log: recordingLog().log }))

  test('all optional ones are in use if the self-test passes', async (t) => {
    assert.deepEqual(await partsInUse(t), {
      compression: 'permessage-deflate; server_no_context_takeover; client_no_context_takeover',
      'own rooms': 'Rooms',
      handshake: false,
      request: false,
      acks: true
    })
  })

  test('none is in use if the self-test fails', async (t) => {
    t.after(breakSendFrame())
    assert.deepEqual(await partsInUse(t), STOCK)
  })

  test('none is in use if they are switched off', async (t) => {
    const { log, lines } = recordingLog()
    checkHooks({ enabled: false, log })
    assert.deepEqual(await partsInUse(t, log), STOCK)
    assert.deepEqual(lines.filter(({ text }) => /self-test/.test(text)), [])
  })
})

test('a package file that has moved does not prevent the start', async () => {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--import', './test/helpers/moved-base64id.js', '-e', 'import("./src/embedded.js").then(() => console.log("loaded"))'],
    { cwd: ROOT }
  )
  assert.equal(stdout, 'loaded\n')
})
