/**
 * A worker of the floor of the libraries (primary.js).
 */
import net from 'node:net'
import { Redis } from 'ioredis'
import { jsonMessage } from '../../../src/wire/packet.js'
import { guidOf } from '../../job.js'
import { HOST } from '../../systems/system.js'

/** An empty binary frame. */
const JOINED = Buffer.from([0x82, 0])
const TRACE_ID = '0'.repeat(32)

/** @type {Map<string, { members: net.Socket[], offset: number, subscribed: Promise<unknown> }>} */
const documents = new Map()

const redis = new Redis(String(process.env.REDIS_URL))
redis.on('smessageBuffer', (channel, value) => {
  const guid = String(channel)
  const document = documents.get(guid)
  if (document === undefined) return
  const { frame } = jsonMessage('message', value, {
    guid,
    offset: ++document.offset,
    traceId: TRACE_ID,
    ts: Date.now()
  })
  for (const member of document.members) member.write(frame)
})

const server = net.createServer({ noDelay: true }, (socket) => {
  /** @type {Buffer} */
  let rest = Buffer.alloc(0)
  socket.on('error', () => {}) // a client that disconnects
  socket.on('data', async (chunk) => {
    rest = Buffer.concat([rest, chunk])
    while (rest.length >= 4) {
      const guid = guidOf(rest.readUInt32LE())
      rest = rest.subarray(4)
      let document = documents.get(guid)
      if (document === undefined)
        documents.set(guid, (document = { members: [], offset: 0, subscribed: redis.ssubscribe(guid) }))
      document.members.push(socket)
      await document.subscribed
      socket.write(JOINED)
    }
  })
})
server.listen({ port: Number(process.env.PORT), host: HOST, backlog: 4096 }, () => console.log('worker listens'))
