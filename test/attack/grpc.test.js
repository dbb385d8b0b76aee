import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { grpcClient } from '../helpers/grpc.js'
import { freePort } from '../services/ports.js'
import { OBSERVER_TOKEN } from './clusters.js'
import { GRPC } from './grpc.js'
import { assertHeld } from './limits.js'
import { attacked, SECONDS } from './scene.js'

/** Limit of the other clients' latency (p99), ms. */
const P99 = SECONDS >= 60 ? 500 : 2000
const CALLERS = 5
/** One for all attacks: they share a cluster if their settings are the same. */
const GRPC_PORT = await freePort()

for (const name of Object.keys(GRPC)) {
  test(`an attacker at the gRPC port stops no caller: ${name}`, async (t) => {
    let over = false
    const row = await attacked(t, name, {
      who: name.includes('without') || name.includes('silent') ? 'anybody' : 'a caller',
      role: 'api',
      env: { GRPC_PORT: String(GRPC_PORT) },
      more: { grpcPort: GRPC_PORT },
      async measure () {
        /** @type {number[]} */
        const latencies = []
        const callers = Array.from({ length: CALLERS }, async (_, i) => {
          const { call } = grpcClient(t, GRPC_PORT, OBSERVER_TOKEN)
          while (!over) {
            const begin = performance.now()
            const { guid, inkcast } = await call('Position', { guid: `g-${i}` })
            assert.equal(guid, `g-${i}`, inkcast)
            latencies.push(performance.now() - begin)
            await delay(50)
          }
        })
        return async () => {
          over = true
          await Promise.all(callers)
          return latencies
        }
      }
    })
    assertHeld(row, P99)
  })
}
