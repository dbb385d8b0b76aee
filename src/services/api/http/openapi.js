import { readFileSync } from 'node:fs'
import { ERRORS } from '../../../base/common/errors.js'
import { HEADER } from '../../../wire/headers.js'
import { MAX_ID_BYTES } from '../../../wire/publication.js'
import { EXAMPLES } from '../operations/examples.js'

/** @typedef {import('../operations/operation.js').Operation} Operation */
/** @typedef {import('../../../base/common/errors.js').ErrorCode} ErrorCode */

const id = {
  type: 'string',
  minLength: 1,
  description: `At most ${MAX_ID_BYTES} bytes of UTF-8, no control characters`
}

/** @type {Record<string, { schema: object, description: string }>} */
export const HEADERS = {
  [HEADER.uid]: { schema: id, description: 'The user. Default: in the body; of a device, the device without a login' },
  [HEADER.event]: {
    schema: { ...id, default: 'message' },
    description:
      'Socket.IO event name. Names that Socket.IO reserves and the prefixes `doc:`, `gateway:` and `auth:` are refused'
  },
  [HEADER.except]: {
    schema: { type: 'string' },
    description:
      'Comma-separated ids of clients that do not get the record: `client` of the handshake, or a connection id'
  },
  [HEADER.ephemeral]: {
    schema: { type: 'string', enum: ['true', 'false'], default: 'false' },
    description: '`true`: the record is not kept in the document\'s log, and has no offset'
  },
  [HEADER.keep]: {
    schema: { type: 'string', enum: ['true', 'false'], default: 'false' },
    description: '`true`: the record is kept in the user\'s log, and replayed to connections that resume this log'
  },
  [HEADER.key]: {
    schema: id,
    description: 'The log (of the document, or with x-keep of the user) keeps only the newest record of each key'
  },
  [HEADER.ttl]: {
    schema: { type: 'string', pattern: '^\\d{1,9}$' },
    description: 'Duration of the revoke or ban, s, at most a year'
  },
  [HEADER.receipt]: {
    schema: { type: 'string', enum: ['true', 'false'], default: 'false' },
    description: '`true`: clients are asked to acknowledge the record. A receipt says how many did, and goes to the ' +
      'uplink (Kafka, `UPLINK_URL` or `UPLINK_GROUPS`)'
  },
  [HEADER.traceId]: { schema: id, description: 'Trace id. Default: the one of `traceparent`, otherwise generated' },
  [HEADER.traceparent]: {
    schema: { type: 'string' },
    description: 'W3C trace context. Gives the trace id if `x-trace-id` is missing'
  },
  [HEADER.idempotencyKey]: {
    schema: { type: 'string', minLength: 1, maxLength: 257 },
    description:
      'Makes a retry safe for 15 minutes, or until 10,000 newer keys of the same document have followed. If the ' +
      'outcome of the first request is unknown, a message that no log keeps may be published twice, and an order ' +
      '(kick, revoke, …) is carried out again. With or without quotes (draft-ietf-httpapi-idempotency-key-header)'
  },
  [HEADER.timestamp]: {
    schema: { type: 'string', pattern: '^\\d{1,15}$' },
    description: 'Time at the producer, ms since 1970. Default: now'
  }
}

/** @type {ErrorCode[]} possible answers to every request */
const ANY = [
  'bad_request',
  'unauthorized',
  'token_expired',
  'forbidden',
  'origin_refused',
  'draining',
  'unavailable',
  'timeout',
  'internal'
]
/** @type {ErrorCode[]} */
const PUBLISH = [
  'bad_target',
  'bad_header',
  'reserved_event',
  'rate_limited',
  'value_too_large',
  'request_in_progress',
  'idempotency_mismatch'
]
/** @type {ErrorCode[]} */
const VALUE = ['bad_content_type', 'bad_utf8', 'bad_value']
/** @type {ErrorCode[]} */
const BODY = ['bad_content_type', 'value_too_large']

/** Groups of operations, by the beginning of their path; the last one is for all others. */
const TAGS = [
  { name: 'documents', prefix: '/v1/documents', description: 'Documents: publish, read the log and the presence' },
  { name: 'users', prefix: '/v1/users', description: 'Users, on all of their connections' },
  { name: 'devices', prefix: '/v1/devices', description: 'Devices, each with one id of a user' },
  { name: 'connections', prefix: '/v1/sockets', description: 'Single connections' },
  { name: 'cluster', prefix: '/v1/overview', description: 'All processes' },
  { name: 'description', prefix: '/openapi', description: 'The OpenAPI description of the api' },
  { name: 'everything', prefix: '/', description: 'Many documents and users at once' }
]

/** @param {string} path */
const tagOf = (path) => /** @type {(typeof TAGS)[number]} */ (TAGS.find(({ prefix }) => path.startsWith(prefix))).name

/**
 * The description of the api, generated from the table of operations.
 * @param {Operation[]} operations
 * @param {{ maxRecordBytes: number }} limits
 * @returns {object} OpenAPI 3.1
 */
export function openapi (operations, { maxRecordBytes }) {
  const { version, license } = JSON.parse(readFileSync(new URL('../../../../package.json', import.meta.url), 'utf8'))
  /** @type {Record<string, Record<string, object>>} */
  const paths = {
    '/openapi.json': {
      get: {
        operationId: 'openapi',
        summary: 'The OpenAPI description of the api',
        tags: ['description'],
        security: [],
        responses: { 200: json('OpenAPI 3.1', { type: 'object' }), ...errors(ANY) }
      }
    }
  }
  for (const operation of operations) {
    const path = operation.path.replace(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [operation.method.toLowerCase()]: describe(operation, maxRecordBytes) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'inkcast',
      version,
      license: { name: license, identifier: license },
      description:
        'Publish to documents, users and connections, read a document\'s log, and list present members and connected users.'
    },
    // a description without a scheme and a host is relative to where it was read
    servers: [{ url: '/' }],
    tags: TAGS.map(({ name, description }) => ({ name, description })),
    security: [{ token: [] }, { certificate: [] }, {}],
    paths,
    components: {
      securitySchemes: {
        token: {
          type: 'http',
          scheme: 'bearer',
          description:
            'A token of API_TOKENS, or a token or JWT of API_CALLERS_FILE. In development, if neither is set, callers ' +
            'on the same machine need no token.'
        },
        certificate: {
          type: 'mutualTLS',
          description: 'A client certificate that API_CALLERS_FILE names. Needs a `ca` in the setting API_TLS_FILES.'
        }
      },
      schemas: {
        Error: {
          type: 'object',
          required: ['ok', 'error'],
          properties: {
            ok: { const: false },
            error: {
              type: 'object',
              required: ['code', 'message', 'retryable'],
              properties: {
                code: { enum: Object.keys(ERRORS) },
                message: { type: 'string' },
                retryable: { type: 'boolean', description: 'Whether the same request may succeed later' },
                retryInMs: { type: 'integer', description: 'Time after which to retry, ms. Missing if it is not known' }
              }
            }
          }
        }
      }
    }
  }
}

/**
 * @param {Operation} operation
 * @param {number} maxRecordBytes
 */
function describe (operation, maxRecordBytes) {
  const { path, operation: operationId, query = {}, headers = [], body, answer, optional, errors: own = [] } = operation
  const { ids = {}, query: asked = {}, body: sent, answer: got } = EXAMPLES[operationId]
  const example = (/** @type {unknown} */ value) => value === undefined ? {} : { example: value }
  const parameters = [
    ...[...path.matchAll(/:(\w+)/g)].map(([, name]) => ({
      name, in: 'path', required: true, schema: id, ...example(ids[name])
    })),
    ...Object.entries(query).map(([name, schema]) => ({
      name, in: 'query', required: false, schema, ...example(asked[name])
    })),
    ...headers.map((name) => ({ name, in: 'header', required: false, ...HEADERS[name] }))
  ]
  /** @type {ErrorCode[]} */
  const codes = [
    ...ANY,
    ...(answer ? /** @type {ErrorCode[]} */ (['bad_target']) : PUBLISH),
    ...(body === undefined ? [] : body === 'value' ? VALUE : BODY),
    ...own
  ]
  return {
    operationId,
    summary: operation.summary,
    tags: [tagOf(path)],
    parameters,
    ...(body === undefined ? {} : { requestBody: requestBody(body, maxRecordBytes, sent) }),
    responses: {
      ...(answer
        ? { 200: json('The answer', okSchema({ ...answer, ...optional }, Object.keys(answer)), got) }
        : { 202: json('Accepted', okSchema(PUBLISHED, ['traceId']), got) }),
      ...errors(codes)
    }
  }
}

const PUBLISHED = {
  traceId: { type: 'string' },
  position: {
    type: 'object',
    required: ['epoch', 'offset'],
    properties: { epoch: { type: 'string' }, offset: { type: 'integer' } },
    description:
      'Position of the record in the log. Missing with Kafka (not known yet), if no log keeps the record, and if a ' +
      'retry finds no stored answer of the first request'
  },
  connections: {
    type: 'integer',
    description: 'Only for kick, revoke, restore, close, join and leave: number of connections that were ' +
      'disconnected, left the document, or have it open now. Always 0 for restore'
  },
  workers: { type: 'integer', description: 'Like `connections`: number of workers that have these connections' }
}

/**
 * @param {NonNullable<Operation['body']>} body
 * @param {number} maxRecordBytes
 * @param {unknown} sent example
 */
const requestBody = (body, maxRecordBytes, sent) => body === 'value'
  ? {
      required: true,
      description: `The value, passed on unchanged; at most ${maxRecordBytes} bytes`,
      content: { 'application/json': { schema: {}, example: sent }, 'application/msgpack': { schema: {} } }
    }
  : { required: !body.optional, ...json(body.description, body.schema, sent) }

/** @param {string} description @param {object} schema @param {unknown} [example] */
const json = (description, schema, example) => ({
  description, content: { 'application/json': { schema, ...(example === undefined ? {} : { example }) } }
})

/** @param {Record<string, object>} properties @param {string[]} required */
const okSchema = (properties, required) => ({
  type: 'object',
  required: ['ok', ...required],
  properties: { ok: { const: true }, ...properties }
})

/** @param {ErrorCode[]} codes */
function errors (codes) {
  /** @type {Record<string, object>} */
  const responses = {}
  for (const status of new Set(codes.map((code) => ERRORS[code].status))) {
    const those = codes.filter((code) => ERRORS[code].status === status)
    responses[status] = json(those.map((code) => `\`${code}\`: ${ERRORS[code].message}`).join('; '), {
      $ref: '#/components/schemas/Error'
    })
  }
  return responses
}
