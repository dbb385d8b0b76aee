import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { freePort } from '../services/ports.js'
import { ADMITTED, ONE_USER } from './admitted.js'
import { ANONYMOUS, COMPRESSED, SECURE } from './anonymous.js'
import { CALLERS } from './callers.js'
import { BETWEEN_WORKERS, DOORS } from './doors.js'
import { startGrpcCallers } from './grpc-callers.js'
import { GRPC } from './grpc.js'
import { assertHeld } from './limits.js'
import { PLAIN_ADMITTED, PLAIN_ANONYMOUS, PLAIN_SETTINGS } from './plain.js'
import { attacked, SECONDS } from './scene.js'
import { timeoutOf } from './timeouts.js'

/**
 * Limits of the other clients' latency (p99), ms. A short run beside other work only has to show that no process
 * stalls.
 */
const [P99, P99_ONE_CLIENT] = SECONDS >= 60 ? [500, 200] : [2000, 1000]
/** One for all attacks: they share a cluster if their settings are the same. */
const GRPC_PORT = await freePort()

/**
 * @typedef {object} Group
 * @property {Record<string, import('./anonymous.js').Attack>} attacks
 * @property {string} shows
 * @property {import('./rows.js').Row['who'] | ((name: string) => import('./rows.js').Row['who'])} who
 * @property {number} [p99]
 * @property {boolean} [steady] the memory of the worker must not double
 * @property {Omit<Parameters<typeof attacked>[2], 'who'>} [options]
 */

const byAnybody = /** @type {const} */ ({
  shows: 'an attacker without a token stops no client', who: 'anybody', steady: true
})
const byClient = /** @type {const} */ ({
  shows: 'one client at its limits starves no other client', who: 'a client', p99: P99_ONE_CLIENT, steady: true
})
const atDoors = /** @type {const} */ ({ shows: 'an attack on a port stops no client', who: 'anybody' })

/** Those with the same settings are neighbors. @type {Group[]} */
const GROUPS = [
  { ...byAnybody, attacks: ANONYMOUS },
  { ...byClient, attacks: ADMITTED },
  { ...byAnybody, attacks: PLAIN_ANONYMOUS, options: { env: PLAIN_SETTINGS } },
  { ...byClient, attacks: PLAIN_ADMITTED, options: { env: PLAIN_SETTINGS } },
  { attacks: CALLERS, shows: 'an attack on the api stops no client', who: 'a caller', options: { role: 'api' } },
  { ...atDoors, attacks: DOORS },
  {
    attacks: ONE_USER, shows: 'one user with many connections starves no other client', who: 'one user',
    // more connections than the default allows
    options: { env: { MAX_CONNECTIONS_PER_USER: '0' } }
  },
  {
    attacks: GRPC, shows: 'an attacker at the gRPC port stops no caller',
    who: (name) => name.includes('without') || name.includes('silent') ? 'anybody' : 'a caller',
    options: {
      role: 'api',
      env: { GRPC_PORT: String(GRPC_PORT) },
      more: { grpcPort: GRPC_PORT },
      measure: (t) => startGrpcCallers(t, GRPC_PORT)
    }
  },
  { ...byAnybody, attacks: COMPRESSED, options: { env: { COMPRESS_FROM: '1024' } } },
  { ...byAnybody, attacks: SECURE, options: { secure: true } },
  { ...atDoors, attacks: BETWEEN_WORKERS, options: { env: { WORKERS: '2' } } }
]

// They take turns (scene.js). Timeouts pass while others attack, so those with the longest come first.
describe('attacks', { concurrency: 10 }, () => {
  const all = GROUPS.flatMap((group) => Object.keys(group.attacks).map((name) => ({ name, group })))
  // the attacker's process finds an attack by its name
  assert.equal(new Set(all.map(({ name }) => name)).size, all.length)
  for (const { name, group } of all.sort((a, b) => timeoutOf(b.name) - timeoutOf(a.name))) {
    const { shows, who, p99 = P99, steady = false, options = {} } = group
    test(`${shows}: ${name}`, async (t) => {
      const row = await attacked(t, name, { who: typeof who === 'string' ? who : who(name), ...options })
      assertHeld(row, p99)
      const { memory } = row
      if (steady)
        assert.ok(memory.most < 2 * memory.before, `memory grew from ${memory.before} to ${memory.most} MB`)
    })
  }
})
