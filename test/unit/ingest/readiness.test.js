import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createReadiness, REBALANCE_TIME } from '../../../src/ingest/readiness.js'
import { manualClock } from '../../helpers/manual-clock.js'

function setUp () {
  const clock = manualClock()
  /** @type {{ ready: boolean, reason?: string }} */
  let now = { ready: false, reason: 'the consumer has not joined its group yet' }
  const readiness = createReadiness({ status: () => now, clock })
  return { clock, readiness, become: (/** @type {typeof now} */ status) => { now = status } }
}

test('an ingest that never joined its group is not ready, with a reason', () => {
  const { clock, readiness } = setUp()
  assert.equal(readiness.problem(), 'the consumer has not joined its group yet')
  clock.advance(REBALANCE_TIME)
  assert.equal(readiness.hasJoined(), false)
})

test('a rebalance directly after the start, before the first check of the readiness, is no problem', () => {
  const { readiness, become } = setUp()
  become({ ready: true })
  assert.equal(readiness.hasJoined(), true) // as during the start
  become({ ready: false, reason: 'rebalancing' })
  assert.equal(readiness.problem(), null)
})

test('a rebalance that lasts is a problem, until the group is joined again', () => {
  const { clock, readiness, become } = setUp()
  become({ ready: true })
  assert.equal(readiness.problem(), null)
  become({ ready: false, reason: 'rebalancing' })
  clock.advance(REBALANCE_TIME - 1)
  assert.equal(readiness.problem(), null)
  clock.advance(1)
  assert.equal(readiness.problem(), 'rebalancing')
  become({ ready: true })
  assert.equal(readiness.problem(), null)
})
