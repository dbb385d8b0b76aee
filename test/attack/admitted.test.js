import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ADMITTED, ONE_USER } from './admitted.js'
import { assertHeld } from './limits.js'
import { attacked, SECONDS } from './scene.js'

/**
 * Limit of the other clients' latency (p99), ms. A short run beside other work only has to show that the worker does
 * not stall.
 */
const P99 = SECONDS >= 60 ? 200 : 1000
/** The same for one user with many connections. */
const P99_ONE_USER = SECONDS >= 60 ? 500 : 2000

for (const name of Object.keys(ADMITTED)) {
  test(`one client at its limits starves no other client: ${name}`, async (t) => {
    const row = await attacked(t, name, { who: 'a client' })
    const { memory } = row
    assertHeld(row, P99)
    assert.ok(memory.most < 2 * memory.before, `memory grew from ${memory.before} to ${memory.most} MB`)
  })
}

for (const name of Object.keys(ONE_USER)) {
  test(`one user with many connections starves no other client: ${name}`, async (t) => {
    // more connections than the default allows
    const env = { MAX_CONNECTIONS_PER_USER: '0' }
    assertHeld(await attacked(t, name, { who: 'one user', env }), P99_ONE_USER)
  })
}
