import { isUtf8 } from 'node:buffer'
import { InkcastError, publicError } from '../../../base/common/errors.js'
import { publicationFromItem } from '../../../wire/item.js'
import { countItems, rawItems } from '../../../wire/json-walk.js'
import { TooManyValues } from '../../../wire/msgpack.js'
import { laneOf } from '../../../wire/publication.js'
import { MAX_VALUES, placeOf } from '../../../wire/value.js'
import { idempotencyKeyFrom } from '../idempotency/publish-once.js'

/**
 * Many publications in one request.
 *
 * @typedef {import('./operation.js').Operation} Operation
 * @typedef {import('./operation.js').Call} Call
 * @typedef {import('./operation.js').BatchItem} BatchItem
 */

export const MAX_PUBLICATIONS = 1000
/** More than a publication has, also when it has each one twice. */
const MAX_FIELDS = 50
/** One call of the bus takes as many. */
export const MAX_PER_LANE = 256
/** Of publications that are refused before their target is known. */
const NO_LANE = ''
/** What a batch may have beside one value of the largest size, bytes. */
const OVERHEAD = 64 * 1024
const MIN_BYTES = 4 * 2 ** 20

/** @param {number} maxRecordBytes @returns {number} maximum size of a batch */
export const maxBatchBytes = (maxRecordBytes) => Math.max(MIN_BYTES, maxRecordBytes + OVERHEAD)

const text = { type: 'string' }
const position = {
  type: 'object',
  required: ['epoch', 'offset'],
  properties: { epoch: text, offset: { type: 'integer' } },
  description:
    'Position of the record in the log. Missing with Kafka (not known yet), if no log keeps the record, and if a ' +
    'retry finds no stored answer of the first request'
}

/** @type {Operation[]} */
export const batchOperations = [{
  method: 'POST',
  path: '/v1/publish',
  operation: 'publishBatch',
  summary: 'Publish many publications at once, to documents, users and connections',
  publishes: true,
  maxBytes: maxBatchBytes,
  errors: ['bad_utf8', 'bad_value'],
  body: {
    batch: true,
    description: `At most ${MAX_PUBLICATIONS} publications, at most ${MAX_PER_LANE} of them to one document, user or ` +
      'connection. Fields have the names of the headers in camel case. The value is any JSON in `value`, or its ' +
      'bytes in `valueBase64`',
    schema: {
      type: 'object',
      required: ['publications'],
      additionalProperties: false,
      properties: {
        publications: {
          type: 'array',
          minItems: 1,
          maxItems: MAX_PUBLICATIONS,
          items: {
            type: 'object',
            additionalProperties: false,
            properties: {
              operator: { type: 'string', default: 'broadcast' },
              guid: text,
              uid: text,
              sid: text,
              device: {
                type: 'string',
                description: 'Client id, with operator `device`, and to limit `kick`, `join` and `leave` to it'
              },
              event: { type: 'string', default: 'message' },
              value: { description: 'Any JSON, passed on unchanged' },
              valueBase64: {
                type: 'string', contentEncoding: 'base64',
                description: 'The value, JSON or msgpack, in place of `value`'
              },
              contentType: { type: 'string', description: 'Of `valueBase64`', default: 'application/json' },
              except: { type: 'array', items: text },
              ephemeral: { type: 'boolean', default: false },
              keep: {
                type: 'boolean', default: false,
                description: 'Only with operators `user` and `device`. `true`: the record is kept in the user\'s log'
              },
              receipt: { type: 'boolean', default: false },
              key: {
                type: 'string',
                description:
                  'The log (of the document, or with keep of the user) keeps only the newest record of each key'
              },
              traceId: text,
              traceparent: text,
              timestamp: { type: 'integer', description: 'ms since 1970' },
              ttl: { type: 'integer', description: 'Duration of a revoke or ban, s' },
              idempotencyKey: text
            }
          }
        }
      }
    }
  },
  answer: {
    failed: { type: 'integer', description: 'Number of publications that failed' },
    results: {
      type: 'array',
      description: 'One for each publication, in the order of the publications',
      items: {
        type: 'object',
        required: ['ok'],
        properties: {
          ok: { type: 'boolean' },
          traceId: text,
          position,
          connections: {
            type: 'integer', description: 'Only for orders (kick, revoke, …): number of connections concerned'
          },
          workers: { type: 'integer', description: 'Only for orders: number of workers that have these connections' },
          error: {
            type: 'object',
            required: ['code', 'message', 'retryable'],
            properties: {
              code: text,
              message: text,
              retryable: { type: 'boolean' },
              retryInMs: { type: 'integer' }
            }
          }
        }
      }
    }
  },
  handle: publishBatch
}]

/**
 * All or none of a document's publications are published, in one call of the bus.
 * @param {Call} call
 */
async function publishBatch (call) {
  const { caller, now, random, admit, refused, publishLane } = call
  const batch = call.batch ?? readBatch(call)
  if (batch.length === 0 || batch.length > MAX_PUBLICATIONS) {
    refused(batch.length)
    throw new InkcastError('bad_request', `a batch has 1 to ${MAX_PUBLICATIONS} publications`)
  }
  const entries = batch.map((one) => entryOf(one, { caller, now, random, admit, refused }))
  /** @type {Map<string, number[]>} indexes by lane */
  const lanes = new Map()
  for (const [index, { lane }] of entries.entries()) {
    const others = lanes.get(lane)
    if (others === undefined) lanes.set(lane, [index])
    else if (others.push(index) > MAX_PER_LANE && lane !== NO_LANE)
      throw new InkcastError('bad_request', `a batch has at most ${MAX_PER_LANE} publications of one target`)
  }
  /** @type {object[]} */
  const results = new Array(batch.length)
  let failed = 0
  await Promise.all(Array.from(lanes, async ([lane, indexes]) => {
    const publications = indexes.map((index) => entries[index].publication)
    const done = await publishLane(publications, { atomic: lane.startsWith('d:') })
    for (const [i, result] of done.entries()) {
      if (result instanceof Error) failed++
      results[indexes[i]] =
        result instanceof Error ? { ok: false, error: publicError(result) } : { ok: true, ...result }
    }
  }))
  return { ok: true, failed, results }
}

/**
 * @param {BatchItem} one
 * @param {Pick<Call, 'caller' | 'now' | 'random' | 'admit' | 'refused'>} context
 * @returns {{ lane: string, publication: import('../../../wire/publication.js').Publication | Error }}
 */
export function entryOf ({ item, value }, { caller, now, random, admit, refused }) {
  let lane = laneOfItem(item)
  let publication
  try {
    publication = publicationFromItem(item, {
      source: caller,
      now,
      random,
      value,
      keyFrom: (key) => key === undefined ? undefined : idempotencyKeyFrom(key, caller)
    })
    lane = laneOf(publication)
  } catch (error) {
    refused()
    return { lane, publication: /** @type {Error} */ (error) }
  }
  try {
    return { lane, publication: admit(publication) }
  } catch (error) {
    return { lane, publication: /** @type {Error} */ (error) }
  }
}

/** @param {any} item that may be anything @returns {string} */
const laneOfItem = (item) =>
  typeof item?.guid === 'string' && (item.operator ?? 'broadcast') === 'broadcast' ? `d:${item.guid}` : NO_LANE

/**
 * Counts the publications before it decodes them, and charges the caller what decoding took.
 * @param {Pick<Call, 'header' | 'body' | 'refused' | 'decoding'>} call
 * @returns {BatchItem[]} the values of `value` byte for byte
 * @throws {InkcastError} bad_content_type, bad_request, bad_utf8, bad_value
 */
function readBatch ({ header, body = Buffer.alloc(0), refused, decoding }) {
  let count = 1
  try {
    return decoding(body.length, () => {
      if (/^application\/msgpack\b/.test(header('content-type') ?? ''))
        throw new InkcastError('bad_content_type', 'a batch is JSON; msgpack values go into valueBase64')
      if (!isUtf8(body)) throw new InkcastError('bad_utf8', 'the body is not valid UTF-8')
      const json = body.toString()
      const { items, fields, values, deep } = countItems(json)
      if (items > MAX_PUBLICATIONS) {
        count = items
        throw new InkcastError('bad_request', `a batch has 1 to ${MAX_PUBLICATIONS} publications`)
      }
      if (deep) throw new InkcastError('bad_value', 'a value is nested too deep')
      if (values > MAX_VALUES) throw new TooManyValues(MAX_VALUES)
      if (fields > MAX_FIELDS) throw new InkcastError('bad_request', `a publication has at most ${MAX_FIELDS} fields`)
      return itemsOf(json)
    })
  } catch (error) {
    refused(count)
    throw error
  }
}

/** @param {string} json @returns {BatchItem[]} */
function itemsOf (json) {
  const items = parse(json)
  const values = rawItems(json, 'publications', 'value')
  if (values === null) throw new InkcastError('bad_value', 'a value is nested too deep')
  return items.map((item, i) => {
    const value = values[i]
    if (value === undefined || /** @type {any} */ (item)?.valueBase64 !== undefined) return { item }
    // a value of msgpack cannot be written as JSON
    if (isMsgpack(item)) return { item }
    return { item, value: Buffer.from(value) }
  })
}

/** @param {any} item */
const isMsgpack = (item) => item.contentType !== undefined && !/^application\/json\b/.test(item.contentType)

/** @param {string} json @returns {unknown[]} */
function parse (json) {
  const wanted = 'the body must be { "publications": [ … ] }'
  if (json === '') throw new InkcastError('bad_request', `the body is empty: ${wanted}`)
  let given
  try {
    given = JSON.parse(json)
  } catch (error) {
    throw new InkcastError('bad_request', `${wanted}: it is not valid JSON${placeOf(json, error)}`, { cause: error })
  }
  const { publications, ...others } = given ?? {}
  if (Array.isArray(publications) && Object.keys(others).length === 0) return publications
  throw new InkcastError('bad_request', wanted)
}
