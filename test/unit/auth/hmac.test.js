import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import { createVerifier } from 'fast-jwt'
import { createHmacReader } from '../../../src/people/auth/hmac.js'
import { SECRET, forgeToken, signToken, tokenPart } from '../../helpers/tokens.js'
import { seededRandom } from '../../helpers/random.js'

/** @type {Record<string, string>} */
const ALGORITHMS = { HS256: 'sha256', HS384: 'sha384', HS512: 'sha512' }

/** @param {string} alg @param {string} key @param {string} input */
const signed = (alg, key, input) => `${input}.${createHmac(ALGORITHMS[alg], key).update(input).digest('base64url')}`

/** Result of the library for a token: its claims, or undefined. @param {string} secret */
function library (secret) {
  const verify = createVerifier({
    key: secret,
    algorithms: ['HS256', 'HS384', 'HS512'],
    cache: false,
    ignoreExpiration: true,
    ignoreNotBefore: true
  })
  return (/** @type {string} */ token) => {
    try {
      return verify(token)
    } catch {
      return undefined
    }
  }
}

test('tokens of issuers are verified, with secrets shorter and longer than a block', () => {
  for (const secret of [
    'x'.repeat(32),
    'x'.repeat(63),
    'ü'.repeat(32),
    'ü'.repeat(33),
    'x'.repeat(127),
    'x'.repeat(128),
    'x'.repeat(129),
    '🖋'.repeat(200)
  ]) {
    const read = createHmacReader(secret)
    for (const alg of Object.keys(ALGORITHMS)) {
      for (const header of [{ alg }, { alg, typ: 'JWT' }, { typ: 'JWT', alg }]) {
        const claims = { sub: 'ädä 文書', exp: 1, list: [null] }
        const token = signed(alg, secret, `${tokenPart(header)}.${tokenPart(claims)}`)
        assert.deepEqual(read(token), claims, `${alg}, ${secret.length} characters`)
        assert.deepEqual(library(secret)(token), claims)
      }
    }
  }
})

test('payloads of all lengths are read, up to the one that is left to the library', () => {
  const read = createHmacReader(SECRET)
  for (let length = 0; length < 3200; length += 41) {
    const token = forgeToken({ sub: 'ada', padding: 'x'.repeat(length) })
    const known = read(token)
    assert.equal(known !== undefined, token.lastIndexOf('.') <= 4096, String(length))
    if (known !== undefined) assert.deepEqual(known, library(SECRET)(token))
  }
})

test('a token is valid only for the algorithm in its header', () => {
  const read = createHmacReader(SECRET)
  for (const alg of Object.keys(ALGORITHMS)) {
    for (const other of Object.keys(ALGORITHMS)) {
      const token = signed(other, SECRET, `${tokenPart({ alg })}.${tokenPart({ sub: 'ada' })}`)
      assert.equal(read(token) !== undefined, alg === other)
    }
  }
  for (const alg of ['none', 'None', 'RS256', 'hs256', ''])
    assert.equal(read(forgeToken({ sub: 'ada' }, { header: { alg } })), undefined)
})

test('a signed payload other than a JSON object is left to the library', () => {
  const read = createHmacReader(SECRET)
  for (const claims of ['[]', 'null', '7', '"ada"', '{', '']) assert.equal(read(forgeToken(claims)), undefined, claims)
})

test('a changed token is read only if the library accepts it, and with the same result', () => {
  const read = createHmacReader(SECRET)
  const verify = library(SECRET)
  const random = seededRandom(7)
  const below = (/** @type {number} */ end) => Math.floor(random() * end)
  // characters whose low byte is one of base64url's, and characters that lenient decoders skip
  const strange = ['A', 'b', '-', '_', '.', '=', '+', '/', ' ', '\n', '\u0000', 'é', 'Ł', '文', '🖋', '\ud800']
  let accepted = 0
  for (let i = 0; i < 4000; i++) {
    const alg = Object.keys(ALGORITHMS)[below(3)]
    let token = signed(alg, SECRET, `${tokenPart({ alg })}.${tokenPart({ sub: `user-${i}` })}`)
    const changes = below(4)
    for (let change = 0; change < changes; change++) {
      const at = random() < 0.3 ? token.length - below(3) : below(token.length)
      const kind = below(3)
      token =
        token.slice(0, at) + (kind < 2 ? strange[below(strange.length)] : '') + token.slice(kind === 0 ? at : at + 1)
    }
    const claims = read(token)
    if (claims === undefined) {
      if (changes === 0) assert.fail(`not read: ${token}`)
      continue
    }
    accepted++
    assert.deepEqual(claims, verify(token), JSON.stringify(token))
  }
  assert.ok(accepted > 1000)
})

test('a signature does not match a longer one that was compared before', async () => {
  const read = createHmacReader(SECRET)
  const token = await signToken({ sub: 'ada' })
  assert.ok(read(token))
  for (const character of ['é', '文', '\ud800', '🖋']) {
    const changed = token.slice(0, -character.length) + character
    assert.equal(read(changed), undefined, character)
  }
})
