import assert from 'node:assert/strict'
import { test } from 'node:test'
import { claims, identityFromClaims, isPlain } from '../../../src/people/auth/identity.js'
import { parse } from '../../../src/base/common/schema.js'
import { seededRandom } from '../../helpers/random.js'

const VALUES = {
  sub: [
    'ada',
    'ada',
    '',
    'a\nb',
    'anonymous:ada',
    'anonymous',
    'x'.repeat(256),
    'x'.repeat(257),
    'ü'.repeat(128),
    'ü'.repeat(129),
    '\ud800',
    7,
    null,
    ['ada'],
    {},
    true
  ],
  exp: [0, 1_795_301_561, 1.5, -1, 8.64e12, -8.64e12, 8.64e12 + 1, 1e300, Infinity, -Infinity, NaN, '1', null, [1], {}],
  nbf: [0, 1_795_301_561, 1e300, '0', null],
  name: ['Ada', '', 'x'.repeat(256), 'x'.repeat(257), '\ud800', 7, null, {}],
  tier: ['idle', '', 'x'.repeat(65), 1, null],
  documents: [[], [{ guid: 'minutes', access: 'read' }], 'minutes', null],
  scope: ['more', null]
}

test('claims that pass the quick check equal the result of the schema', () => {
  const random = seededRandom(1)
  let seen = 0
  for (let i = 0; i < 10_000; i++) {
    /** @type {Record<string, unknown>} */
    const payload = {}
    for (const [claim, values] of Object.entries(VALUES)) {
      const chance = ['sub', 'exp', 'name'].includes(claim) ? 0.8 : 0.1
      if (random() < chance) payload[claim] = random() < 0.5 ? values[0] : values[Math.floor(random() * values.length)]
    }
    if (!isPlain(payload)) continue
    seen++
    const { value, problem } = parse(claims, payload)
    assert.equal(problem, undefined, JSON.stringify(payload))
    // ignore claims that the schema drops
    const { sub, exp, name } = /** @type {Record<string, unknown>} */ (payload)
    assert.deepEqual({ exp: undefined, name: undefined, ...value }, { sub, exp, name })
  }
  assert.ok(seen > 1000)
})

test('claims of most tokens pass the quick check', () => {
  for (const payload of [
    { sub: 'ada' },
    { sub: 'ada', exp: 1_795_301_561, iat: 1_795_301_560, name: 'Ada', iss: 'inkcast' }
  ])
    assert.ok(isPlain(payload))
})

test('a refusal names the claim, or says what is wrong with all of them', () => {
  for (const [payload, message] of /** @type {[any, string][]} */ ([
    [{ sub: 'ada', name: 7 }, 'the token\'s claim name: must be a string'],
    [{ sub: 'ada', documents: [{ access: 'read' }] }, 'the token\'s claim documents.0.guid: is missing'],
    [['ada'], 'the token\'s payload must be an object']
  ]))
    assert.throws(() => identityFromClaims(payload), { code: 'unauthorized', message })
})
