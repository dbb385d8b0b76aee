import { Duplex } from 'node:stream'

/** @typedef {{ stream: Duplex, receive: (chunk: Buffer, done: () => void) => void }} End */

/**
 * Two ends of a connection within this process. Bytes arrive in a later turn, as over a socket: a client may note a
 * request after it has written it.
 * @returns {[Duplex, Duplex]}
 */
export function streamPair () {
  const left = end(() => right)
  const right = end(() => left)
  return [left.stream, right.stream]
}

/** @param {() => End} other @returns {End} */
function end (other) {
  /** A write of the other end that waits until this one is read. @type {(() => void) | undefined} */
  let waiting
  const stream = new Duplex({
    allowHalfOpen: false,
    read () {
      const done = waiting
      waiting = undefined
      done?.()
    },
    write (chunk, _, done) { process.nextTick(() => other().receive(chunk, done)) },
    final (done) {
      process.nextTick(() => {
        other().stream.push(null)
        done()
      })
    },
    destroy (error, done) {
      process.nextTick(() => other().stream.destroy())
      done(error)
    }
  })
  return {
    // ioredis calls these of a socket
    stream: Object.assign(stream, { setNoDelay: () => stream, setKeepAlive: () => stream }),
    receive (chunk, done) {
      if (stream.destroyed || stream.push(chunk)) done()
      else waiting = done
    }
  }
}
