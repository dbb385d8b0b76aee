import assert from 'node:assert/strict'
import { test } from 'node:test'
import { givenSettings } from '../../../bench/systems/given.js'

test('settings for the measured processes are read beside the other options of a benchmark', () => {
  assert.deepEqual(givenSettings([]), {})
  assert.deepEqual(
    givenSettings(['--rounds', '2', '--set', 'COMPRESS_FROM=1024', '--no-save', '--set=REDIS_URL=redis://a/?b=c']),
    { COMPRESS_FROM: '1024', REDIS_URL: 'redis://a/?b=c' }
  )
})

test('what is no setting is an error, because it would have no effect', () => {
  for (const text of ['COMPRESS_FORM=1024', 'COMPRESS_FROM', 'PATH=/bin', '=1', ''])
    assert.throws(() => givenSettings(['--set', text]), /must be NAME=VALUE with the name of a setting/)
})
