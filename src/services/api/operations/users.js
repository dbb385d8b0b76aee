import { userLog } from '../../../wire/publication.js'
import { history, historyAnswer, historyQuery } from './documents.js'

/**
 * Operations that read the log of a user: the records that were published to them with `x-keep`.
 * @type {import('./operation.js').Operation[]}
 */
export const userOperations = [
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
