import assert from 'node:assert/strict'
import { test } from 'node:test'
import { givenSettings } from '../../../bench/systems/given.js'

test('settings for the measured processes are read beside the other options of a benchmark', () => {
  assert.deepEqual(givenSettings([]), {})
  assert.deepEqual(
    givenSettings(['--rounds', '2', '--set', 'PRIVATE_HOOKS=false', '--no-save', '--set=REDIS_URL=redis://a/?b=c']),
    { PRIVATE_HOOKS: 'false', REDIS_URL: 'redis://a/?b=c' }
  )
})

test('what is no setting is an error, because it would have no effect', () => {
  for (const text of ['PRIVATE_HOOK=false', 'PRIVATE_HOOKS', 'PATH=/bin', '=1', ''])
    assert.throws(() => givenSettings(['--set', text]), /must be NAME=VALUE with the name of a setting/)
})
