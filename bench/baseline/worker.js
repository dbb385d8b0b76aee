/**
 * A worker of the baseline: Socket.IO with the Redis adapter (https://socket.io/docs/v4/redis-adapter/, "With the
 * ioredis package"), a token checked in a middleware (https://socket.io/docs/v4/middlewares/, "Sending credentials")
 * and rooms.
 */
import { createSecretKey } from 'node:crypto'
import { createServer } from 'node:http'
import { createAdapter } from '@socket.io/redis-adapter'
import { setupWorker } from '@socket.io/sticky'
import { Redis } from 'ioredis'
import jwt from 'jsonwebtoken'
import { Server } from 'socket.io'
import { consumeRecords } from './records.js'

const { REDIS_URL = '', AUTH_JWT_SECRET = '', JWT_KEY, KAFKA_BROKERS, EXTENSION } = process.env

const pubClient = new Redis(REDIS_URL)
const subClient = pubClient.duplicate()

const httpServer = createServer()
const io = new Server(httpServer, { adapter: createAdapter(pubClient, subClient) })
setupWorker(io)

// A KeyObject: from a string, as in its README, jsonwebtoken creates one for each token, after trying to parse the
// string as a public key.
const key = JWT_KEY === 'string' ? AUTH_JWT_SECRET : createSecretKey(Buffer.from(AUTH_JWT_SECRET))

io.use((socket, next) => {
  jwt.verify(socket.handshake.auth.token, key, { algorithms: ['HS256'] }, (error, claims) => {
    if (error) return next(new Error('unauthorized'))
    socket.data.user = claims
    next()
  })
})

io.on('connection', (socket) => {
  socket.on('doc:join', ({ guid }, ack) => {
    socket.join(guid)
    ack({ ok: true })
  })
})

if (EXTENSION !== undefined) (await import(EXTENSION)).default({ io })
if (KAFKA_BROKERS !== undefined) await consumeRecords(io, KAFKA_BROKERS.split(','))
console.log(`Worker ${process.pid} started`)
