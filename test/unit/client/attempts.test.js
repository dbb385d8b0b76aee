import assert from 'node:assert/strict'
import { test } from 'node:test'
import { random } from '../../../client/common/random.js'
import { clientTime } from '../../helpers/client-time.js'
import { scriptedClient } from '../../helpers/scripted-socket.js'

test('an attempt whose transport fails after it has opened counts once', (t) => {
  const time = clientTime(t)
  t.mock.method(random, 'number', () => 1)
  const { client, socket } = scriptedClient(t)
  socket.accepts()
  time.advance(10_000)
  socket.disconnects('transport close')
  for (const pause of [1000, 2000, 4000]) {
    time.advance(pause)
    // as Socket.IO tells it
    socket.handshake()
    socket.fails()
    socket.disconnects('transport error')
  }
  assert.match(String(client.reason?.cause), /xhr poll error/)
  assert.deepEqual(socket.attempts.map(([first]) => first), ['websocket', 'websocket', 'polling', 'websocket'])
})
