import { Duplex } from 'node:stream'

/**
 * Two ends of a connection within this process. Bytes arrive in a later turn, as over a socket: a client may note a
 * request after it has written it.
 * @returns {[Duplex, Duplex]}
 */
export function streamPair () {
  const ends = /** @type {[End, End]} */ ([new End(), new End()])
  ends[0].other = ends[1]
  ends[1].other = ends[0]
  return ends
}

class End extends Duplex {
  /** @type {End | undefined} */
  other
  /** A write that waits until the other end is read. @type {(() => void) | undefined} */
  #written

  constructor () { super({ allowHalfOpen: false }) }

  _read () {
    const written = this.#written
    this.#written = undefined
    written?.()
  }

  /** @param {Buffer} chunk @param {string} _ @param {() => void} done */
  _write (chunk, _, done) {
    process.nextTick(() => this.other?.receive(chunk, done))
  }

  /** @param {() => void} done */
  _final (done) {
    process.nextTick(() => {
      this.other?.push(null)
      done()
    })
  }

  /** @param {Error | null} error @param {(error: Error | null) => void} done */
  _destroy (error, done) {
    process.nextTick(() => this.other?.destroy())
    done(error)
  }

  /** @param {Buffer} chunk @param {() => void} done */
  receive (chunk, done) {
    if (this.destroyed || this.push(chunk)) done()
    else this.#written = done
  }

  // ioredis calls these of a socket
  setNoDelay () { return this }

  setKeepAlive () { return this }
}
