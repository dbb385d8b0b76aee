/**
 * An extension with which a client makes its worker carry out each operation of Socket.IO on rooms; for the suite in
 * test/contract/rooms.js.
 */
let instances = 0

/** @param {{ io: import('socket.io').Server }} context */
export default ({ io }) => {
  /** Of this worker: several may be in one process. */
  const instance = ++instances
  /** Arguments of `note`, which other workers sent with serverSideEmit, by namespace. @type {Map<string, any[]>} */
  const notes = new Map()

  /** Listens to other workers. @param {any} nsp */
  function listen (nsp) {
    /** @type {any[]} */
    const own = []
    notes.set(nsp.name, own)
    nsp.on('note', (/** @type {any[]} */ ...args) => { own.push(args) })
    nsp.on('who', (/** @type {unknown} */ question, /** @type {Function} */ answer) => answer([instance, question]))
    nsp.on('mute', () => {})
  }
  listen(io.of('/'))
  // also those that clients create: listeners of a dynamic namespace are not copied to them
  io.on('new_namespace', listen)

  /** @param {any} target namespace or operator @param {any} options */
  function select (target, { to = [], except = [], local, volatile }) {
    let selected = target.to(to).except(except)
    if (local) selected = selected.local
    if (volatile) selected = selected.volatile
    return selected
  }

  /** @param {any} socket @param {string} id of a socket on any worker */
  const find = async ({ nsp }, id) => (await nsp.in(id).fetchSockets())[0]

  /** @type {Record<string, (socket: any, options: any) => unknown>} */
  const operations = {
    join: (socket, { rooms }) => socket.join(rooms),
    leave: (socket, { room }) => socket.leave(room),
    rooms: (socket) => [...socket.rooms],
    emit: (socket, options) => select(socket.nsp, options).emit(options.event, ...options.args),
    emitTwice: (socket, options) => {
      const { event, args } = options
      select(socket.nsp, options).emit(event, ...args)
      select(socket.nsp, options).emit(`${event}-again`, ...args)
    },
    broadcast: (socket, options) => select(socket, options).emit(options.event, ...options.args),
    fetch: (socket, options) => select(socket.nsp, options).fetchSockets().then(
      (/** @type {any[]} */ sockets) =>
        sockets.map(({ id, rooms, data, handshake }) => ({ id, rooms: [...rooms], data, handshake })),
      (/** @type {any} */ error) => ({ error: error.message })
    ),
    set: (socket, { data }) => Object.assign(socket.data, data),
    socketsJoin: (socket, options) => select(socket.nsp, options).socketsJoin(options.rooms),
    socketsLeave: (socket, options) => select(socket.nsp, options).socketsLeave(options.rooms),
    disconnectSockets: (socket, options) => select(socket.nsp, options).disconnectSockets(options.close),
    emitWithAck: (socket, options) => select(socket.nsp, options).timeout(options.timeout)
      .emitWithAck(options.event, ...options.args)
      .catch((/** @type {any} */ error) => ({ error: error.message, responses: error.responses })),
    serverSideEmit: (socket, { args }) => socket.nsp.serverSideEmit('note', ...args),
    serverSideEmitWithAck: (socket, { event, args }) => socket.nsp.serverSideEmitWithAck(event, ...args)
      .catch((/** @type {any} */ error) => ({ error: error.message, responses: error.responses })),
    notes: (socket) => notes.get(socket.nsp.name),
    remoteEmit: async (socket, { id, event, args }) => (await find(socket, id)).emit(event, ...args),
    remoteEmitWithAck: async (socket, { id, timeout, event, args }) =>
      (await find(socket, id)).timeout(timeout).emitWithAck(event, ...args)
        .catch((/** @type {any} */ error) => ({ error: error.message })),
    remoteJoin: async (socket, { id, room }) => { (await find(socket, id)).join(room) },
    remoteLeave: async (socket, { id, room }) => { (await find(socket, id)).leave(room) },
    remoteDisconnect: async (socket, { id, close }) => { (await find(socket, id)).disconnect(close) },
    instance: () => instance
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
