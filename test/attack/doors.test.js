import { test } from 'node:test'
import { BETWEEN_WORKERS, DOORS } from './doors.js'
import { assertHeld } from './limits.js'
import { attacked, SECONDS } from './scene.js'

/**
 * Limit of the other clients' latency (p99), ms. A short run beside other work only has to show that no process stalls.
 */
const P99 = SECONDS >= 60 ? 500 : 2000

for (const name of Object.keys({ ...DOORS, ...BETWEEN_WORKERS })) {
  test(`an attack on a port stops no client: ${name}`, async (t) => {
    /** @type {Record<string, string>} */
    const env = Object.hasOwn(BETWEEN_WORKERS, name) ? { WORKERS: '2' } : {}
    assertHeld(await attacked(t, name, { who: 'anybody', env }), P99)
  })
}
