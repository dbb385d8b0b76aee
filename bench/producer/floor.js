/**
 * Records to the floor (bench/floor): the same frame as for inkcast's clients, ready to write, after the document's
 * number and the frame's length.
 */
import { once } from 'node:events'
import net from 'node:net'
import { jsonMessage } from '../../src/wire/packet.js'
import { guidOf } from '../job.js'
import { HOST } from '../systems/system.js'

/** Marks a connection that publishes records and receives none. */
const PUBLISHER = 0xffff_ffff
const TRACE_ID = '0'.repeat(32)

/**
 * @param {number} port
 * @returns {Promise<import('./process.js').Publish>}
 */
export async function openFloor (port) {
  const socket = net.connect({ host: HOST, port, noDelay: true })
  await once(socket, 'connect')
  const hello = Buffer.allocUnsafe(4)
  hello.writeUInt32LE(PUBLISHER)
  socket.write(hello)
  return async (records) => {
    socket.cork()
    for (const { document, sequence, value } of records) {
      const { frame } = jsonMessage('message', value, {
        guid: guidOf(document),
        offset: sequence,
        traceId: TRACE_ID,
        ts: Date.now()
      })
      const head = Buffer.allocUnsafe(8)
      head.writeUInt32LE(document, 0)
      head.writeUInt32LE(frame.length, 4)
      socket.write(head)
      socket.write(frame)
    }
    socket.uncork()
    if (socket.writableNeedDrain) await once(socket, 'drain')
  }
}
