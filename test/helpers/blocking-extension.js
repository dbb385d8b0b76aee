/** An extension whose events block the event loop of their worker; for test/alone/hung-workers.test.js. */

/** @param {{ io: import('socket.io').Server }} context */
export default ({ io }) => {
  io.on('connection', (socket) => {
    socket.on('block', (/** @type {number} */ ms) => {
      for (const end = performance.now() + ms; performance.now() < end;);
    })
  })
}
