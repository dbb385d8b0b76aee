import { InkcastError } from '../../../base/common/errors.js'
import { readBackwards } from '../../../documents/history.js'
import { MAX_ID_BYTES } from '../../../wire/publication.js'
import { readObject } from './body.js'

/**
 * The operations that read a document's log and its presence.
 *
 * @typedef {import('./operation.js').Operation} Operation
 * @typedef {import('./operation.js').Call} Call
 * @typedef {import('../../../log/bus/contract.js').BusRecord} BusRecord
 */

const MAX_LIMIT = 1000
/** The answer ends after the record that exceeds this size; the caller requests the rest. */
const MAX_ANSWER_BYTES = 8 * 2 ** 20
/** Records per read from the bus, which bounds the memory beyond the answer's limit. */
const PAGE = 50

const position = {
  type: 'object',
  required: ['epoch', 'offset'],
  properties: { epoch: { type: 'string' }, offset: { type: 'integer', minimum: 0 } }
}
/** Of the end of a document's log. */
export const positionOrNull = {
  anyOf: [position, { type: 'null' }],
  description: 'End of the log. Before the first record its offset is 0. null: in Redis another type is in the place of the log'
}

const MAX_MEMBERS = 1000

/** Query of an operation that reads a log. */
export const historyQuery = {
  epoch: {
    type: 'string',
    minLength: 1,
    maxLength: 64,
    description: 'Epoch of the position after which the records begin. Needs `offset`'
  },
  offset: {
    type: 'integer',
    minimum: 0,
    maximum: Number.MAX_SAFE_INTEGER,
    description: 'Offset of the position after which the records begin. Needs `epoch`'
  },
  limit: {
    type: 'integer',
    minimum: 1,
    maximum: MAX_LIMIT,
    default: 100,
    description:
      'Maximum number of records in the answer. If they are large, there are fewer. To read on, request the records ' +
      'after the last one, until `position` is reached'
  }
}

/** Fields of its answer, besides the owner of the log. */
export const historyAnswer = {
  position: positionOrNull,
  gap: {
    enum: [null, 'epoch', 'trimmed'],
    description:
      'Why records after the requested position are missing. `epoch`: the position belongs to another log. ' +
      '`trimmed`: the log no longer has them. null: no record is missing'
  },
  records: {
    type: 'array',
    items: {
      type: 'object',
      required: ['offset', 'event', 'traceId', 'timestamp', 'contentType'],
      properties: {
        offset: { type: 'integer' },
        after: {
          type: 'integer',
          description: 'Offset of the record before it in the log, if that is not `offset` - 1: newer records of the ' +
            'same keys (`x-key`) have replaced the records between the two'
        },
        lost: {
          const: true,
          description: 'Redis has lost data before this record was published: records between it and the one before ' +
            'may be missing'
        },
        device: { type: 'string', description: 'In the log of a user: only this device of the user gets the record' },
        event: { type: 'string' },
        traceId: { type: 'string' },
        timestamp: { type: 'integer', description: 'ms since 1970' },
        source: { type: 'string' },
        contentType: { enum: ['application/json', 'application/msgpack'] },
        value: { description: 'The value of a JSON record, unchanged' },
        valueBase64: { type: 'string', contentEncoding: 'base64', description: 'The value of a msgpack record' }
      }
    }
  }
}

/** @type {Operation[]} */
export const documentOperations = [
  {
    method: 'GET',
    path: '/v1/documents/:guid/presence',
    operation: 'presence',
    summary:
      'List the members of the document\'s presence: users whose connections joined with `state` or `members: true`',
    query: {
      cursor: {
        type: 'string', minLength: 1, maxLength: MAX_ID_BYTES, description: 'The `cursor` of the previous answer'
      },
      limit: {
        type: 'integer',
        minimum: 1,
        maximum: MAX_MEMBERS,
        default: 100,
        description: 'Maximum number of members in the answer. If their states are large, there are fewer'
      }
    },
    answer: {
      guid: { type: 'string' },
      count: { type: 'integer', description: 'Number of all members' },
      version: { type: 'integer', description: 'Grows with each change' },
      members: {
        type: 'array',
        items: {
          type: 'object',
          required: ['uid', 'id'],
          properties: {
            uid: { type: 'string' },
            id: { type: 'string', description: 'Id of the newest connection of the member' },
            name: { type: 'string', description: 'From the token' },
            state: { type: 'object', description: 'State of the newest connection' },
            idle: { const: true, description: 'Only of a member whose connections all say that they are idle' },
            connections: {
              type: 'array',
              description: 'All connections of the member, if there are several; 20 at most',
              items: {
                type: 'object',
                required: ['id'],
                properties: { id: { type: 'string' }, state: { type: 'object' }, idle: { const: true } }
              }
            }
          }
        }
      }
    },
    optional: {
      cursor: {
        type: 'string',
        description: 'Only if there are more members: the same request with this cursor returns the next ones'
      }
    },
    async handle ({ params: { guid }, query, presence }) {
      const { cursor, limit } = /** @type {{ cursor?: string, limit: number }} */ (query)
      const { members, count, version, cursor: next } = await presence.page(guid, { after: cursor, limit })
      return { ok: true, guid, members, count, version, ...(next === undefined ? {} : { cursor: next }) }
    }
  },
  {
    method: 'GET',
    path: '/v1/documents/:guid/position',
    operation: 'position',
    summary: 'The end of the document\'s log',
    answer: { guid: { type: 'string' }, position: positionOrNull },
    async handle ({ params: { guid }, bus }) {
      const [end] = await bus.positions([guid])
      return { ok: true, guid, position: end ?? null }
    }
  },
  {
    method: 'GET',
    path: '/v1/documents/:guid/history',
    operation: 'history',
    summary: 'Read the document\'s log: the records after a position, or the newest ones',
    query: historyQuery,
    answer: { guid: { type: 'string' }, ...historyAnswer },
    handle: (call) => history(call, call.params.guid, { guid: call.params.guid })
  },
  {
    method: 'POST',
    path: '/v1/documents/:guid/cut',
    operation: 'cut',
    summary:
      'Remove the records up to a position from the document\'s log, for example because a snapshot contains them',
    body: {
      description: 'The position of the last record to remove',
      schema: position
    },
    errors: ['not_in_log'],
    answer: {
      guid: { type: 'string' },
      position: { ...position, description: 'End of the log' },
      removed: { type: 'integer', description: 'Number of records that were removed' }
    },
    handle: cut
  }
]

/**
 * @param {Call} call
 * @throws {InkcastError} bad_request, not_in_log
 */
async function cut ({ params: { guid }, body, bus }) {
  const { epoch, offset, ...others } = readObject(body ?? Buffer.alloc(0))
  if (typeof epoch !== 'string' || typeof offset !== 'number' || !Number.isSafeInteger(offset) || offset < 0 ||
    Object.keys(others).length > 0)
    throw new InkcastError('bad_request', 'the body must be { "epoch": …, "offset": … }')
  const done = await bus.cut(guid, { epoch, offset })
  if (done === null) throw new InkcastError('not_in_log')
  return { ok: true, guid, ...done }
}

/**
 * @param {Pick<Call, 'bus' | 'query' | 'answering'>} call
 * @param {string} guid of the document, or name of a user's log
 * @param {Record<string, string>} owner of the log, for the answer
 */
export async function history ({ bus, query, answering }, guid, owner) {
  const { epoch, offset, limit } = /** @type {{ epoch?: string, offset?: number, limit: number }} */ (query)
  if (epoch !== undefined && offset !== undefined)
    return answer(owner, await readLog({ bus, answering }, guid, { epoch, offset }, limit))
  if (epoch !== undefined || offset !== undefined) throw new InkcastError('bad_request', 'epoch and offset go together')

  const { position, records } = await readBackwards(bus, guid, {
    limit, maxBytes: MAX_ANSWER_BYTES, onBytes: answering
  })
  return answer(owner, { position, gap: null, records: records.map(encodeRecord) })
}

/**
 * @typedef {object} Read
 * @property {import('../../../wire/position.js').Position | null} position end of the log
 * @property {null | 'epoch' | 'trimmed'} gap
 * @property {Buffer[]} records as JSON
 */

/**
 * @param {Pick<Call, 'bus' | 'answering'>} call
 * @param {string} guid
 * @param {import('../../../wire/position.js').Position} since
 * @param {number} limit
 * @returns {Promise<Read>}
 */
async function readLog ({ bus, answering }, guid, { epoch, offset }, limit) {
  /** @type {Buffer[]} */
  const records = []
  let bytes = 0
  for (;;) {
    const {
      position,
      gap,
      records: page
    } = await bus.history(guid, { epoch, offset }, Math.min(limit - records.length, PAGE))
    // A gap that opens during the read does not matter yet: return the records read, the caller requests the rest.
    if (gap !== null) return { position, gap: records.length === 0 ? gap : null, records }
    for (const record of page) {
      const encoded = encodeRecord(record)
      records.push(encoded)
      answering(bytes += encoded.length)
      offset = record.offset
      if (records.length === limit || bytes > MAX_ANSWER_BYTES) return { position, gap, records }
    }
    if (page.length === 0 || offset >= position.offset) return { position, gap, records }
  }
}

/**
 * A JSON value goes into the answer byte for byte: parsing would lose values that JavaScript can't hold, such as
 * large integers.
 * @param {BusRecord} record
 */
function encodeRecord (record) {
  const { offset, after, lost, publication: { device, event, traceId, timestamp, source, contentType, value } } = record
  const head = { offset, after, lost, device, event, traceId, timestamp, source, contentType }
  if (contentType !== 'application/json')
    return Buffer.from(JSON.stringify({ ...head, valueBase64: value.toString('base64') }))
  return Buffer.concat([Buffer.from(`${JSON.stringify(head).slice(0, -1)},"value":`), value, Buffer.from('}')])
}

/** @param {Record<string, string>} owner @param {Read} read */
function answer (owner, { position, gap, records }) {
  /** @type {Buffer[]} */
  const parts = [Buffer.from(`${JSON.stringify({ ok: true, ...owner, position, gap }).slice(0, -1)},"records":[`)]
  for (const [index, record] of records.entries()) parts.push(Buffer.from(index === 0 ? '' : ','), record)
  return Buffer.concat([...parts, Buffer.from(']}')])
}
