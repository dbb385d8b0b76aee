import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import WebSocket from 'ws'
import { startInkcast } from '../../../bench/systems/inkcast.js'

const SETTINGS = { workers: 1, redisUrl: '', secret: 'a secret of at least 32 characters' }

test('a setting that a benchmark is given reaches the measured processes, and the result says what serves', async (t) => {
  const printed = t.mock.method(console, 'error', () => {})
  const compresses = async (/** @type {Record<string, string>} */ given) => {
    const { target, stop } = await startInkcast(SETTINGS, { given })
    const ws = new WebSocket(`ws://${target.host}:${target.port}/socket.io/?EIO=4&transport=websocket`)
    const [{ headers }] = await once(ws, 'upgrade')
    ws.terminate()
    await stop()
    return headers['sec-websocket-extensions'] !== undefined
  }
  assert.equal(await compresses({}), false)
  assert.equal(await compresses({ COMPRESS_FROM: '1024' }), true)
  const [plain, given] = printed.mock.calls.map((call) => call.arguments[0])
  assert.match(plain, /^inkcast \S+ serves$/)
  assert.match(given, /^inkcast \S+ serves, given COMPRESS_FROM=1024$/)
})
