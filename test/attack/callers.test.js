import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CALLERS } from './callers.js'
import { attacked, SECONDS } from './scene.js'

/**
 * Limit of the clients' latency (p99), ms. A short run beside other work only has to show that the worker does not
 * stall.
 */
const P99 = SECONDS >= 60 ? 500 : 2000
/** Memory that the process of the api may take beside what it had, MB. */
const MEMORY = 200
const TOKEN = 'token-of-an-attacker'

for (const name of Object.keys(CALLERS)) {
  test(`an attack on the api stops no client: ${name}`, async (t) => {
    const { latency, closed, missing, memory } = await attacked(t, name, {
      who: 'a caller', role: 'api', env: { API_TOKENS: `attacker:${TOKEN}` }, more: { apiToken: TOKEN }
    })
    assert.deepEqual({ closed, missing }, { closed: 0, missing: 0 })
    assert.ok((latency.p99 ?? Infinity) < P99, `others waited ${latency.p99} ms (p99)`)
    assert.ok(memory.most - memory.before < MEMORY, `the api's memory grew from ${memory.before} to ${memory.most} MB`)
  })
}
