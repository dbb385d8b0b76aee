import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ANONYMOUS, COMPRESSED, SECURE } from './anonymous.js'
import { assertHeld } from './limits.js'
import { attacked, SECONDS } from './scene.js'

/**
 * Limit of the other clients' latency (p99), ms. A short run beside other work only has to show that the worker does
 * not stall.
 */
const P99 = SECONDS >= 60 ? 500 : 2000

for (const name of Object.keys({ ...ANONYMOUS, ...COMPRESSED, ...SECURE })) {
  test(`an attacker without a token stops no client: ${name}`, async (t) => {
    const row = await attacked(t, name, {
      who: 'anybody',
      secure: Object.hasOwn(SECURE, name),
      env: Object.hasOwn(COMPRESSED, name) ? { COMPRESS_FROM: '1024' } : {}
    })
    assertHeld(row, P99)
    const { memory } = row
    assert.ok(memory.most < 2 * memory.before, `memory grew from ${memory.before} to ${memory.most} MB`)
  })
}
