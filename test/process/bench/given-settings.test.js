import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startInkcast } from '../../../bench/systems/inkcast.js'

const SETTINGS = { workers: 1, redisUrl: '', secret: 'a secret of at least 32 characters' }

test('a setting that a benchmark is given reaches the measured processes, and the result says what serves', async (t) => {
  const printed = t.mock.method(console, 'error', () => {})
  const served = async (/** @type {Record<string, string>} */ given) => {
    const { privateParts, stop } = await startInkcast(SETTINGS, { given })
    await stop()
    return privateParts
  }
  assert.equal(await served({}), 'on')
  assert.equal(await served({ PRIVATE_HOOKS: 'false' }), 'off')
  assert.deepEqual(printed.mock.calls.map((call) => call.arguments[0]), [
    'inkcast serves with private parts on',
    'inkcast serves with private parts off, given PRIVATE_HOOKS=false'
  ])
})
