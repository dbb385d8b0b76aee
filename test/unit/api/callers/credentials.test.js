import assert from 'node:assert/strict'
import { test } from 'node:test'
import { digestOf, findByDigest } from '../../../../src/services/api/callers/credentials.js'

test('a token is compared with all of them, wherever it is, so that the time tells nothing', () => {
  const tokens = Array.from({ length: 20 }, (_, i) => `token-${i}`)
  for (const token of ['token-0', 'token-10', 'token-19', 'unknown']) {
    let compared = 0
    const known = tokens.map((entry) => {
      const digest = digestOf(entry)
      return { entry, get digest () { compared++; return digest } }
    })
    assert.equal(findByDigest(known, digestOf(token)), tokens.find((one) => one === token))
    assert.equal(compared, tokens.length, token)
  }
})
