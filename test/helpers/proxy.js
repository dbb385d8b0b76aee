import { createServer, connect } from 'node:net'
import { once } from 'node:events'

/** How often a slow line passes something on, ms. */
const TICK = 100

/**
 * A TCP proxy that can do what networks do: lose what the server answers, pass nothing on without a word, or little.
 *
 * @param {number} port of the server, on the loopback interface
 */
export async function startProxy (port) {
  /** @type {Set<import('node:net').Socket>} */
  const sockets = new Set()
  let losing = false
  let hanging = false
  /** Towards the client; Infinity: as fast as it takes it. */
  let bytesPerSecond = Infinity
  /** What each pair does when hanging or the speed has changed. @type {Set<() => void>} */
  const changed = new Set()

  const server = createServer((client) => {
    const upstream = connect(port, '127.0.0.1')
    /** @type {NodeJS.Timeout | undefined} */
    let timer
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        changed.delete(change)
        clearInterval(timer)
        client.destroy()
        upstream.destroy()
      })
    }
    client.on('data', (chunk) => upstream.write(chunk))
    // read by hand: what is not taken stays with the server
    upstream.on('readable', () => pass())

    /** @param {number} [most] bytes */
    function pass (most = bytesPerSecond === Infinity ? Infinity : 0) {
      const size = hanging ? 0 : Math.min(most, upstream.readableLength)
      if (size === 0) return
      const chunk = upstream.read(size)
      if (losing) client.destroy() // the server has done its work, and nobody hears of it
      else client.write(chunk)
    }
    function change () {
      if (hanging) client.pause()
      else client.resume()
      clearInterval(timer)
      if (bytesPerSecond === Infinity) pass()
      else timer = setInterval(() => pass(bytesPerSecond * TICK / 1000), TICK)
    }
    changed.add(change)
    change()
  })
  const tell = () => { for (const change of changed) change() }
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')

  return {
    port: /** @type {import('node:net').AddressInfo} */ (server.address()).port,
    /** The next answer of the server, and with it its connection, is lost. */
    loseAnswers () { losing = true },
    /** Nothing arrives any more on either side, and nobody is told. */
    hang () {
      hanging = true
      tell()
    },
    /** @param {number} speed bytes per second towards clients; Infinity: all that comes */
    throttle (speed) {
      bytesPerSecond = speed
      tell()
    },
    heal () {
      losing = hanging = false
      tell()
    },
    async stop () {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    }
  }
}
