import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { grpcClient } from '../helpers/grpc.js'
import { freePort } from '../services/ports.js'
import { GRPC } from './grpc.js'
import { attacked, SECONDS } from './scene.js'

/** Limit of callers' latency (p99), ms. */
const P99 = SECONDS >= 60 ? 2000 : 4000
/** Of the api process, MB. */
const MORE_MEMORY = 200
const CALLERS = 5
const TOKEN = '0123456789abcdef'
/** One for all attacks: they share a cluster if their settings are the same. */
const GRPC_PORT = await freePort()

for (const name of Object.keys(GRPC)) {
  test(`an attacker at the gRPC port stops no caller: ${name}`, async (t) => {
    let over = false
    const { latency, closed, missing, memory } = await attacked(t, name, {
      who: 'anybody',
      role: 'api',
      env: {
        GRPC_PORT: String(GRPC_PORT),
        API_TOKENS: `editor:${TOKEN}`
      },
      more: { grpcPort: GRPC_PORT },
      async measure () {
        /** @type {number[]} */
        const latencies = []
        const callers = Array.from({ length: CALLERS }, async (_, i) => {
          const { call } = grpcClient(t, GRPC_PORT, TOKEN)
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
    assert.deepEqual({ closed, missing }, { closed: 0, missing: 0 })
    assert.ok((latency.p99 ?? Infinity) < P99, `callers waited ${latency.p99} ms (p99)`)
    assert.ok(memory.most < memory.before + MORE_MEMORY, `memory grew from ${memory.before} to ${memory.most} MB`)
  })
}
