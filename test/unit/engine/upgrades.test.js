import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Upgrades } from '../../../src/transport/engine/upgrades.js'
import { manualClock } from '../../helpers/manual-clock.js'

/** @param {Upgrades} upgrades @returns {any} a session that notes what is done to it */
function sessionOf (upgrades) {
  const session = { polls: 0, ended: false, endPoll () { session.polls++ }, endUpgrade () {
    session.ended = true
    upgrades.delete(/** @type {any} */ (session))
  } }
  upgrades.add(/** @type {any} */ (session))
  return session
}

test('open polls end again and again from 50 ms after the probe on, and an upgrade that takes 10 s is given up', () => {
  const clock = manualClock()
  const upgrades = new Upgrades(clock)
  const [silent, probed] = [sessionOf(upgrades), sessionOf(upgrades)]
  clock.advance(40)
  upgrades.probed(probed)
  clock.advance(10)
  assert.equal(probed.polls, 0)
  clock.advance(50)
  assert.equal(probed.polls, 1)
  clock.advance(50)
  assert.equal(probed.polls, 2)
  for (let i = 0; i < 196; i++) clock.advance(50)
  assert.deepEqual([silent.ended, probed.ended, upgrades.size], [false, false, 2])
  clock.advance(50)
  assert.deepEqual([silent.ended, probed.ended, silent.polls, upgrades.size], [true, true, 0, 0])
})

test('a pause of the process is no part of these times', () => {
  const clock = manualClock()
  const upgrades = new Upgrades(clock)
  const session = sessionOf(upgrades)
  clock.advance(50)
  clock.stall(60_000)
  clock.advance(50)
  assert.equal(session.ended, false)
  upgrades.delete(session)
})
