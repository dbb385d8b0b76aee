import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { test } from 'node:test'
import { createConfig, lintFromString } from '@redocly/openapi-core'
import { ERRORS, InkcastError } from '../../../src/base/common/errors.js'
import { startApi } from '../../helpers/api.js'

/** The validator of fastify; OpenAPI 3.1 uses the schemas of JSON Schema 2020-12. */
const { Ajv2020 } = createRequire(createRequire(import.meta.url).resolve('@fastify/ajv-compiler'))('ajv/dist/2020.js')

/**
 * @typedef {object} Operation
 * @property {string} operationId
 * @property {string} summary
 * @property {{ name: string, in: string, required: boolean, schema: object }[]} [parameters]
 * @property {{ required: boolean }} [requestBody]
 * @property {Record<string, any>} responses
 */

const RECORD = {
  epoch: 'e',
  offset: 1,
  ingestedAt: 1,
  publication: {
    event: 'edit',
    traceId: 't',
    timestamp: 1,
    source: 'editor',
    contentType: 'application/json',
    value: Buffer.from('{"a":1}')
  }
}

/**
 * @param {import('node:test').TestContext} t
 * @param {import('../../helpers/api.js').OneSink} [sink]
 */
async function described (
  t,
  sink = async ({ operator }) => (operator === 'broadcast' ? { epoch: 'e', offset: 1 } : null)
) {
  const position = { epoch: 'e', offset: 1 }
  const bus = {
    positions: async () => [position],
    cut: async () => ({ position, removed: 1 }),
    history: async () => ({ position, gap: null, records: [/** @type {any} */ (RECORD)] })
  }
  const connection = {
    sid: 'some-sid', uid: 'ada', worker: 0, transport: /** @type {const} */ ('websocket'), lastSeen: 1, documents: []
  }
  const api = await startApi(t, { bus, sink, sessions: { session: async () => connection } })
  const { body: description } = await api.call('GET', '/openapi.json')
  const ajv = new Ajv2020({ strict: false })
  ajv.addSchema({ $id: 'openapi', ...description })
  /** @type {{ method: string, path: string, operation: Operation }[]} */
  const operations = Object.entries(description.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation }))
  )
  return {
    ...api,
    description,
    operations,
    /** @param {object} schema @param {unknown} value */
    assertValid (schema, value) {
      const validate = ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"openapi#/')))
      assert.ok(validate(value), JSON.stringify([validate.errors, value]))
    }
  }
}

/** Bodies of operations that take more than a value. @type {Record<string, string>} */
const BODIES = {
  cut: '{"epoch":"e","offset":1}',
  publishBatch: '{"publications":[{"guid":"some-guid","value":1},{"operator":"user"}]}'
}

/** @param {Operation} operation */
const takesUser = ({ parameters }) => parameters?.some(({ name, in: place }) => name === 'x-uid' && place === 'header')
const filled = (/** @type {string} */ path) => path.replace(/\{(\w+)\}/g, 'some-$1')

test('it describes every operation once, with its parameters', async (t) => {
  const { operations, description } = await described(t)
  assert.equal(description.openapi, '3.1.0')
  assert.deepEqual(operations.map(({ method, path }) => `${method} ${path}`).sort(), [
    'DELETE /v1/devices/{device}',
    'DELETE /v1/documents/{guid}/connections',
    'DELETE /v1/sockets/{sid}',
    'DELETE /v1/users/{uid}/connections',
    'DELETE /v1/users/{uid}/documents/{guid}',
    'GET /openapi.json',
    'GET /v1/devices/{device}',
    'GET /v1/documents',
    'GET /v1/documents/{guid}/history',
    'GET /v1/documents/{guid}/position',
    'GET /v1/documents/{guid}/presence',
    'GET /v1/overview',
    'GET /v1/sockets/{sid}',
    'GET /v1/users/{uid}',
    'GET /v1/users/{uid}/history',
    'GET /v1/users/{uid}/sessions',
    'POST /v1/broadcast',
    'POST /v1/devices/{device}/send',
    'POST /v1/documents/{guid}/broadcast',
    'POST /v1/documents/{guid}/cut',
    'POST /v1/documents/{guid}/restore',
    'POST /v1/documents/{guid}/revoke',
    'POST /v1/publish',
    'POST /v1/sockets/{sid}/send',
    'POST /v1/users/{uid}/documents/{guid}',
    'POST /v1/users/{uid}/restore',
    'POST /v1/users/{uid}/send'
  ])
  assert.equal(new Set(operations.map(({ operation }) => operation.operationId)).size, operations.length)
  for (const { path, operation } of operations) {
    const inPath = (operation.parameters ?? []).filter((parameter) => parameter.in === 'path')
    assert.deepEqual(
      inPath.map(({ name, required }) => [name, required]),
      [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => [name, true])
    )
    for (const parameter of operation.parameters ?? [])
      assert.equal(typeof parameter.schema, 'object', `${path} ${parameter.name}`)
    assert.ok(operation.summary)
  }
})

test('every operation answers as described', async (t) => {
  const { operations, call, assertValid } = await described(t)
  for (const { method, path, operation } of operations) {
    const { status, body, headers } = await call(
      method,
      filled(path),
      BODIES[operation.operationId] !== undefined
        ? { body: BODIES[operation.operationId] }
        : operation.requestBody?.required
          ? { body: '{"a":1}' }
          : takesUser(operation) ? { headers: { 'x-uid': 'some-uid' } } : {}
    )
    const expected = operation.responses[status]
    assert.ok(status < 300 && expected, `${method} ${path}: ${status} ${JSON.stringify(body)}`)
    assert.match(headers.get('content-type') ?? '', /^application\/json/)
    assertValid(expected.content['application/json'].schema, body)
  }
})

test('every error response of an operation is described', async (t) => {
  for (const code of /** @type {const} */ (['unavailable', 'timeout', 'internal'])) {
    const { operations, call, assertValid } = await described(t, async () => { throw new InkcastError(code) })
    for (const { method, path, operation } of operations) {
      // these read or change the log and publish nothing; a batch has its errors in its answer
      if (method === 'GET' || BODIES[operation.operationId] !== undefined) continue
      const { status, body } = await call(
        method,
        filled(path),
        operation.requestBody ? { body: '{"uid":"some-uid"}' } : {}
      )
      assert.equal(status, ERRORS[code].status)
      assertValid(operation.responses[status].content['application/json'].schema, body)
    }
  }
  const { operations, call } = await described(t)
  for (const { method, path, operation } of operations) {
    const value = (/** @type {string} */ body, /** @type {Record<string, string>} */ headers = {}) =>
      operation.requestBody ? { body, headers } : { headers }
    for (const { status, body } of [
      await call(method, filled(path), { headers: { origin: 'https://evil.example' } }),
      await call(method, path.replace(/\{\w+\}/g, 'x'.repeat(300)), value('1')),
      await call(method, filled(path), value('{')),
      await call(method, filled(path), value('1', { 'content-type': 'text/plain' })),
      await call(method, filled(path), value(JSON.stringify('x'.repeat(2000)))),
      await call(method, filled(path), value('1', { 'x-timestamp': 'today' })),
      await call(method, filled(path), value('1', { 'x-event': 'doc:join' })),
      await call(method, filled(path))
    ]) {
      const response = operation.responses[status]
      assert.ok(response, `${method} ${path}: ${status} ${JSON.stringify(body)}`)
      if (status >= 400)
        assert.ok(
          response.description.includes(`\`${body.error.code}\``),
          `${method} ${path}: ${body.error.code} is not in ${response.description}`
        )
    }
  }
})

test('every header that is described has an effect', async (t) => {
  const { operations, call, published } = await described(t)
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
  /**
   * @type {Record<string, [text: string, field: keyof import('../../../src/wire/publication.js').Publication, value:
   *   unknown]>}
   */
  const samples = {
    'x-event': ['edit', 'event', 'edit'],
    'x-except': ['a,b', 'except', ['a', 'b']],
    'x-ephemeral': ['true', 'ephemeral', true],
    'x-keep': ['true', 'keep', true],
    'x-key': ['slide', 'key', 'slide'],
    'x-receipt': ['true', 'receipt', true],
    'x-trace-id': ['mine', 'traceId', 'mine'],
    'x-timestamp': ['1700000001234', 'timestamp', 1_700_000_001_234],
    'x-uid': ['ada', 'uid', 'ada'],
    'x-ttl': ['60', 'ttl', 60],
    traceparent: [traceparent, 'traceparent', traceparent]
  }
  for (const { method, path, operation } of operations) {
    for (const { name } of (operation.parameters ?? []).filter((parameter) => parameter.in === 'header')) {
      if (name === 'idempotency-key') continue // api-idempotency.test.js
      const [text, field, value] = samples[name]
      const headers = takesUser(operation) ? { 'x-uid': 'ada', [name]: text } : { [name]: text }
      const { status } = await call(
        method,
        filled(path),
        operation.requestBody?.required ? { body: '1', headers } : { headers }
      )
      assert.equal(status, 202)
      assert.deepEqual(published.at(-1)?.[field], value, `${path} ${name}`)
    }
  }
})

test('it passes `redocly lint` with the recommended rules', async (t) => {
  const { description } = await described(t)
  const problems = await lintFromString({
    source: JSON.stringify(description), config: await createConfig({ extends: ['recommended'] })
  })
  assert.deepEqual(problems.map(({ ruleId, message, location }) => [ruleId, message, location[0].pointer]), [])
})
