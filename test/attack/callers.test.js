import { test } from 'node:test'
import { CALLERS } from './callers.js'
import { assertHeld } from './limits.js'
import { attacked, SECONDS } from './scene.js'

/**
 * Limit of the clients' latency (p99), ms. A short run beside other work only has to show that the worker does not
 * stall.
 */
const P99 = SECONDS >= 60 ? 500 : 2000

for (const name of Object.keys(CALLERS)) {
  test(`an attack on the api stops no client: ${name}`, async (t) => {
    assertHeld(await attacked(t, name, { who: 'a caller', role: 'api' }), P99)
  })
}
