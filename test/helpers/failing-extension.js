/** An extension that fails wherever Socket.IO calls it; for test/process/extensions/failures.test.js. */
const fail = (/** @type {string} */ where) => { throw new Error(`failed in ${where}`) }

/** @param {{ io: import('socket.io').Server, metrics: import('prom-client').Registry }} context */
export default ({ io, metrics }) => {
  io.use((socket, next) => {
    const { how } = socket.handshake.query
    if (how === 'refuse') return next(new Error('not you'))
    if (how === 'throw') fail('middleware')
    if (how === 'twice') next()
    // two calls of next, one of them after an await
    Promise.resolve().then(() => next())
  })
  io.of('/broken').use(async () => fail('async middleware'))
  io.of((name, auth, next) => {
    if (name === '/thrown') fail('namespace function')
    next(null, name === '/allowed')
  })
  io.engine.on('initial_headers', () => fail('engine listener'))
  io.of('/').adapter.on('join-room', (room) => { if (room === 'trap') fail('adapter listener') })
  io.on('connection', (socket) => {
    socket.on('listener', () => fail('listener'))
    socket.once('once', () => fail('once'))
    socket.prependListener('prepended', () => fail('prepended'))
    socket.on('async', async () => {
      await null
      fail('async')
    })
    socket.on('timer', () => { setTimeout(fail, 1, 'timer') })
    socket.on('immediate', () => { setImmediate(fail, 'immediate') })
    socket.on('floating', () => { Promise.reject(new Error('failed in floating')) })
    socket.on('ack', () => socket.emit('ask', () => fail('ack')))
    socket.on('acks', () => io.timeout(50).emit('asks', () => fail('acks')))
    socket.on('others', () => io.serverSideEmit('others', () => fail('others')))
    socket.on('trap', () => socket.join('trap'))
    socket.use(([event], next) => event === 'used' ? fail('socket middleware') : next())
    socket.on('error', () => {})
    socket.onAny((event) => { if (event === 'any') fail('any') })
    socket.on('removed', removed)
    socket.off('removed', removed)
    socket.on('disconnect', () => fail('disconnect'))
    socket.on('alive', (answer) => answer(socket.id))
    socket.on('slow', () => { for (const end = Date.now() + 60; Date.now() < end;); })
  })
  const removed = () => fail('removed')
  metrics.getMetricsAsJSON()
}
