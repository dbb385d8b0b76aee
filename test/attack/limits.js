/**
 * Limits that hold for each attack, whatever its kind.
 */
import assert from 'node:assert/strict'
import { SECONDS } from './scene.js'

/** Limit of the callers' latency (p99), ms. A short run beside other work only has to show that no process stalls. */
const P99_CALLERS = SECONDS >= 60 ? 2000 : 4000
/** Memory that a process may take beside what it had, MB. */
const MEMORY = 200
/** Time after the documented timeout until everything of the attacker is closed, ms. */
const BACK = 10_000

/**
 * Asserts that other clients and callers were served, and that nothing of the attacker is left. A pause of their own
 * process is not the gateway's: the host had stopped, or others had its cores.
 *
 * @param {import('./rows.js').Row} row
 * @param {number} p99 limit of the other clients' latency, ms
 */
export function assertHeld (row, p99) {
  const { latency, paused, callers, scrapes, refused, closed, missing } = row
  assert.deepEqual(
    { refused, closed, missing, callers: callers.failed, scrapes: scrapes.failed },
    { refused: [], closed: 0, missing: 0, callers: [], scrapes: [] }
  )
  assert.ok((latency.p99 ?? Infinity) < p99 + paused, `other clients waited ${latency.p99} ms (p99), ${paused} ms by themselves`)
  assert.ok((callers.latency.p99 ?? Infinity) < P99_CALLERS + paused, `callers waited ${callers.latency.p99} ms (p99)`)
  for (const { role, before, most } of row.processes)
    assert.ok(most < before + MEMORY, `the memory of the ${role} grew from ${before} to ${most} MB`)
  const { freed, timeout } = row
  assert.ok(
    freed * 1000 <= timeout + BACK,
    `connections of the attacker were open for ${freed} s after the attack, their timeout is ${timeout / 1000} s`
  )
}
