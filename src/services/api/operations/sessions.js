import { InkcastError } from '../../../base/common/errors.js'
import { ID_RULE, deviceUser, isId } from '../../../wire/publication.js'
import { timeOfSid } from '../../../wire/session-id.js'

/**
 * Who is connected.
 *
 * @typedef {import('./operation.js').Operation} Operation
 */

const connection = {
  type: 'object',
  required: ['sid', 'worker', 'transport', 'listener', 'connectedAt', 'lastSeen', 'documents'],
  properties: {
    sid: { type: 'string', description: 'Connection id, as in `x-sid`' },
    worker: { type: 'integer', description: 'Worker number of its gateway worker' },
    client: { type: 'string', description: 'Stable id of the client, if it gave one' },
    transport: { enum: ['websocket', 'polling'] },
    listener: { type: 'string', description: 'Name of its listener in `LISTENERS`, or `socketio`' },
    connectedAt: { type: 'integer', description: 'ms since 1970' },
    lastSeen: {
      type: 'integer',
      description: 'Time of the last message of the client, or up to `pingInterval` + `pingTimeout` + 15 s ' +
        'earlier (60 s by default); ms since 1970'
    },
    documents: { type: 'array', items: { type: 'string' }, description: 'Guids of its open documents' }
  }
}

/**
 * @template {import('../../../people/sessions/contract.js').Session} T
 * @param {T} session
 */
const described = ({ listener = 'socketio', ...session }) =>
  ({ ...session, listener, connectedAt: timeOfSid(session.sid) })

/** @type {Operation[]} */
export const sessionOperations = [
  {
    method: 'GET',
    path: '/v1/users/:uid/sessions',
    operation: 'sessions',
    summary: 'List the connections of a user on all workers, with their open documents',
    query: { device: { type: 'string', minLength: 1, description: 'Only connections with this client id' } },
    answer: {
      uid: { type: 'string' },
      sessions: {
        type: 'array',
        items: connection
      }
    },
    async handle ({ params: { uid }, query, sessions }) {
      const { device } = /** @type {{ device?: string }} */ (query ?? {})
      const open = await sessions.sessions(uid)
      const found = device === undefined ? open : open.filter(({ client }) => client === device)
      return { ok: true, uid, sessions: found.map(described) }
    }
  },
  {
    method: 'GET',
    path: '/v1/devices/:device',
    operation: 'device',
    summary: 'Whether a device is connected, its connections, and when it was connected last',
    query: { uid: { type: 'string', minLength: 1, description: 'Its user. Default: the device without a login' } },
    answer: {
      uid: { type: 'string' },
      device: { type: 'string' },
      online: { type: 'boolean', description: 'Whether it has an open connection on any worker' },
      sessions: { type: 'array', items: connection },
      lastSeen: {
        anyOf: [{ type: 'integer' }, { type: 'null' }],
        description: 'Of a device that is online, `lastSeen` of its newest connection. Otherwise the end of the last ' +
          'connection, ms since 1970; null after an hour, and for clients of Socket.IO'
      }
    },
    async handle ({ params: { device }, query, sessions }) {
      const uid = userOfDevice(device, query)
      const open = (await sessions.sessions(uid)).filter(({ client }) => client === device).map(described)
      const lastSeen = open.length > 0
        ? Math.max(...open.map((session) => session.lastSeen))
        : await sessions.lastSeen(uid, device)
      return { ok: true, uid, device, online: open.length > 0, sessions: open, lastSeen }
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
      return { ok: true, uid, session: described(session) }
    }
  }
]

/** @param {string} device @param {unknown} query @returns {string} the user that a request about a device is about */
export function userOfDevice (device, query) {
  const { uid = deviceUser(device) } = /** @type {{ uid?: string }} */ (query ?? {})
  if (!isId(uid)) throw new InkcastError('bad_target', `the uid is not a valid id: ${ID_RULE}`)
  return uid
}
