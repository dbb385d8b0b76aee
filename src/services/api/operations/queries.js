import { MAX_ID_BYTES } from '../../../wire/publication.js'
import { positionOrNull } from './documents.js'

/**
 * What is open, and what the cluster does.
 *
 * @typedef {import('./operation.js').Operation} Operation
 */

const MAX_DOCUMENTS = 1000

/** @type {Operation[]} */
export const queryOperations = [
  {
    method: 'GET',
    path: '/v1/documents',
    operation: 'documents',
    summary: 'Documents that users have open, in the order of their guids',
    query: {
      prefix: { type: 'string', minLength: 1, maxLength: MAX_ID_BYTES, description: 'Only guids that begin with this' },
      cursor: {
        type: 'string', minLength: 1, maxLength: MAX_ID_BYTES, description: 'The `cursor` of the previous answer'
      },
      limit: {
        type: 'integer', minimum: 1, maximum: MAX_DOCUMENTS, default: 100,
        description: 'Maximum number of documents in the answer'
      }
    },
    answer: {
      documents: {
        type: 'array',
        items: {
          type: 'object',
          required: ['guid', 'members', 'position'],
          properties: {
            guid: { type: 'string' },
            members: {
              type: 'integer',
              description: 'Users who have it open on any worker, or whose last connection to it was closed or lost ' +
                'within the last `PRESENCE_GRACE`'
            },
            position: positionOrNull
          }
        }
      }
    },
    optional: {
      cursor: {
        type: 'string',
        description: 'Only if there are more documents: the same request with this cursor returns the next ones'
      }
    },
    async handle ({ query, sessions, bus }) {
      const { prefix, cursor, limit } = /** @type {{ prefix?: string, cursor?: string, limit: number }} */ (query)
      const open = await sessions.documents({ prefix, after: cursor, limit })
      const positions = open.length === 0 ? [] : await bus.positions(open.map(({ guid }) => guid))
      const documents = open.map((document, i) => ({ ...document, position: positions[i] ?? null }))
      return { ok: true, documents, ...(open.length === limit && { cursor: open[limit - 1].guid }) }
    }
  },
  {
    method: 'GET',
    path: '/v1/overview',
    operation: 'overview',
    summary:
      'The cluster: its processes on all machines, their connections and documents, and the records that wait in Kafka',
    answer: {
      workers: { type: 'integer', description: 'Number of gateway workers' },
      connections: { type: 'integer' },
      documents: {
        type: 'integer', description: 'Open documents. A document that is open on several workers counts once for each'
      },
      lag: { type: 'integer', description: 'Records that wait in Kafka' },
      processes: {
        type: 'array',
        description: 'The reports of all processes from the last 15 s',
        items: {
          type: 'object',
          required: ['name', 'host', 'version', 'startedAt', 'notReady', 'connections', 'documents', 'lag'],
          properties: {
            name: { type: 'string', description: 'Role and number on its machine' },
            host: { type: 'string', description: 'Name of its machine' },
            version: { type: 'string' },
            startedAt: { type: 'integer', description: 'ms since 1970' },
            notReady: {
              type: 'array', items: { type: 'string' }, description: 'Reasons why it is not ready. Empty: it is ready'
            },
            worker: { type: 'integer', description: 'Worker number of a gateway worker, as in a session' },
            connections: { type: 'integer' },
            documents: { type: 'integer' },
            lag: { type: 'integer' }
          }
        }
      }
    },
    async handle ({ overview }) {
      const processes = (await overview.read())
        .sort((a, b) => compare(a.host, b.host) || compare(a.name, b.name))
      const sum = (/** @type {'connections' | 'documents' | 'lag'} */ field) =>
        processes.reduce((total, { [field]: value }) => total + value, 0)
      return {
        ok: true,
        workers: processes.filter(({ worker }) => worker !== undefined).length,
        connections: sum('connections'),
        documents: sum('documents'),
        lag: sum('lag'),
        processes
      }
    }
  }
]

/** @param {string} a @param {string} b */
const compare = (a, b) => a.localeCompare(b, 'en', { numeric: true })
