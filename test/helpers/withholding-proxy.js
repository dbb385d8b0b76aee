import { once } from 'node:events'
import net from 'node:net'
import { readFrames } from '../../packages/load/frames.js'

/**
 * A TCP proxy that withholds one WebSocket message: the first one that contains a text. Everything else passes.
 *
 * @param {{ after: (stop: () => unknown) => void }} t
 * @param {number} port of the gateway
 * @param {string | undefined} text undefined: withhold nothing
 */
export async function withholdingProxy (t, port, text) {
  let withheld = 0
  /** @type {Set<net.Socket>} */
  const sockets = new Set()
  const server = net.createServer((client) => {
    const gateway = net.connect(port, '127.0.0.1')
    let upgraded = false
    let rest = Buffer.alloc(0)
    for (const socket of [client, gateway]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        client.destroy()
        gateway.destroy()
      })
    }
    client.pipe(gateway)
    gateway.on('data', (chunk) => {
      rest = Buffer.concat([rest, chunk])
      if (!upgraded) {
        const end = rest.indexOf('\r\n\r\n')
        if (end === -1) return
        upgraded = true
        client.write(rest.subarray(0, end + 4))
        rest = rest.subarray(end + 4)
      }
      rest = Buffer.from(readFrames(rest, (opcode, payload) => {
        if (text !== undefined && withheld === 0 && payload.includes(text)) withheld++
        else client.write(serverFrame(opcode, payload))
      }))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return {
    url: `http://127.0.0.1:${/** @type {net.AddressInfo} */ (server.address()).port}`,
    withheld: () => withheld
  }
}

/** @param {number} opcode @param {Buffer} payload shorter than 64 KB */
function serverFrame (opcode, payload) {
  const header = payload.length < 126 ? Buffer.alloc(2) : Buffer.alloc(4)
  header[0] = 0x80 | opcode
  header[1] = payload.length < 126 ? payload.length : 126
  if (payload.length >= 126) header.writeUInt16BE(payload.length, 2)
  return Buffer.concat([header, payload])
}
