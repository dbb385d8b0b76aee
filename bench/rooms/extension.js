/**
 * The handlers that both systems run: an extension of inkcast, and a listener of the baseline.
 *
 * @param {{ io: import('socket.io').Server }} context
 */
export default function rooms ({ io }) {
  io.on('connection', (socket) => {
    socket.on('join', (room, ack) => {
      socket.join(room)
      ack()
    })
    socket.on('emit', (room, payload, ack) => {
      io.to(room).emit('message', payload)
      ack()
    })
  })
}
