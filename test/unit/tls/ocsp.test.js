import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { nextUpdateOf } from '../../../src/tls/ocsp.js'
import { makeAuthority } from '../../helpers/certificates.js'

test('the end of an OCSP response by openssl is read, and other files are no response', (t) => {
  const authority = makeAuthority(t)
  const pair = authority.issue('server')
  const end = nextUpdateOf(readFileSync(authority.ocsp(pair, 3)))
  assert.ok(Math.abs(end - Date.now() - 3 * 24 * 3600_000) < 60_000, new Date(end).toISOString())
  assert.equal(nextUpdateOf(readFileSync(pair.cert)), NaN)
  // tryLater (3)
  assert.equal(nextUpdateOf(Buffer.from([0x30, 3, 0x0a, 1, 3])), NaN)
})
