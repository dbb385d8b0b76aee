import assert from 'node:assert/strict'
import { Duplex } from 'node:stream'
import { test } from 'node:test'
import { createClosing } from '../../../src/transport/engine/socket-reader.js'
import { MqttSocket } from '../../../src/transport/mqtt/mqtt-socket.js'
import { manualClock } from '../../helpers/manual-clock.js'
import { waitFor } from '../../helpers/wait.js'

/** A session whose client does not read, until `reads` is called. */
function link () {
  const clock = manualClock()
  const closing = createClosing(clock)
  /** @type {string[]} */
  const ends = []
  const server = {
    closing, listener: { name: 'mqtt' }, maxBytes: 1000, ended () {},
    onEnd: (/** @type {unknown} */ _session, /** @type {string} */ reason) => { ends.push(reason) }
  }
  /** @type {(() => void)[]} */
  const waiting = []
  const netSocket = new Duplex({ read () {}, write: (_chunk, _encoding, written) => { waiting.push(written) } })
  const session = new MqttSocket('one', /** @type {any} */ (server), /** @type {any} */ (netSocket))
  const write = () => session.write(undefined, { wsPreEncodedFrame: [Buffer.from([0xd0, 0])] })
  const reads = () => { for (const written of waiting.splice(0)) written() }
  return { clock, closing, ends, netSocket, session, write, reads }
}

test('a session that is closed while packets wait ends after 30 s, although its client never reads', async () => {
  const { clock, closing, ends, netSocket, session, write } = link()
  for (let i = 0; i < 2; i++) write()
  session.close()
  clock.advance(29_000)
  assert.deepEqual([session.readyState, netSocket.destroyed], ['closing', false])
  clock.advance(2000)
  assert.equal(netSocket.destroyed, true)
  await waitFor(() => ends.length > 0)
  assert.deepEqual([ends, session.readyState, closing.size, clock.timers], [['transport close'], 'closed', 0, 0])
})

test('it ends when its client has read them', async () => {
  const { clock, ends, netSocket, session, write, reads } = link()
  for (let i = 0; i < 2; i++) write()
  session.close()
  clock.advance(20_000)
  await waitFor(() => {
    reads()
    return ends.length > 0
  })
  assert.deepEqual([ends, netSocket.writableEnded], [['forced close'], true])
  netSocket.destroy()
})
