import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EMPTY_TTL } from '../../../src/presence/contract.js'
import { createMemoryPresence, createMemoryPresenceHub } from '../../../src/presence/memory-presence.js'
import { manualClock } from '../../helpers/manual-clock.js'

for (const step of [-86_400, -1000, -60, -1, 0, 60, 1000]) {
  test(`versions of a document that was forgotten do not go back after the clock was set by ${step} s`, async () => {
    const clock = manualClock()
    const hub = createMemoryPresenceHub({ maxMembers: 10, clock })
    const store = createMemoryPresence({ hub, workerNumber: 1, incarnation: 'i' })
    const change = (/** @type {'+' | '-'} */ op, guid = 'd') =>
      store.update(guid, [{ op, id: 'id', uid: 'ada', client: op === '+' ? 'c' : '', body: '{}' }])
    const version = async () => (await store.versions(['d']))[0]
    await change('+')
    await change('-')
    const last = /** @type {number} */ (await version())
    clock.step(step * 1000)
    clock.advance((EMPTY_TTL + 1) * 1000)
    await change('+', 'another')
    assert.equal(await version(), null, 'the document is forgotten')
    await change('+')
    assert.ok(/** @type {number} */ (await version()) > last, `${await version()} after ${last}`)
  })
}
