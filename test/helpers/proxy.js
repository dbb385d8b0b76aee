import { startRelay } from './relay.js'

/** How often a slow line passes something on, ms. */
const TICK = 100

/**
 * A TCP proxy that can do what networks do: lose what the server answers, pass nothing on without a word, or little.
 *
 * @param {number} port of the server, on the loopback interface
 */
export async function startProxy (port) {
  let losing = false
  let hanging = false
  /** Towards the client; Infinity: as fast as it takes it. */
  let bytesPerSecond = Infinity
  /** What each pair does when hanging or the speed has changed. @type {Set<() => void>} */
  const changed = new Set()

  const { port: own, stop } = await startRelay(port, (client, upstream) => {
    /** @type {NodeJS.Timeout | undefined} */
    let timer
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
    return () => {
      changed.delete(change)
      clearInterval(timer)
    }
  })
  const tell = () => { for (const change of changed) change() }

  return {
    port: own,
    stop,
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
    }
  }
}
