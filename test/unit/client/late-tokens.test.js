import assert from 'node:assert/strict'
import { test } from 'node:test'
import { clientTime } from '../../helpers/client-time.js'
import { scriptedClient, settle } from '../../helpers/scripted-socket.js'

test('a token of an attempt that was replaced is not sent', async (t) => {
  clientTime(t)
  /** @type {((token: string) => void)[]} */
  const gives = []
  const { client, socket } = scriptedClient(t, { token: () => new Promise((resolve) => { gives.push(resolve) }) })
  await settle()
  client.connect()
  await settle()
  const [first, second] = gives
  second('second')
  await settle()
  first('first')
  await settle()
  socket.accepts()
  assert.deepEqual([socket.attempts.length, socket.handshakes[0].token], [1, 'second'])
})

test('a token for a connection that has ended does not replace the one of the next connection', async (t) => {
  const time = clientTime(t)
  let give = (/** @type {string} */ _token) => {}
  const { socket } = scriptedClient(t, {
    token: (why) => why === 'expiring' ? new Promise((resolve) => { give = resolve }) : why
  })
  await settle()
  socket.accepts()
  socket.tells('auth:expiring', { inMs: 60_000 })
  await settle()
  socket.tells('gateway:disconnect', { code: 'token_expired', message: 'the token has expired', retryable: false })
  socket.disconnects('io server disconnect')
  time.advance(1000)
  await settle()
  socket.accepts()
  give('late')
  await settle()
  assert.deepEqual([socket.handshakes.at(-1).token, socket.sent], ['refused', []])
})
