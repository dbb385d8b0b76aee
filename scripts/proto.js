import { readFileSync } from 'node:fs'
import { HEADERS } from '../src/services/api/http/openapi.js'
import { fieldOfHeader, rpcOf } from '../src/services/api/grpc/names.js'
import { operations } from '../src/services/api/operations/index.js'

/**
 * Writes inkcast.proto from the table of operations. Numbers of fields are those of the file as it is; new fields get
 * the next number, and a field that is gone is an error, because clients use it.
 */

const PATH = new URL('../src/services/api/grpc/inkcast.proto', import.meta.url)

/** Names of messages that streams use, too. @type {Record<string, string>} */
const SHARED = { PublishBatchRequestPublications: 'Publication', PublishBatchResponseResults: 'PublishResult' }

const STREAMS = `
message PublishStreamRequest {
  // One or more; several in a message cost less.
  repeated Publication publications = 1;
}

message PublishStreamResponse {
  // One for each publication of the stream, in their order.
  repeated PublishResult results = 1;
}

// The first message has the group, the others acknowledge.
message EventsRequest {
  string group = 1;
  // The batch of an EventsResponse.
  string done = 2;
}

message EventsResponse {
  // To acknowledge; then the next events of its part come.
  string batch = 1;
  repeated Event events = 2;
}

message Event {
  string id = 1;
  // The part or partition, within which sequence grows.
  string source = 2;
  int64 sequence = 3;
  string operator = 4;
  string guid = 5;
  string uid = 6;
  string sid = 7;
  string event = 8;
  string trace_id = 9;
  int64 timestamp = 10;
  string content_type = 11;
  bytes value = 12;
  // Of a queued edit.
  string queue = 13;
  int64 seq = 14;
  // W3C Trace Context of a traced message.
  string traceparent = 15;
  // Of a message: the id that excludes its sender, for except.
  string sender = 16;
  // Of life-cycle events of connections that are not Socket.IO's: client id and listener.
  string device = 17;
  string listener = 18;
}
`

/** @returns {string} */
export function proto () {
  let written = ''
  try { written = readFileSync(PATH, 'utf8') } catch {}
  const numbers = numbersIn(written)
  /** @type {Map<string, string>} */
  const messages = new Map()

  /** @param {string} message @param {[string, any, boolean][]} fields name, schema, optional */
  function add (message, fields) {
    if (messages.has(message)) return message
    messages.set(message, '')
    const known = numbers.get(message) ?? new Map()
    let next = Math.max(0, ...known.values())
    const lines = fields.map(([name, schema, optional]) => {
      const field = snake(name)
      const number = known.get(field) ?? ++next
      known.delete(field)
      const type = typeOf(schema, message + pascal(name))
      const label = optional && !/^(repeated|map)/.test(type) ? 'optional ' : ''
      return { number, line: `  ${label}${type} ${field} = ${number};` }
    })
    if (known.size > 0) throw new Error(`${message}: fields of the proto are gone: ${[...known.keys()].join(', ')}`)
    lines.sort((a, b) => a.number - b.number)
    messages.set(message, `message ${message} {\n${lines.map(({ line }) => line + '\n').join('')}}`)
    return message
  }

  /** @param {any} schema @param {string} name of the message, if it is one @returns {string} */
  function typeOf (schema, name) {
    const given = schema.anyOf?.find((/** @type {any} */ one) => one.type !== 'null') ?? schema
    if (given.enum !== undefined) return 'string'
    if (given.const !== undefined) return 'bool'
    const type = Array.isArray(given.type) ? given.type.find((/** @type {string} */ one) => one !== 'null') : given.type
    switch (type) {
      case undefined: return 'bytes'
      case 'string': return 'string'
      case 'integer': return 'int64'
      case 'number': return 'double'
      case 'boolean': return 'bool'
      case 'array': return `repeated ${typeOf(given.items, name)}`
    }
    if (given.properties !== undefined) {
      const isPosition = Object.keys(given.properties).sort().join() === 'epoch,offset'
      return add(isPosition ? 'Position' : SHARED[name] ?? name, fieldsOf(given))
    }
    if (typeof given.additionalProperties === 'object') return `map<string, ${typeOf(given.additionalProperties, name)}>`
    return 'string'
  }

  const rpcs = operations.map((operation) => {
    const rpc = rpcOf(operation)
    const { path, query = {}, headers = [], body, summary, answer, optional } = operation
    /** @type {Map<string, [string, any, boolean]>} */
    const request = new Map()
    const put = (/** @type {string} */ name, /** @type {any} */ schema, more = true) => {
      if (!request.has(name)) request.set(name, [name, schema, more])
    }
    for (const [, name] of path.matchAll(/:(\w+)/g)) put(name, { type: 'string' }, false)
    if (body === 'value') {
      put('value', {}, false)
      put('contentType', { type: 'string' })
    }
    for (const [name, schema] of Object.entries(query)) put(name, schema)
    for (const header of headers) put(fieldOfHeader(header), headerSchema(header))
    const inBody = typeof body === 'object' ? /** @type {any} */ (body.schema).properties ?? {} : {}
    for (const [name, schema] of Object.entries(inBody)) put(name, schema)
    add(`${rpc}Request`, [...request.values()])
    add(`${rpc}Response`, fieldsOf({ properties: answer === undefined ? PUBLISHED : { ...answer, ...optional } }))
    return `  // ${summary}.\n  rpc ${rpc}(${rpc}Request) returns (${rpc}Response);`
  })

  return `// Generated from src/services/api/operations by "npm run docs": do not edit. docs/grpc.md

syntax = "proto3";

package inkcast.v1;

service Gateway {
${rpcs.join('\n\n')}

  // Publishes a stream, with a result for each publication; it is read as fast as it can be published.
  rpc PublishStream(stream PublishStreamRequest) returns (stream PublishStreamResponse);

  // Messages of clients, life-cycle events and receipts, to be acknowledged.
  rpc Events(stream EventsRequest) returns (stream EventsResponse);
}

${[...messages.values()].join('\n\n')}
${STREAMS}`
}

const PUBLISHED = {
  traceId: { type: 'string' },
  position: { type: 'object', properties: { epoch: { type: 'string' }, offset: { type: 'integer' } } }
}

/** @param {any} schema @returns {[string, any, boolean][]} */
const fieldsOf = ({ properties }) => Object.entries(properties)
  .filter(([name]) => name !== 'valueBase64' || !('value' in properties))
  .map(([name, schema]) => [name, schema, false])

/** @param {string} header */
function headerSchema (header) {
  const { schema } = /** @type {any} */ (HEADERS)[header]
  if (header === 'x-except') return { type: 'array', items: { type: 'string' } }
  if (schema.enum?.includes('true')) return { type: 'boolean' }
  return /^\^\\d/.test(schema.pattern ?? '') ? { type: 'integer' } : schema.type === 'integer' ? schema : { type: 'string' }
}

/** @param {string} name */
const snake = (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
/** @param {string} name */
const pascal = (name) => name[0].toUpperCase() + name.slice(1)

/** @param {string} text @returns {Map<string, Map<string, number>>} by message */
function numbersIn (text) {
  const generated = text.slice(0, text.indexOf('message PublishStreamRequest'))
  return new Map([...generated.matchAll(/^message (\w+) \{\n([^}]*)\}/gm)].map(([, message, body]) =>
    [message, new Map([...body.matchAll(/(\w+) = (\d+);/g)].map(([, field, number]) => [field, Number(number)]))]))
}
