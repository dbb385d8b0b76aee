import { userLog } from '../../../wire/publication.js'
import { history, historyAnswer, historyQuery } from './documents.js'

/**
 * Operations about one user: whether the user is connected, and the records that were published to them with `x-keep`.
 * @type {import('./operation.js').Operation[]}
 */
export const userOperations = [
  {
    method: 'GET',
    path: '/v1/users/:uid',
    operation: 'user',
    summary: 'Whether a user is connected, and when the user was connected last',
    answer: {
      uid: { type: 'string' },
      online: { type: 'boolean', description: 'Whether the user has an open connection on any worker' },
      connections: { type: 'integer', description: 'Number of open connections' },
      lastSeen: {
        anyOf: [{ type: 'integer' }, { type: 'null' }],
        description: 'Of a user who is online, `lastSeen` of the newest connection. Otherwise the end of the last ' +
          'connection, ms since 1970; null after a day, and for anonymous users'
      }
    },
    async handle ({ params: { uid }, sessions }) {
      const open = await sessions.sessions(uid)
      const lastSeen = open.length > 0
        ? Math.max(...open.map((session) => session.lastSeen))
        : await sessions.lastSeen(uid)
      return { ok: true, uid, online: open.length > 0, connections: open.length, lastSeen }
    }
  },
  {
    method: 'GET',
    path: '/v1/users/:uid/history',
    operation: 'userHistory',
    summary: 'Read the user\'s log: the records after a position, or the newest ones',
    query: historyQuery,
    answer: { uid: { type: 'string' }, ...historyAnswer },
    handle: (call) => history(call, userLog(call.params.uid), { uid: call.params.uid })
  }
]
