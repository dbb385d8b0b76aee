import { readFileSync } from 'node:fs'
import { ERRORS } from '../common/errors.js'
import { HEADER } from '../wire/headers.js'
import { MAX_ID_BYTES } from '../wire/publication.js'

/** @typedef {import('./http-route.js').Route} Route */
/** @typedef {import('../common/errors.js').ErrorCode} ErrorCode */

const id = {
  type: 'string',
  minLength: 1,
  description: `At most ${MAX_ID_BYTES} bytes of UTF-8, no control characters`
}

/** @type {Record<string, { schema: object, description: string }>} */
const HEADERS = {
  [HEADER.uid]: { schema: id, description: 'The user; or in the body' },
  [HEADER.event]: {
    schema: { ...id, default: 'message' },
    description:
      'Socket.IO event name. Names that Socket.IO reserves and the prefixes `doc:`, `gateway:` and `auth:` are refused'
  },
  [HEADER.except]: {
    schema: { type: 'string' },
    description: 'Comma separated `client` or connection ids that do not get it'
  },
  [HEADER.ephemeral]: {
    schema: { type: 'string', enum: ['true', 'false'], default: 'false' },
    description: 'Not kept in the document\'s log, no offset'
  },
  [HEADER.receipt]: {
    schema: { type: 'string', enum: ['true', 'false'], default: 'false' },
    description: 'Ask clients for an acknowledgement; with Kafka, a receipt goes to the uplink'
  },
  [HEADER.traceId]: { schema: id, description: 'Trace id; made up where missing' },
  [HEADER.traceparent]: {
    schema: { type: 'string' },
    description: 'W3C trace context; gives the trace id where `x-trace-id` is missing'
  },
  [HEADER.idempotencyKey]: {
    schema: { type: 'string', minLength: 1, maxLength: 257 },
    description:
      'A retry with the same key publishes nothing again and gets the same answer; in quotes or bare (draft-ietf-httpapi-idempotency-key-header)'
  },
  [HEADER.timestamp]: {
    schema: { type: 'string', pattern: '^\\d{1,15}$' },
    description: 'ms since 1970 at the producer; default: now'
  }
}

/** @type {ErrorCode[]} possible answers to every request */
const ANY = [
  'bad_request',
  'unauthorized',
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
  'value_too_large',
  'request_in_progress',
  'idempotency_mismatch'
]
/** @type {ErrorCode[]} */
const VALUE = ['bad_content_type', 'bad_utf8', 'bad_value']

/**
 * The description of the api, generated from the server's routes.
 * @param {Route[]} routes
 * @param {{ maxRecordBytes: number }} limits
 * @returns {object} OpenAPI 3.1
 */
export function openapi (routes, { maxRecordBytes }) {
  const { version, license } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
  /** @type {Record<string, Record<string, object>>} */
  const paths = {
    '/openapi.json': {
      get: {
        operationId: 'openapi',
        summary: 'This description',
        security: [],
        responses: { 200: json('OpenAPI 3.1', { type: 'object' }), ...errors(ANY) }
      }
    }
  }
  for (const route of routes) {
    const path = route.path.replace(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation(route, maxRecordBytes) }
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
    security: [{ token: [] }, {}],
    paths,
    components: {
      securitySchemes: {
        token: {
          type: 'http',
          scheme: 'bearer',
          description: 'One of API_TOKENS. When none are set, callers on the same machine need none.'
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
                retryable: { type: 'boolean', description: 'Whether the same request may succeed later' }
              }
            }
          }
        }
      }
    }
  }
}

/**
 * @param {Route} route
 * @param {number} maxRecordBytes
 */
function operation (
  { path, operation: operationId, summary, query = {}, headers = [], value, answer, optional },
  maxRecordBytes
) {
  const parameters = [
    ...[...path.matchAll(/:(\w+)/g)].map(([, name]) => ({ name, in: 'path', required: true, schema: id })),
    ...Object.entries(query).map(([name, schema]) => ({ name, in: 'query', required: false, schema })),
    ...headers.map((name) => ({ name, in: 'header', required: false, ...HEADERS[name] }))
  ]
  /** @type {ErrorCode[]} */
  const codes = [
    ...ANY,
    ...(answer ? /** @type {ErrorCode[]} */ (['bad_target']) : PUBLISH),
    ...(value === 'value' ? VALUE : []),
    ...(value === 'revoke' ? /** @type {ErrorCode[]} */ (['bad_content_type', 'missing_target']) : []),
    ...(value === 'position' ? /** @type {ErrorCode[]} */ (['bad_content_type', 'value_too_large', 'not_in_log']) : [])
  ]
  return {
    operationId,
    summary,
    parameters,
    ...(value === undefined ? {} : { requestBody: BODIES[value](maxRecordBytes) }),
    responses: {
      ...(answer
        ? { 200: json('The answer', okSchema({ ...answer, ...optional }, Object.keys(answer))) }
        : { 202: json('Accepted', okSchema(PUBLISHED, ['traceId'])) }),
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
      'Position in the document\'s log. Absent if the log does not keep it, and with Kafka, because it is not known yet'
  }
}

/** @type {Record<'value' | 'revoke' | 'position', (maxRecordBytes: number) => object>} */
const BODIES = {
  value: (maxRecordBytes) => ({
    required: true,
    description: `The value, passed on untouched; at most ${maxRecordBytes} bytes`,
    content: { 'application/json': { schema: {} }, 'application/msgpack': { schema: {} } }
  }),
  revoke: () => ({
    required: false,
    description: 'The user, if not in x-uid',
    content: {
      'application/json': {
        schema: { type: 'object', required: ['uid'], properties: { uid: id }, additionalProperties: false }
      }
    }
  }),
  position: () => ({
    required: true,
    description: 'The position of the last record to remove',
    content: {
      'application/json': {
        schema: {
          type: 'object',
          required: ['epoch', 'offset'],
          properties: { epoch: { type: 'string' }, offset: { type: 'integer', minimum: 0 } },
          additionalProperties: false
        }
      }
    }
  })
}

/** @param {string} description @param {object} schema */
const json = (description, schema) => ({ description, content: { 'application/json': { schema } } })

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
