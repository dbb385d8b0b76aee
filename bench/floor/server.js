/**
 * The floor: the cost of a delivery that consists of one write. A client sends the documents it wants (4 bytes each,
 * answered by an empty frame); the publisher sends a mark, and then document, length and frame of each record. Listens
 * on PORT.
 */
import net from 'node:net'

const PUBLISHER = 0xffff_ffff
/** An empty binary frame. */
const JOINED = Buffer.from([0x82, 0])

/** @type {Map<number, net.Socket[]>} */
const members = new Map()

const server = net.createServer({ noDelay: true }, (socket) => {
  /** @type {Buffer} */
  let rest = Buffer.alloc(0)
  let publisher = false
  socket.on('error', () => {}) // a client that disconnects
  socket.on('data', (chunk) => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    while (!publisher && rest.length >= 4) {
      const document = rest.readUInt32LE()
      rest = rest.subarray(4)
      publisher = document === PUBLISHER
      if (publisher) break
      const list = members.get(document)
      if (list === undefined) members.set(document, [socket])
      else list.push(socket)
      socket.write(JOINED)
    }
    while (publisher && rest.length >= 8 && rest.length >= 8 + rest.readUInt32LE(4)) {
      const end = 8 + rest.readUInt32LE(4)
      const frame = rest.subarray(8, end)
      for (const member of members.get(rest.readUInt32LE()) ?? []) member.write(frame)
      rest = rest.subarray(end)
    }
  })
})
server.listen({ port: Number(process.env.PORT), host: '127.0.0.1', backlog: 4096 }, () => console.log('listening'))
