import { InkcastError } from '../../../base/common/errors.js'
import { timeOfSid } from '../../../wire/session-id.js'

/**
 * Who is connected.
 *
 * @typedef {import('./operation.js').Operation} Operation
 */

const connection = {
  type: 'object',
  required: ['sid', 'worker', 'transport', 'connectedAt', 'lastSeen', 'documents'],
  properties: {
    sid: { type: 'string', description: 'Connection id, as in `x-sid`' },
    worker: { type: 'integer', description: 'Worker number of its gateway worker' },
    client: { type: 'string', description: 'Stable id of the client, if it gave one' },
    transport: { enum: ['websocket', 'polling'] },
    connectedAt: { type: 'integer', description: 'ms since 1970' },
    lastSeen: {
      type: 'integer',
      description: 'Time of the last message of the client, or up to `pingInterval` + `pingTimeout` + 15 s ' +
        'earlier (60 s by default); ms since 1970'
    },
    documents: { type: 'array', items: { type: 'string' }, description: 'Guids of its open documents' }
  }
}

/** @type {Operation[]} */
export const sessionOperations = [
  {
    method: 'GET',
    path: '/v1/users/:uid/sessions',
    operation: 'sessions',
    summary: 'List the connections of a user on all workers, with their open documents',
    answer: {
      uid: { type: 'string' },
      sessions: {
        type: 'array',
        items: connection
      }
    },
    async handle ({ params: { uid }, sessions }) {
      return {
        ok: true,
        uid,
        sessions: (await sessions.sessions(uid)).map((session) => ({ ...session, connectedAt: timeOfSid(session.sid) }))
      }
    }
  },
  {
    method: 'GET',
    path: '/v1/sockets/:sid',
    operation: 'session',
    summary:
      'One connection: its user, worker and open documents. Searches all users of that worker, so call it rarely',
    answer: {
      uid: { type: 'string' },
      session: connection
    },
    errors: ['not_found'],
    async handle ({ params: { sid }, sessions }) {
      const found = await sessions.session(sid)
      if (found === null) throw new InkcastError('not_found', 'no open connection has this id')
      const { uid, ...session } = found
      return { ok: true, uid, session: { ...session, connectedAt: timeOfSid(sid) } }
    }
  }
]
