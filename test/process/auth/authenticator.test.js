import assert from 'node:assert/strict'
import { createPrivateKey, generateKeyPairSync } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { systemRandom } from '../../../src/base/common/random.js'
import { createAuthenticator } from '../../../src/people/auth/authenticator.js'
import { manualClock } from '../../helpers/manual-clock.js'
import { recordingLog } from '../../helpers/recording-log.js'
import { SECRET, forgeToken, keyPairFor, signToken, tokenPart } from '../../helpers/tokens.js'

/** @param {Parameters<typeof createAuthenticator>[0]['settings']} [settings] */
function authenticatorWith (settings = { secret: SECRET }) {
  const clock = manualClock()
  const { log } = recordingLog()
  const authenticator = createAuthenticator({ settings, log, clock, random: systemRandom })
  return {
    clock,
    seconds: clock.now() / 1000,
    authenticator,
    authenticate: (/** @type {unknown} */ token) => authenticator.authenticate(token)
  }
}

const refused = (/** @type {string} */ code, message = /./) => ({ name: 'InkcastError', code, message })

/**
 * A started authenticator with only the public key.
 * @param {import('node:test').TestContext} t
 * @param {string} pem
 * @param {object} [more] settings
 */
async function authenticatorWithKey (t, pem, more) {
  const folder = await mkdtemp(join(tmpdir(), 'inkcast-'))
  t.after(() => rm(folder, { recursive: true }))
  const file = join(folder, 'key.pem')
  await writeFile(file, pem)
  const created = authenticatorWith({ keys: { file }, ...more })
  await created.authenticator.start()
  return created
}

test('a valid token has the user, the grants and the expiry', async () => {
  const { authenticate, seconds } = authenticatorWith()
  const documents = [{ guid: 'minutes', access: 'write' }, { guid: 'team/*', access: 'read' }]
  const token = await signToken({
    sub: 'ada',
    exp: seconds + 60,
    nbf: seconds,
    iat: seconds - 5,
    name: 'Ada',
    tier: 'idle',
    documents,
    scope: 'more'
  })
  assert.deepEqual(authenticate(token), {
    uid: 'ada',
    name: 'Ada',
    tier: 'idle',
    grants: documents,
    issuedAt: seconds - 5,
    expiresAt: (seconds + 60) * 1000,
    anonymous: false
  })
})

test('a token without a documents claim leaves the decision to the policy, one with an empty claim allows none', async () => {
  const { authenticate } = authenticatorWith()
  assert.deepEqual(authenticate(await signToken({ sub: 'ada' })), {
    uid: 'ada',
    grants: null,
    issuedAt: null,
    expiresAt: null,
    anonymous: false
  })
  assert.deepEqual((await authenticate(await signToken({ sub: 'ada', documents: [] }))).grants, [])
})

test('an identity is frozen', async () => {
  const { authenticate } = authenticatorWith()
  const token = await signToken({ sub: 'ada', documents: [{ guid: 'minutes', access: 'read' }] })
  const identity = await authenticate(token)
  assert.ok(Object.isFrozen(identity) && Object.isFrozen(identity.grants) && Object.isFrozen(identity.grants?.[0]))
})

test('all HMAC algorithms verify with the secret', async () => {
  const { authenticate } = authenticatorWith()
  for (const alg of ['HS256', 'HS384', 'HS512'])
    assert.equal((await authenticate(await signToken({ sub: alg }, { alg }))).uid, alg)
})

test('a forged, changed or unsigned token is refused', async () => {
  const { authenticate } = authenticatorWith()
  const [header, payload, signature] = (await signToken({ sub: 'ada' })).split('.')
  const mallory = tokenPart({ sub: 'mallory' })
  const none = tokenPart({ alg: 'none' })
  for (const token of [
    await signToken({ sub: 'ada' }, { key: SECRET + '!' }),
    `${header}.${mallory}.${signature}`,
    `${header}.${payload}.`,
    `${header}.${payload}`,
    `${header}.${payload}.${signature.slice(0, -2)}`,
    `${header}.${payload}.${signature}=`,
    `${none}.${mallory}.`,
    `${none}.${mallory}.${signature}`,
    `${tokenPart({ alg: 'None' })}.${mallory}.`,
    `${tokenPart({ alg: 'HS256', crit: ['exp'] })}.${payload}.${signature}`,
    `${tokenPart('[]')}.${payload}.${signature}`,
    '', '.', '..', '...', 'x', ' ', header, '\u0000', 'é.é.é'
  ]) assert.throws(() => authenticate(token), refused('unauthorized'), token)
})

test('a refused token is refused again, and the error does not quote it', async () => {
  const { authenticate } = authenticatorWith()
  const payload = tokenPart('hunter2{')
  const token = `${tokenPart({ alg: 'HS256' })}.${payload}.AAAA`
  for (let i = 0; i < 2; i++) {
    assert.throws(() => authenticate(token), (/** @type {Error & { code?: string }} */ error) => {
      assert.equal(error.code, 'unauthorized')
      assert.doesNotMatch(`${error.stack} ${JSON.stringify(error)} ${error.cause}`, new RegExp(`hunter2|${payload}`))
      return true
    })
  }
})

test('tokens that are not a string, or too long, are refused without parsing', async () => {
  const { authenticate } = authenticatorWith()
  for (const token of [1, true, {}, [], Buffer.from(await signToken({ sub: 'ada' }))])
    assert.throws(() => authenticate(token), refused('unauthorized', /not a string/))
  const long = await signToken({ sub: 'ada', padding: 'x'.repeat(13_000) })
  assert.throws(() => authenticate(long), refused('unauthorized', /longer than 16384/))
  assert.equal((await authenticate(await signToken({ sub: 'ada', padding: 'x'.repeat(11_000) }))).uid, 'ada')
})

test('a token expires at its exp plus 5 s of tolerance, cached or not', async () => {
  const { authenticate, clock, seconds } = authenticatorWith()
  const [seen, unseen] = [
    await signToken({ sub: 'seen', exp: seconds + 10 }),
    await signToken({ sub: 'unseen', exp: seconds + 10 })
  ]
  authenticate(seen)
  clock.advance(14_999)
  assert.equal((await authenticate(seen)).uid, 'seen')
  clock.advance(1)
  for (const token of [seen, unseen]) assert.throws(() => authenticate(token), refused('token_expired'))
})

test('a token is not valid before its nbf, except for 5 s of tolerance', async () => {
  const { authenticate, clock, seconds } = authenticatorWith()
  const token = await signToken({ sub: 'ada', nbf: seconds + 10 })
  clock.advance(4999)
  assert.throws(() => authenticate(token), refused('unauthorized', /not valid yet/))
  clock.advance(1)
  assert.equal((await authenticate(token)).uid, 'ada')
})

test('claims of a wrong type are refused, and the error names the claim', () => {
  const { authenticate } = authenticatorWith()
  const grant = { guid: 'minutes', access: 'read' }
  for (const [claim, claims] of /** @type {[string, Record<string, unknown>][]} */ ([
    ['sub', {}],
    ['sub', { sub: '' }],
    ['sub', { sub: 7 }],
    ['sub', { sub: 'a\nb' }],
    ['sub', { sub: 'x'.repeat(257) }],
    ['sub', { sub: 'anonymous:ada' }],
    ['exp', { sub: 'ada', exp: 'tomorrow' }],
    ['exp', { sub: 'ada', exp: 1e300 }],
    ['exp', { sub: 'ada', exp: null }],
    ['nbf', { sub: 'ada', nbf: '0' }],
    ['name', { sub: 'ada', name: 'x'.repeat(257) }],
    ['tier', { sub: 'ada', tier: 1 }],
    ['documents', { sub: 'ada', documents: 'minutes' }],
    ['documents', { sub: 'ada', documents: null }],
    ['documents.0', { sub: 'ada', documents: ['minutes'] }],
    ['documents.1.access', { sub: 'ada', documents: [grant, { guid: 'minutes', access: 'admin' }] }],
    ['documents.0.guid', { sub: 'ada', documents: [{ guid: '', access: 'read' }] }]
  ]))
    assert.throws(
      () => authenticate(forgeToken(claims)),
      refused('unauthorized', new RegExp(`claim ${claim.replaceAll('.', '\\.')}: `)),
      JSON.stringify(claims).slice(0, 80)
    )
})

test('without a key, a token is refused with the missing setting, and a client without one is a separate anonymous user', async () => {
  const { authenticate } = authenticatorWith({ allowAnonymous: true })
  const [first, second] = [await authenticate(undefined), await authenticate(null)]
  assert.match(first.uid, /^anonymous:[\w-]{16}$/)
  assert.notEqual(first.uid, second.uid)
  assert.deepEqual(first, { uid: first.uid, grants: null, issuedAt: null, expiresAt: null, anonymous: true })
  assert.throws(() => authenticate('x'), refused('unauthorized', /no key to verify it: set AUTH_JWT_SECRET/))
})

test('a token must be valid even if anonymous users are allowed', async () => {
  const { authenticate } = authenticatorWith({ secret: SECRET, allowAnonymous: true })
  assert.equal((await authenticate(undefined)).anonymous, true)
  for (const token of ['', 'x', await signToken({ sub: 'ada' }, { key: SECRET + '!' })])
    assert.throws(() => authenticate(token), refused('unauthorized'))
})

test('without a token clients are refused if anonymous users are not allowed', () => {
  for (const settings of [{ secret: SECRET }, { secret: SECRET, allowAnonymous: false }]) {
    assert.throws(
      () => authenticatorWith(settings).authenticate(undefined),
      refused('unauthorized', /a token is needed/)
    )
  }
})

for (const alg of ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA']) {
  test(`${alg} tokens verify with the public key, other tokens do not`, async (t) => {
    const { publicKey, privateKey } = keyPairFor(alg)
    const pem = publicKey.export({ type: 'spki', format: 'pem' }).toString()
    const { authenticate } = await authenticatorWithKey(t, pem)
    assert.equal((await authenticate(await signToken({ sub: 'ada' }, { alg, key: privateKey }))).uid, 'ada')
    // the attack: the public key is public, so any attacker can compute an HMAC with it
    for (const key of [pem, pem.trim()])
      assert.throws(() => authenticate(forgeToken({ sub: 'ada' }, { key })), refused('unauthorized', /algorithm/))
    assert.throws(
      () => authenticate(`${tokenPart({ alg: 'none' })}.${tokenPart({ sub: 'ada' })}.`),
      refused('unauthorized')
    )
    const other = alg === 'ES256' ? 'RS256' : 'ES256'
    assert.throws(() => authenticate(signedOtherwise(other)), refused('unauthorized', /algorithm/))
    const token = await signToken({ sub: 'ada' }, { alg, key: privateKey })
    assert.equal(await authenticate(token), await authenticate(token), 'verified once')
    const stranger = await signToken({ sub: 'ada' }, { alg, key: keyPairFor(alg).privateKey })
    assert.throws(() => authenticate(stranger), refused('unauthorized', /signature/))
  })
}

test('the public key may come as a certificate', async (t) => {
  const tls = new URL('../../helpers/tls/', import.meta.url)
  const { authenticate } = await authenticatorWithKey(t, await readFile(new URL('cert.pem', tls), 'utf8'))
  const key = createPrivateKey(await readFile(new URL('key.pem', tls)))
  assert.equal((await authenticate(await signToken({ sub: 'ada' }, { alg: 'ES256', key }))).uid, 'ada')
})

test('the start fails with the reason when the key file holds no public key for signatures', async (t) => {
  const pem = (/** @type {import('node:crypto').KeyObject} */ key, /** @type {'spki' | 'pkcs8'} */ type) =>
    key.export({ type, format: 'pem' }).toString()
  for (const [content, reason] of /** @type {[string, RegExp][]} */ ([
    ['', /AUTH_JWKS_URL=file:.*key\.pem: /],
    ['just a secret', /key\.pem: /],
    [pem(keyPairFor('ES256').privateKey, 'pkcs8'), /holds a private key/],
    [pem(generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey, 'spki'), /1024 bits; at least 2048/],
    [pem(generateKeyPairSync('ec', { namedCurve: 'secp256k1' }).publicKey, 'spki'), /curve secp256k1/],
    [pem(generateKeyPairSync('x25519').publicKey, 'spki'), /type x25519/]
  ])) await assert.rejects(authenticatorWithKey(t, content), reason)
  await assert.rejects(
    authenticatorWith({ keys: { file: '/nowhere/key.pem' } }).authenticator.start(),
    /AUTH_JWKS_URL=file:\/\/\/nowhere\/key\.pem: ENOENT/
  )
})

/** @param {string} alg @returns {string} a token with that algorithm and no valid signature */
const signedOtherwise = (alg) => `${tokenPart({ alg })}.${tokenPart({ sub: 'ada' })}.${'A'.repeat(86)}`

test('with AUTH_JWT_ISSUER and AUTH_JWT_AUDIENCE tokens of other issuers, or for others, are refused', async () => {
  const settings = { secret: SECRET, issuers: ['https://a.example', 'https://b.example/'], audiences: ['inkcast', 'api'] }
  const { authenticate } = authenticatorWith(settings)
  const as = async (/** @type {object} */ claims) => authenticate(await signToken({ sub: 'ada', ...claims }))
  for (const claims of [
    { iss: 'https://a.example', aud: 'inkcast' },
    { iss: 'https://b.example/', aud: ['other', 'api'] }
  ]) assert.equal((await as(claims)).uid, 'ada')
  for (const iss of [undefined, '', 'https://a.example/', 'https://c.example', ['https://a.example'], null])
    await assert.rejects(as({ iss, aud: 'inkcast' }), refused('unauthorized', /iss/), String(iss))
  for (const aud of [undefined, '', 'inkcas', 'inkcast,api', [], ['other'], [['api']], null, { 0: 'api' }])
    await assert.rejects(as({ iss: 'https://a.example', aud }), refused('unauthorized', /aud/), String(aud))
})

test('one of the two settings leaves the other claim alone', async () => {
  const sign = (/** @type {object} */ claims) => signToken({ sub: 'ada', ...claims })
  const issuer = authenticatorWith({ secret: SECRET, issuers: ['https://a.example'] })
  issuer.authenticate(await sign({ iss: 'https://a.example' }))
  assert.throws(() => issuer.authenticate(forgeToken({ sub: 'ada', aud: 'inkcast' })), refused('unauthorized', /iss/))
  const audience = authenticatorWith({ secret: SECRET, audiences: ['inkcast'] })
  audience.authenticate(await sign({ aud: 'inkcast' }))
  assert.throws(() => audience.authenticate(forgeToken({ sub: 'ada', iss: 'x' })), refused('unauthorized', /aud/))
})

test('a token for others is refused each time, also where results are cached', async (t) => {
  const pair = keyPairFor('ES256')
  const { authenticator } = await authenticatorWithKey(
    t, pair.publicKey.export({ type: 'spki', format: 'pem' }).toString(), { audiences: ['inkcast'] }
  )
  const sign = (/** @type {string} */ aud) => signToken({ sub: 'ada', aud }, { alg: 'ES256', key: pair.privateKey })
  const [own, foreign] = await Promise.all([sign('inkcast'), sign('other')])
  for (let i = 0; i < 3; i++) {
    assert.equal((await authenticator.authenticate(own)).uid, 'ada')
    assert.throws(() => authenticator.authenticate(foreign), refused('unauthorized', /aud/))
  }
})
