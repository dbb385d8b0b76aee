import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseCallers } from '../../../src/services/api/callers/callers-schema.js'
import { identityFromClaims } from '../../../src/people/auth/identity.js'
import { InkcastError } from '../../../src/base/common/errors.js'
import { parse } from '../../../src/base/common/schema.js'
import { BLOCKS } from '../../../src/config/blocks.js'
import { parseRules } from '../../../src/documents/rules/file.js'
import * as history from '../../../src/gateway/handlers/history.js'
import { parseInput } from '../../../src/gateway/handlers/input.js'
import * as join from '../../../src/gateway/handlers/join.js'
import * as leave from '../../../src/gateway/handlers/leave.js'
import * as members from '../../../src/gateway/handlers/members.js'
import * as refresh from '../../../src/gateway/handlers/refresh.js'
import * as send from '../../../src/gateway/handlers/send.js'
import * as signal from '../../../src/gateway/handlers/signal.js'
import * as sendState from '../../../src/gateway/handlers/state.js'
import { readAuth, readDocuments } from '../../../src/gateway/handshake-auth.js'

/** Values may be tokens, secrets or documents: a message about a wrong value never shows a part of it. */

const SECRET = 'anonymous:S3CRET\n'
const SECRETS = [SECRET, SECRET.repeat(200), 53_272_387, -5.3272387, 5.3272387e300, [SECRET], { S: SECRET }, null]
/** Traces of the secrets in a message, also of a shortened one. */
const LEAK = /S3CRET|5\.?3272/

/**
 * @param {any} value
 * @param {string[]} [but] fields that a message may show
 * @returns {Generator<any>} copies, each with a secret at one place
 */
function* withSecrets (value, but = []) {
  yield* SECRETS
  if (typeof value !== 'object' || value === null) return
  for (const key of Object.keys(value)) {
    if (but.includes(key)) continue
    for (const one of withSecrets(value[key], but)) {
      const copy = structuredClone(value)
      copy[key] = one
      yield copy
    }
  }
}

/**
 * @param {Iterable<unknown>} inputs
 * @param {(input: any) => unknown} use
 * @param {number} least how many are refused
 */
async function assertNoLeak (inputs, use, least) {
  let refused = 0
  for (const input of inputs) {
    const error = await Promise.resolve(input).then(use).then(() => undefined, (error) => error)
    if (error === undefined) continue
    refused++
    assert.doesNotMatch(`${error.message} ${error.stack} ${JSON.stringify(error)} ${error.cause}`, LEAK)
  }
  assert.ok(refused >= least, `${refused} inputs were refused`)
}

test('in a file of callers', () => assertNoLeak(
  withSecrets({
    callers: [{
      name: 'editor',
      tokens: [{ text: 'x' }, { sha256: 'a'.repeat(64) }, { file: 'f' }],
      certificates: [{ subject: { CN: 'x' } }, { san: 'DNS:a' }],
      jwt: [{ subject: 'x', issuer: 'i' }],
      operators: ['*'],
      operations: ['history'],
      guids: ['*'],
      uids: ['*'],
      rate: { perSecond: 1, burst: 1 },
      rates: { history: { perSecond: 1 } }
    }],
    issuers: [
      { issuer: 'i', audience: ['a'], claim: 'sub', jwksUrl: 'https://a' },
      { issuer: 'j', audience: 'a', secretFile: 's', publicKeyFile: 'p' }
    ]
  }, ['name', 'issuer']),
  (content) => parseCallers(JSON.stringify(content)),
  150
))

test('in a file of rules', () => assertNoLeak(
  withSecrets({
    rules: [{
      prefix: 'a',
      history: { size: 1, bytes: 0, ttl: 60, keys: true },
      presence: true,
      signals: 'nobody',
      echo: true,
      rate: 1,
      webhook: true
    }]
  }, ['prefix']),
  (content) => parseRules(JSON.stringify(content)),
  60
))

test('in the claims of a token', () => assertNoLeak(
  withSecrets({ sub: 'ada', exp: 1, nbf: 1, name: 'Ada', tier: 'x', documents: [{ guid: 'a', access: 'read' }] }),
  // from JSON, as in a token
  (claims) => identityFromClaims(JSON.parse(JSON.stringify(claims)) ?? {}),
  30
))

test('in what a client sends', async () => {
  const position = { epoch: 'e', offset: 1 }
  const state = { a: 1 }
  await assertNoLeak(withSecrets({ token: 't', client: 'c', documents: {}, user: position }), (auth) => {
    for (const { error } of readAuth(auth).refused ?? []) throw error
  }, 20)
  await assertNoLeak(withSecrets({ minutes: { ...position, state, members: true } }), (documents) => {
    if (typeof documents !== 'object' || documents === null) return
    for (const opening of readDocuments(documents).values()) if (opening instanceof InkcastError) throw opening
  }, 15)
  for (const [{ schema }, argument] of /** @type {[{ schema: any }, unknown][]} */ ([
    [join, { guid: 'a', position, state, members: true }],
    [leave, { guid: 'a' }],
    [send, { guid: 'a', event: 'e', data: 1, traceparent: 't', queue: { id: 'a'.repeat(16), seq: 1 } }],
    [signal, { guid: 'a', event: 'e', data: 1 }],
    [members, { guid: 'a', cursor: 'b', limit: 1 }],
    [history, { guid: 'a', before: 1, limit: 1 }],
    [sendState, { guid: 'a', state }],
    [refresh, { token: 't' }]
  ])) await assertNoLeak(withSecrets(argument), (input) => parseInput(schema, input), 10)
})

test('in secret settings', async () => {
  const secrets = Object.values(BLOCKS).flatMap(({ settings }) =>
    Object.values(/** @type {Record<string, import('../../../src/config/setting.js').Setting>} */ (settings)))
    .filter(({ secret }) => secret)
  for (const setting of secrets) {
    await assertNoLeak(['', 'S3CRET x', `redis://:S3CRET@${SECRET}`, `,${SECRET}`], (text) => {
      const { problem } = parse(setting.type, text)
      if (problem !== undefined) throw new Error(problem.message)
    }, 0)
  }
})
