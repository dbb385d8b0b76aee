import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { startApi } from '../../helpers/api.js'
import { callersFile } from '../../helpers/callers-file.js'
import { httpService } from '../../helpers/http-service.js'
import { forgeToken, keyPairFor, signToken, tokenPart } from '../../helpers/tokens.js'
import { waitFor } from '../../helpers/wait.js'

const ISSUER = 'https://id.example'
/** Of the api's clock in these tests, s. */
const NOW = 1_700_000_000

/** @typedef {{ kid: string, alg: string, pair: import('node:crypto').KeyPairKeyObjectResult }} Key */

/** @param {string} kid @param {string} [alg] @returns {Key} */
const newKey = (kid, alg = 'ES256') => ({ kid, alg, pair: keyPairFor(alg) })

/** @param {Key} key @param {Record<string, unknown>} [claims] */
const signedBy = ({ kid, alg, pair }, claims = {}) => signToken(
  { iss: ISSUER, aud: 'inkcast', azp: 'svc-editor', exp: NOW + 3600, ...claims },
  { alg, key: pair.privateKey, header: { kid } }
)

const EDITOR = {
  name: 'editor', jwt: [{ subject: 'svc-editor' }], operators: ['broadcast'], operations: ['position'], guids: ['notes/*']
}

/**
 * @param {import('node:test').TestContext} t
 * @param {Key[]} keys that the issuer has at the start
 */
async function startWith (t, keys) {
  const issuer = { keys }
  const service = await httpService(t, () => ({
    body: JSON.stringify({ keys: issuer.keys.map(({ kid, pair }) => ({ kid, ...pair.publicKey.export({ format: 'jwk' }) })) })
  }))
  const content = {
    issuers: [{ issuer: ISSUER, audience: ['inkcast'], claim: 'azp', jwksUrl: service.url }], callers: [EDITOR]
  }
  const file = callersFile(t, content)
  const api = await startApi(t, { callersFile: file.path, tokens: ['legacy:0123456789abcdef'] })
  return {
    ...api, issuer, service, content, file,
    /** @param {string} token @param {string} [guid] */
    async status (token, guid = 'notes%2F1') {
      const { status, body } = await api.call('POST', `/v1/documents/${guid}/broadcast`, {
        body: '1', headers: { authorization: `Bearer ${token}` }
      })
      return status === 202 ? status : `${status} ${body.error.code}`
    }
  }
}

test('a JWT names its caller, who has the rights of the file', async (t) => {
  const key = newKey('one')
  const { status, published, service } = await startWith(t, [key])
  const token = await signedBy(key)
  assert.deepEqual([await status(token), await status(token, 'minutes')], [202, '403 forbidden'])
  assert.equal(await status('0123456789abcdef', 'minutes'), 202)
  assert.deepEqual(published.map(({ source }) => source), ['editor', 'legacy'])
  assert.equal(service.requests, 1)
})

test('JWTs of other issuers, for others, for no caller, without an end or outside their time are refused', async (t) => {
  const key = newKey('one')
  const { status, published } = await startWith(t, [key])
  for (const [expected, claims] of /** @type {[string | number, Record<string, unknown>][]} */ ([
    [202, {}],
    [202, { aud: ['other', 'inkcast'], nbf: NOW }],
    ['401 unauthorized', { iss: 'https://evil.example' }],
    ['401 unauthorized', { iss: undefined }],
    ['401 unauthorized', { iss: [ISSUER] }],
    ['401 unauthorized', { aud: 'other' }],
    ['401 unauthorized', { aud: undefined }],
    ['401 unauthorized', { azp: 'editor' }],
    ['401 unauthorized', { azp: undefined, sub: 'svc-editor' }],
    ['401 unauthorized', { exp: undefined }],
    ['401 unauthorized', { exp: String(NOW + 60) }],
    ['401 token_expired', { exp: NOW - 6 }],
    ['401 unauthorized', { nbf: NOW + 6 }]
  ])) assert.equal(await status(await signedBy(key, claims)), expected, JSON.stringify(claims))
  assert.equal(published.length, 2)
})

test('the error says what is wrong with a JWT', async (t) => {
  const key = newKey('one')
  const { callers } = await startWith(t, [key])
  for (const [claims, code, message] of /** @type {[Record<string, unknown>, string, RegExp][]} */ ([
    [{ aud: 'shop' }, 'unauthorized', /claim aud: the token is meant for others/],
    [{ iss: 'https://evil.example' }, 'unauthorized', /claim iss: not an issuer of callers/],
    [{ azp: 'other' }, 'unauthorized', /claim azp names no caller/],
    [{ exp: undefined }, 'unauthorized', /claim exp/],
    [{ exp: NOW - 6 }, 'token_expired', /./]
  ])) {
    const authorization = `Bearer ${await signedBy(key, claims)}`
    await assert.rejects(
      async () => callers.identify({ authorization, address: '10.0.0.1', headers: {} }), { code, message }
    )
  }
})

test('forged JWTs are refused', async (t) => {
  const key = newKey('one')
  const { status, published, clock } = await startWith(t, [key])
  const claims = { iss: ISSUER, aud: 'inkcast', azp: 'svc-editor', exp: NOW + 3600 }
  const pem = key.pair.publicKey.export({ type: 'spki', format: 'pem' }).toString()
  const good = await signedBy(key)
  for (const token of [
    await signedBy({ ...newKey('one'), kid: 'one' }),
    forgeToken(claims, { header: { alg: 'HS256', kid: 'one' }, key: pem }),
    `${tokenPart({ alg: 'none', kid: 'one' })}.${tokenPart(claims)}.`,
    `${tokenPart({ alg: 'none', kid: 'one' })}.${tokenPart(claims)}.AAAA`,
    `${good.split('.')[0]}.${tokenPart({ ...claims, azp: 'svc-editor', more: 1 })}.${good.split('.')[2]}`,
    'a.b.c',
    `${tokenPart({ alg: 'ES256' })}.${tokenPart('null')}.AAAA`,
    `${tokenPart('5')}.${tokenPart(claims)}.AAAA`
  ]) {
    // a key that the issuer may have made since the last fetch is asked for at most every 10 s
    clock.advance(10_000)
    assert.equal(await status(token), '401 unauthorized', token)
  }
  assert.equal(published.length, 0)
})

test('when the issuer rotates its keys, tokens of the new one are accepted, and those of a withdrawn one are not', async (t) => {
  const [old, fresh] = [newKey('old'), newKey('fresh', 'EdDSA')]
  const { status, issuer, clock, callers } = await startWith(t, [old])
  const [before, after] = await Promise.all([signedBy(old), signedBy(fresh)])
  assert.equal(await status(before), 202)
  const stream = await callers.identify({ authorization: `Bearer ${before}`, address: '10.0.0.1', headers: {} })
  callers.admit(stream, { operation: 'position', guid: 'notes/1' })

  issuer.keys = [old, fresh]
  clock.advance(10_000)
  assert.deepEqual([await status(after), await status(before)], [202, 202])

  issuer.keys = [fresh]
  clock.advance(600_000)
  await waitFor(async () => await status(before) !== 202)
  clock.advance(10_000)
  assert.deepEqual([await status(before), await status(after)], ['401 unauthorized', 202])
  assert.throws(() => callers.admit(stream, { operation: 'position', guid: 'notes/1' }), { code: 'unauthorized' })
})

test('a stream ends with its token', async (t) => {
  const key = newKey('one')
  const { status, clock, callers } = await startWith(t, [key])
  const token = await signedBy(key, { exp: NOW + 60 })
  const stream = await callers.identify({ authorization: `Bearer ${token}`, address: '10.0.0.1', headers: {} })
  const admit = () => callers.admit(stream, { operation: 'position', guid: 'notes/1' })
  clock.advance(64_000)
  admit()
  assert.equal(await status(token), 202)
  clock.advance(1000)
  assert.throws(admit, { code: 'token_expired' })
  assert.equal(await status(token), '401 token_expired')
})

test('an issuer that cannot be reached fails no start: its callers may retry, others are served', async (t) => {
  const key = newKey('one')
  const service = await httpService(t, () => ({ status: 500, body: '' }))
  const { path } = callersFile(t, {
    issuers: [{ issuer: ISSUER, audience: 'inkcast', claim: 'azp', jwksUrl: service.url }],
    callers: [EDITOR, { name: 'billing', tokens: [{ text: '0123456789abcdef' }], operators: ['*'] }]
  })
  const { call } = await startApi(t, { callersFile: path })
  const send = async (/** @type {string} */ token) => (await call('POST', '/v1/documents/notes%2F1/broadcast', {
    body: '1', headers: { authorization: `Bearer ${token}` }
  })).status
  assert.deepEqual([await send(await signedBy(key)), await send('0123456789abcdef')], [503, 202])
})

test('after a reload a token that was verified before follows the new file', async (t) => {
  const key = newKey('one')
  const { status, content, file, published } = await startWith(t, [key])
  const token = await signedBy(key)
  assert.equal(await status(token), 202)
  for (const [next, expected] of /** @type {[object, string | number][]} */ ([
    [{ ...content, callers: [{ ...EDITOR, guids: ['minutes'] }] }, '403 forbidden'],
    [content, 202],
    [{ ...content, callers: [{ ...EDITOR, jwt: [{ subject: 'other' }] }] }, '401 unauthorized'],
    [content, 202],
    [{ ...content, issuers: [{ ...content.issuers[0], audience: 'other' }] }, '401 unauthorized']
  ])) {
    file.write(next)
    await waitFor(async () => await status(token) === expected, { message: JSON.stringify(next) })
  }
  file.write({ ...content, callers: [{ ...EDITOR, name: 'heir' }] })
  await waitFor(async () => await status(token) === 202)
  assert.equal(published.at(-1)?.source, 'heir')
})

test('an issuer with one key, in a file: a new key is read when the file changes', async (t) => {
  const [old, fresh] = [newKey('old'), newKey('fresh')]
  const pem = (/** @type {Key} */ { pair }) => pair.publicKey.export({ type: 'spki', format: 'pem' }).toString()
  const file = callersFile(t, {
    issuers: [{ issuer: ISSUER, audience: 'inkcast', claim: 'azp', publicKeyFile: 'key.pem' }], callers: [EDITOR]
  })
  writeFileSync(join(file.folder, 'key.pem'), pem(old))
  const { call, callers } = await startApi(t, { callersFile: file.path })
  const send = async (/** @type {string} */ token) => (await call('POST', '/v1/documents/notes%2F1/broadcast', {
    body: '1', headers: { authorization: `Bearer ${token}` }
  })).status
  const [before, after] = await Promise.all([signedBy(old), signedBy(fresh)])
  assert.deepEqual([await send(before), await send(after)], [202, 401])
  const stream = await callers.identify({ authorization: `Bearer ${before}`, address: '10.0.0.1', headers: {} })
  writeFileSync(join(file.folder, 'key.pem'), pem(fresh))
  await waitFor(async () => await send(after) === 202)
  assert.equal(await send(before), 401)
  assert.throws(() => callers.admit(stream, { operation: 'position', guid: 'notes/1' }), { code: 'unauthorized' })
})
