/**
 * An extension with which a client makes its worker carry out each operation of Socket.IO on rooms; for the suite in
 * test/contract/rooms.js.
 */
/** @param {{ io: import('socket.io').Server }} context */
export default ({ io }) => {
  /** Arguments of `note`, which other workers sent with serverSideEmit. @type {unknown[]} */
  const notes = []
  io.on('note', (/** @type {unknown[]} */ ...args) => { notes.push(args) })
  io.on('who', (/** @type {unknown} */ question, /** @type {Function} */ answer) => answer([process.pid, question]))
  io.on('mute', () => {})

  /** @param {any} target namespace or operator @param {any} options */
  function select (target, { to = [], except = [], local, volatile }) {
    let selected = target.to(to).except(except)
    if (local) selected = selected.local
    if (volatile) selected = selected.volatile
    return selected
  }

  /** @type {Record<string, (socket: any, options: any) => unknown>} */
  const operations = {
    join: (socket, { rooms }) => socket.join(rooms),
    leave: (socket, { room }) => socket.leave(room),
    rooms: (socket) => [...socket.rooms],
    emit: (socket, options) => select(socket.nsp, options).emit(options.event, ...options.args),
    broadcast: (socket, options) => select(socket, options).emit(options.event, ...options.args),
    fetch: async (socket, options) => (await select(socket.nsp, options).fetchSockets()).map(
      (/** @type {any} */ { id, rooms, data, handshake }) => ({ id, rooms: [...rooms], data, auth: handshake.auth })
    ),
    set: (socket, { data }) => Object.assign(socket.data, data),
    socketsJoin: (socket, options) => select(socket.nsp, options).socketsJoin(options.rooms),
    socketsLeave: (socket, options) => select(socket.nsp, options).socketsLeave(options.rooms),
    disconnectSockets: (socket, options) => select(socket.nsp, options).disconnectSockets(options.close),
    emitWithAck: (socket, options) => select(socket.nsp, options).timeout(options.timeout)
      .emitWithAck(options.event, ...options.args)
      .catch((/** @type {any} */ error) => ({ error: error.message, responses: error.responses })),
    serverSideEmit: (socket, { args }) => io.serverSideEmit('note', ...args),
    serverSideEmitWithAck: (socket, { event, args }) => io.serverSideEmitWithAck(event, ...args)
      .catch((/** @type {any} */ error) => ({ error: error.message, responses: error.responses })),
    notes: () => notes,
    pid: () => process.pid
  }

  for (const namespace of [io.of('/'), io.of('/chat'), io.of(/^\/dynamic-\w+$/)]) {
    namespace.on('connection', (/** @type {any} */ socket) => {
      socket.on('op', async (/** @type {string} */ name, /** @type {any} */ options, /** @type {Function} */ answer) => {
        const result = await operations[name](socket, options)
        answer(result === undefined || typeof result === 'boolean' || result === socket ? null : result)
      })
    })
  }
}
