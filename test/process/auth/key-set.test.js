import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemRandom } from '../../../src/base/common/random.js'
import { createAuthenticator } from '../../../src/people/auth/authenticator.js'
import { httpService } from '../../helpers/http-service.js'
import { manualClock } from '../../helpers/manual-clock.js'
import { recordingLog } from '../../helpers/recording-log.js'
import { forgeToken, keyPairFor, signToken } from '../../helpers/tokens.js'
import { waitFor } from '../../helpers/wait.js'

/**
 * @typedef {object} IssuerKey
 * @property {string} kid
 * @property {string} alg
 * @property {import('node:crypto').KeyPairKeyObjectResult} pair
 */

/** @param {string} kid @param {string} [alg] @returns {IssuerKey} */
const newKey = (kid, alg = 'ES256') => ({ kid, alg, pair: keyPairFor(alg) })

/** @param {IssuerKey} key @param {object} [more] */
const jwk = ({ kid, pair }, more = {}) => ({ kid, ...pair.publicKey.export({ format: 'jwk' }), ...more })

/** @param {IssuerKey} key @param {Record<string, unknown>} [claims] */
const signedBy = ({ kid, alg, pair }, claims = {}) =>
  signToken({ sub: 'ada', ...claims }, { alg, key: pair.privateKey, header: { kid } })

/**
 * @param {import('node:test').TestContext} t
 * @param {unknown[]} keys of the issuer; the test may change them
 */
async function issuerWith (t, keys) {
  const issuer = { keys, status: 200, body: '', hold: /** @type {Promise<void> | undefined} */ (undefined) }
  const service = await httpService(t, async () => {
    await issuer.hold
    return { status: issuer.status, body: issuer.body || JSON.stringify({ keys: issuer.keys }) }
  })
  const clock = manualClock()
  const { log, lines } = recordingLog()
  const authenticator = createAuthenticator({
    settings: { keys: { url: service.url } }, log, clock, random: systemRandom
  })
  t.after(() => authenticator.stop())
  return {
    issuer, service, clock, lines, authenticator,
    authenticate: async (/** @type {string} */ token) => authenticator.authenticate(token)
  }
}

const refused = (/** @type {string} */ code, message = /./) => ({ name: 'InkcastError', code, message })

test('tokens verify at once with the keys fetched at the start', async (t) => {
  const keys = [newKey('one'), newKey('two', 'RS256'), newKey('three', 'EdDSA')]
  const { authenticator, service } = await issuerWith(t, keys.map((key) => jwk(key)))
  await authenticator.start()
  for (const key of keys) {
    const identity = authenticator.authenticate(await signedBy(key, { sub: key.kid }))
    assert.ok(!(identity instanceof Promise))
    assert.equal(identity.uid, key.kid)
  }
  assert.equal(service.requests, 1)
})

test('an unknown key id triggers one fetch for all waiting tokens, after which the new key is known', async (t) => {
  const [old, fresh] = [newKey('old'), newKey('fresh')]
  const { authenticator, authenticate, issuer, service, clock } = await issuerWith(t, [jwk(old)])
  await authenticator.start()
  issuer.keys = [jwk(old), jwk(fresh)]
  clock.stall(10_000)
  const tokens = await Promise.all(Array.from({ length: 20 }, (_, i) => signedBy(fresh, { sub: `user-${i}` })))
  const identities = await Promise.all(tokens.map(authenticate))
  assert.deepEqual(identities.map(({ uid }) => uid), tokens.map((_, i) => `user-${i}`))
  assert.equal(service.requests, 2)
  assert.equal((await authenticate(await signedBy(old))).uid, 'ada')
})

test('tokens with made-up key ids cause one request in 10 s, and are refused', async (t) => {
  const key = newKey('one')
  const { authenticator, authenticate, service, clock } = await issuerWith(t, [jwk(key)])
  await authenticator.start()
  clock.stall(10_000)
  for (let i = 0; i < 50; i++)
    await assert.rejects(
      authenticate(forgeToken({ sub: 'mallory' }, { header: { alg: 'ES256', kid: `made-up-${i}` } }))
    )
  assert.equal(service.requests, 2)
  clock.stall(9999)
  await assert.rejects(authenticate(forgeToken({ sub: 'mallory' }, { header: { alg: 'ES256', kid: 'made-up' } })))
  assert.equal(service.requests, 2)
  clock.stall(1)
  await assert.rejects(
    authenticate(forgeToken({ sub: 'mallory' }, { header: { alg: 'ES256', kid: 'made-up' } })),
    refused('unauthorized')
  )
  assert.equal(service.requests, 3)
})

test('during the cool-down, a key id seen for the first time gets a retry delay; one that the issuer did not have is refused',
  async (t) => {
    const [key, fresh, retired] = [newKey('one'), newKey('fresh'), newKey('retired')]
    const { authenticator, authenticate, issuer, clock } = await issuerWith(t, [jwk(key)])
    await authenticator.start()
    clock.stall(10_000)
    await assert.rejects(authenticate(await signedBy(retired)), refused('unauthorized', /issuer does not have/))
    await assert.rejects(authenticate(await signedBy(retired)), refused('unauthorized', /issuer does not have/))
    issuer.keys = [jwk(key), jwk(fresh)]
    await assert.rejects(authenticate(await signedBy(fresh)), refused('unavailable'))
    clock.stall(10_000)
    assert.equal((await authenticate(await signedBy(fresh))).uid, 'ada')
  })

test('while the issuer is down its known keys stay valid, and unknown ones are unavailable without a request each', async (t) => {
  const key = newKey('one')
  const { authenticator, authenticate, issuer, service, clock, lines } = await issuerWith(t, [jwk(key)])
  await authenticator.start()
  issuer.status = 500
  clock.stall(3_600_000)
  assert.equal((await authenticate(await signedBy(key))).uid, 'ada')
  await waitFor(() => lines.some(({ text }) => text.includes('cannot fetch the key set')))
  for (let i = 0; i < 20; i++)
    await assert.rejects(authenticate(await signedBy(newKey('other'))), refused('unavailable'))
  assert.equal(service.requests, 2)
})

test('an issuer that is down at the start makes tokens unavailable until it is back', async (t) => {
  const key = newKey('one')
  const { authenticator, authenticate, issuer, clock, service } = await issuerWith(t, [jwk(key)])
  issuer.status = 503
  await authenticator.start()
  await assert.rejects(authenticate(await signedBy(key)), refused('unavailable'))
  await assert.rejects(authenticate(await signedBy(key)), refused('unavailable'))
  assert.equal(service.requests, 1)
  issuer.status = 200
  clock.stall(1000)
  assert.equal((await authenticate(await signedBy(key))).uid, 'ada')
})

test('a key that the issuer withdrew is invalid after the next fetch, also for cached tokens', async (t) => {
  const [old, fresh] = [newKey('old'), newKey('fresh')]
  const { authenticator, authenticate, issuer, service, clock } = await issuerWith(t, [jwk(old)])
  await authenticator.start()
  const token = await signedBy(old)
  await authenticate(token)
  issuer.keys = [jwk(fresh)]
  clock.stall(600_000)
  // tokens at this time do not wait for the fetch
  assert.equal((await authenticate(await signedBy(old, { sub: 'bob' }))).uid, 'bob')
  await waitFor(() => service.requests === 2)
  await waitFor(() => authenticate(token).then(() => false, ({ code }) => code === 'unavailable'))
  clock.stall(10_000)
  await assert.rejects(authenticate(token), refused('unauthorized'))
})

test('with cached tokens only, a timer detects a withdrawn key; it stops with the authenticator', async (t) => {
  const [old, fresh] = [newKey('old'), newKey('fresh')]
  const { authenticator, authenticate, issuer, service, clock } = await issuerWith(t, [jwk(old), jwk(fresh)])
  let withdrawals = 0
  authenticator.onWithdrawn(() => { withdrawals++ })
  await authenticator.start()
  const tokens = [await signedBy(old), await signedBy(fresh)]
  const [gone, kept] = await Promise.all(tokens.map(authenticate))
  issuer.keys = [{ ...jwk(fresh), use: 'sig' }]
  clock.advance(60_000)
  assert.equal(service.requests, 1)
  // an issuer that is down is polled again
  issuer.status = 500
  for (const requests of [2, 3]) {
    clock.stall(600_000)
    clock.advance(0)
    await waitFor(() => service.requests === requests)
    await assert.rejects(authenticate(await signedBy(newKey('unknown'))), refused('unavailable'))
  }
  assert.deepEqual([withdrawals, gone.key?.withdrawnAt], [0, null])
  issuer.status = 200
  clock.stall(30_000)
  clock.advance(0)
  await waitFor(() => withdrawals === 1)
  assert.deepEqual([gone.key?.withdrawnAt, kept.key?.withdrawnAt], [clock.now(), null])
  await assert.rejects(authenticate(tokens[0]), refused('unavailable'))
  assert.equal((await authenticate(tokens[1])).key, kept.key, 'the same key in another representation')
  // the key was left out by mistake
  issuer.keys = [jwk(fresh), jwk(old)]
  clock.stall(600_000)
  clock.advance(0)
  await waitFor(() => gone.key?.withdrawnAt === null)
  assert.equal((await authenticate(tokens[0])).key, gone.key)
  assert.equal(withdrawals, 1)
  await authenticator.stop()
  const { requests } = service
  assert.equal(clock.timers, 0)
  clock.advance(600_000)
  assert.equal(service.requests, requests)
})

test('old keys are fetched again even if all tokens are cached', async (t) => {
  const key = newKey('one')
  const { authenticator, authenticate, service, clock } = await issuerWith(t, [jwk(key)])
  await authenticator.start()
  const token = await signedBy(key)
  await authenticate(token)
  clock.stall(600_000)
  await authenticate(token)
  await waitFor(() => service.requests === 2)
})

test('a token without a key id verifies when only one key matches', async (t) => {
  const [ec, rsa] = [newKey('one'), newKey('two', 'RS256')]
  const { authenticator, issuer, authenticate, clock } = await issuerWith(t, [jwk(ec), jwk(rsa)])
  await authenticator.start()
  const token = await signToken({ sub: 'ada' }, { alg: 'ES256', key: ec.pair.privateKey })
  assert.equal((await authenticate(token)).uid, 'ada')
  issuer.keys = [jwk(ec), jwk(newKey('three'))]
  clock.stall(600_000)
  await assert.rejects(authenticate(await signedBy(newKey('four'))), refused('unauthorized'))
  await assert.rejects(authenticate(await signToken({ sub: 'bob' }, { alg: 'ES256', key: ec.pair.privateKey })))
})

test('a key is used with the algorithms of its type only, or the one it names', async (t) => {
  const [rsa, ec] = [newKey('rsa', 'RS256'), newKey('ec')]
  const { authenticator, authenticate } = await issuerWith(t, [jwk(rsa, { alg: 'RS512' }), jwk(ec)])
  await authenticator.start()
  assert.equal(
    (
      await authenticate(
        await signToken({ sub: 'ada' }, { alg: 'RS512', key: rsa.pair.privateKey, header: { kid: 'rsa' } })
      )
    ).uid,
    'ada'
  )
  await assert.rejects(authenticate(await signedBy(rsa)))
  const pem = ec.pair.publicKey.export({ type: 'spki', format: 'pem' }).toString()
  for (const alg of ['HS256', 'none', 'RS256', 'constructor']) {
    await assert.rejects(authenticate(forgeToken({ sub: 'ada' }, { key: pem, header: { alg, kid: 'ec' } })))
  }
})

test('secret, private, encryption and unreadable keys are ignored, the others work', async (t) => {
  const [key, encryption, signing, leaked] = [newKey('one'), newKey('enc'), newKey('ops'), newKey('private')]
  const { authenticator, authenticate } = await issuerWith(t, [
    null, 'x', {}, { kty: 'oct', k: 'AAAA', kid: 'secret' }, { kty: 'EC', crv: 'P-256', kid: 'broken' },
    jwk(encryption, { use: 'enc' }),
    jwk(signing, { key_ops: ['sign'] }),
    { ...leaked.pair.privateKey.export({ format: 'jwk' }), kid: 'private' },
    jwk(key, { use: 'sig', key_ops: ['verify'], alg: 'ES256' })
  ])
  await authenticator.start()
  assert.equal((await authenticate(await signedBy(key))).uid, 'ada')
  for (const other of [encryption, signing, leaked])
    await assert.rejects(authenticate(await signedBy(other)), refused('unavailable'), other.kid)
  await assert.rejects(
    authenticate(forgeToken({ sub: 'ada' }, { key: '\0\0\0', header: { alg: 'HS256', kid: 'secret' } }))
  )
})

test('a response that is not a key set, or too large, changes nothing', async (t) => {
  const key = newKey('one')
  const { authenticator, authenticate, issuer, clock, service } = await issuerWith(t, [jwk(key)])
  await authenticator.start()
  for (const [index, body] of [
    '',
    'not JSON',
    '[]',
    'null',
    '{"keys":{}}',
    `{"keys":[${' '.repeat(1_100_000)}]}`
  ].entries()) {
    if (index === 0) continue
    issuer.body = body
    clock.stall(600_000)
    await assert.rejects(authenticate(await signedBy(newKey('other'))), refused('unavailable'), body.slice(0, 20))
    assert.equal(service.requests, index + 1)
    assert.equal((await authenticate(await signedBy(key))).uid, 'ada')
  }
})

test('tokens with an unreadable header are refused without a fetch', async (t) => {
  const { authenticator, authenticate, service, clock } = await issuerWith(t, [jwk(newKey('one'))])
  await authenticator.start()
  clock.stall(10_000)
  for (const token of [
    'x',
    '..',
    'bm90IGpzb24.x.x',
    forgeToken({}, { header: { alg: 1 } }),
    forgeToken({}, { header: { alg: 'ES256', kid: 7 } }),
    forgeToken({}, { header: { alg: 'ES256', kid: 'x'.repeat(257) } })
  ]) {
    await assert.rejects(authenticate(token), refused('unauthorized', /not a well formed JWT/))
  }
  assert.equal(service.requests, 1)
})

test('two keys of different types may share a key id', async (t) => {
  const keys = [newKey('one', 'RS256'), newKey('one')]
  const { authenticator, authenticate } = await issuerWith(t, keys.map((key) => jwk(key)))
  await authenticator.start()
  for (const key of keys) assert.equal((await authenticate(await signedBy(key))).uid, 'ada')
})

test('stop does not wait for an issuer that hangs', async (t) => {
  const { authenticator, authenticate, issuer, service } = await issuerWith(t, [])
  issuer.hold = new Promise(() => {})
  const starting = authenticator.start()
  await waitFor(() => service.requests === 1)
  const waiting = assert.rejects(authenticate(await signedBy(newKey('one'))), refused('unavailable'))
  await authenticator.stop()
  await Promise.all([starting, waiting])
})
