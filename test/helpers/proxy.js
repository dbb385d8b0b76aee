import { startRelay } from './relay.js'

/** Interval at which a slow line forwards data, ms. */
const TICK = 100

/**
 * A TCP proxy that simulates network faults: lost responses, stalled connections, low bandwidth.
 *
 * @param {number} port of the server, on the loopback interface
 */
export async function startProxy (port) {
  let losing = false
  let hanging = false
  /** Bandwidth toward the client; Infinity: unlimited. */
  let bytesPerSecond = Infinity
  /** Updates each pair after a change of state or speed. @type {Set<() => void>} */
  const changed = new Set()

  const { port: own, stop } = await startRelay(port, (client, upstream) => {
    /** @type {NodeJS.Timeout | undefined} */
    let timer
    client.on('data', (chunk) => upstream.write(chunk))
    // read manually: unread data stays with the server
    upstream.on('readable', () => pass())

    /** @param {number} [most] bytes */
    function pass (most = bytesPerSecond === Infinity ? Infinity : 0) {
      const size = hanging ? 0 : Math.min(most, upstream.readableLength)
      if (size === 0) return
      const chunk = upstream.read(size)
      if (losing) client.destroy() // the server has processed the request, but the response is lost
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
    return () => {
      changed.delete(change)
      clearInterval(timer)
    }
  })
  const tell = () => { for (const change of changed) change() }

  return {
    port: own,
    stop,
    /** Drops responses of the server and closes their connections, until `heal`. */
    loseAnswers () { losing = true },
    /** Stalls both directions without closing connections. */
    hang () {
      hanging = true
      tell()
    },
    /** @param {number} speed bytes per second toward clients; Infinity: unlimited */
    throttle (speed) {
      bytesPerSecond = speed
      tell()
    },
    heal () {
      losing = hanging = false
      tell()
    }
  }
}
