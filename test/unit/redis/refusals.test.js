import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRefusals } from '../../../src/redis/refusals.js'
import { manualClock } from '../../helpers/manual-clock.js'
import { recordingLog } from '../../helpers/recording-log.js'

function setUp () {
  const { log, lines } = recordingLog()
  const clock = manualClock()
  return { clock, lines, refusals: createRefusals({ log, clock }) }
}
/** @param {string} message @param {string} [name] of the command */
const refusal = (message, name = 'evalsha') =>
  Object.assign(new Error(message), { name: 'ReplyError', command: { name } })

test('commands that Redis refuses are reported until they succeed again, and logged once a minute', () => {
  const { clock, lines, refusals } = setUp()
  assert.equal(refusals.reason, null)
  for (let i = 0; i < 8; i++) {
    refusals.note(
      refusal(
        'ERR The user executing the script can\'t run this command or subcommand script: 6049387, on @user_script:1.'
      )
    )
    assert.equal(
      refusals.reason,
      'Redis refuses what inkcast needs: ERR The user executing the script can\'t run this command or subcommand'
    )
    clock.advance(9_999)
  }
  assert.notEqual(refusals.reason, null)
  assert.equal(lines.length, 2)
  clock.advance(1)
  assert.equal(refusals.reason, null)
})

test('other errors, and refused optional commands, do not count', () => {
  const { lines, refusals } = setUp()
  for (const error of [
    refusal('LOADING Redis is loading'),
    refusal('WRONGTYPE'),
    refusal('NOPERM this user', 'info'),
    refusal('NOPERM this user', 'client'),
    'thrown',
    undefined
  ])
    refusals.note(error)
  assert.equal(refusals.reason, null)
  assert.deepEqual(lines, [])
  refusals.note(refusal('NOAUTH Authentication required.', 'info'))
  assert.notEqual(refusals.reason, null)
})
