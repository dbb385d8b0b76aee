/**
 * Rooms as most Socket.IO tutorials have them: `join`, `leave`, `message`, in the main namespace and in `/support`.
 * An extension of inkcast: README.md.
 */
import { defineExtension } from 'inkcast'

/** Rooms that one client may be in. */
const MAX_ROOMS = 50
const MAX_TEXT = 10_000

/** @param {unknown} room */
const isRoom = (room) => typeof room === 'string' && /^[\w-]{1,64}$/.test(room)

export default defineExtension(({ io, log, config }) => {
  const maxRooms = Number(config.MAX_ROOMS ?? MAX_ROOMS)

  /** @param {import('socket.io').Namespace} namespace */
  function serve (namespace) {
    namespace.on('connection', (socket) => {
      const name = socket.data.name ?? socket.data.uid

      socket.on('join', async (room, acknowledge) => {
        if (!isRoom(room)) return acknowledge?.({ error: 'a room has 1 to 64 letters, digits, - and _' })
        if (socket.rooms.size > maxRooms) return acknowledge?.({ error: `${maxRooms} rooms at most` })
        socket.join(room)
        socket.to(room).emit('joined', { room, name })
        const members = await namespace.in(room).fetchSockets()
        acknowledge?.({ members: members.map(({ data }) => data.name ?? data.uid) })
      })

      socket.on('leave', (room, acknowledge) => {
        socket.leave(room)
        socket.to(room).emit('left', { room, name })
        acknowledge?.({})
      })

      socket.on('message', ({ room, text } = {}, acknowledge) => {
        if (!socket.rooms.has(room)) return acknowledge?.({ error: 'join the room first' })
        if (typeof text !== 'string' || text.length > MAX_TEXT) return acknowledge?.({ error: 'text is missing or too long' })
        namespace.to(room).emit('message', { room, text, name })
        acknowledge?.({})
      })

      socket.on('disconnecting', () => {
        for (const room of socket.rooms) if (isRoom(room) && room !== socket.id) socket.to(room).emit('left', { room, name })
      })
    })
  }

  serve(io.of('/'))
  serve(io.of('/support'))
  return () => log.info('rooms are closed')
})
