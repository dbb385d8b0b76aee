import { leaveDocument } from './handlers/leave.js'
import { SocketIoConnection } from './socketio-connection.js'

/**
 * Each document has a room, `doc:<guid>`. A connection that an extension or another server removes from the room
 * (`socketsLeave`) leaves the document.
 * @param {import('socket.io').Server} io
 * @param {import('./directory.js').Directory} directory
 * @param {import('./handlers/context.js').HandlerContext} context
 */
export function watchDocumentRooms (io, directory, context) {
  io.of('/').adapter.on('leave-room', (/** @type {string} */ room, /** @type {string} */ id) => {
    if (!room.startsWith('doc:')) return
    const connection = directory.connection(id)
    // other protocols have no rooms
    const guid = room.slice('doc:'.length)
    const document = connection?.document(guid)
    if (!(connection instanceof SocketIoConnection) || document === undefined) return
    // A closing connection leaves its rooms first: wait for the close.
    process.nextTick(() => {
      if (!connection.open || connection.document(guid) !== document || connection.socket.rooms.has(room)) return
      leaveDocument(connection, guid, 'revoked', context)
      connection.send('doc:revoked', { guid })
    })
  })
}
