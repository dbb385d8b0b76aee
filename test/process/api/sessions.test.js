import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../../src/base/common/clock.js'
import { systemRandom } from '../../../src/base/common/random.js'
import { InkcastError } from '../../../src/base/common/errors.js'
import { createSessionIds, timeOfSid } from '../../../src/wire/session-id.js'
import { startApi } from '../../helpers/api.js'

test('the sessions of a user are listed with their time', async (t) => {
  const sid = createSessionIds(7, { clock: systemClock, random: systemRandom })()
  const session = {
    sid,
    worker: 7,
    client: 'tab',
    transport: /** @type {const} */ ('websocket'),
    lastSeen: 5,
    documents: ['a', 'b']
  }
  const { call } = await startApi(t, { sessions: { sessions: async (uid) => uid === 'a/b' ? [session] : [] } })
  assert.deepEqual((await call('GET', '/v1/users/a%2Fb/sessions')).body, {
    ok: true,
    uid: 'a/b',
    sessions: [{ ...session, listener: 'socketio', connectedAt: timeOfSid(sid) }]
  })
  assert.deepEqual((await call('GET', '/v1/users/bob/sessions')).body, { ok: true, uid: 'bob', sessions: [] })
})

test('while the store is unavailable, so are the sessions', async (t) => {
  const { call } = await startApi(t, { sessions: { sessions: () => Promise.reject(new InkcastError('unavailable')) } })
  const { status, body } = await call('GET', '/v1/users/ada/sessions')
  assert.deepEqual([status, body.error.code], [503, 'unavailable'])
})
