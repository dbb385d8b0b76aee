import { Duplex } from 'node:stream'
import { currentWorld } from './now.js'

/** Bytes that the two kernels take before a writer has to wait. */
export const WINDOW = 256 * 1024

/**
 * One end of a connection, with the parts of net.Socket that libraries use.
 */
export class SimSocket extends Duplex {
  connecting = true
  encrypted = false
  remoteFamily = 'IPv4'
  bytesRead = 0
  bytesWritten = 0
  /** @type {SimSocket | undefined} */
  peer
  /** Written, and not arrived at the peer. @type {import('./network.js').Underway[]} */
  underway = []
  /** Its end is a reset. */
  resets = false
  /** Bytes on the way to this end, or not read by it. */
  waiting = 0
  /** Chunks that have come and are not read yet. @type {(Buffer | null)[]} */
  #unread = []
  #reads = true
  /** Continues the peer's write, when this end has read. @type {(() => void) | undefined} */
  resumeWriter
  /** @type {any} */
  #idle
  timeout = 0
  #onTimeout = () => this.emit('timeout')

  /**
   * @param {import('./network.js').Network} network
   * @param {import('./sim-process.js').SimProcess} owner
   * @param {import('./network.js').Line} line
   * @param {{ allowHalfOpen?: boolean }} [options]
   */
  constructor (network, owner, line, { allowHalfOpen = false } = {}) {
    super({ allowHalfOpen })
    this.network = network
    this.owner = owner
    this.line = line
    line.ends.push(this)
  }

  get readyState () { return this.connecting ? 'opening' : this.writable ? 'open' : 'readOnly' }
  get pending () { return this.connecting }
  get bufferSize () { return this.writableLength }

  get #window () { return this.owner.isClient ? this.network.clientWindow : WINDOW }

  /** @override @param {Buffer} chunk @param {string} _ @param {(error?: Error | null) => void} done */
  _write (chunk, _, done) {
    if (this.connecting) return void this.once('connect', () => this._write(chunk, _, done))
    this.#active()
    const { peer } = this
    this.bytesWritten += chunk.length
    this.network.send(this, chunk)
    if (peer === undefined) return done()
    peer.waiting += chunk.length
    if (peer.waiting <= peer.#window) return done()
    // At once: a kernel has taken all bytes before the peer gets the last of them.
    peer.resumeWriter = () => this.network.world.schedule(0, 'writable', done, this.owner)
  }

  /** @override @param {(error?: Error | null) => void} done */
  _final (done) {
    if (this.connecting) return void this.once('connect', () => this._final(done))
    this.network.send(this, null)
    done()
  }

  /** @override */
  _read () {
    this.#reads = true
    while (this.#reads && this.#unread.length > 0) this.#hand(/** @type {Buffer | null} */ (this.#unread.shift()))
  }

  /** @param {Buffer | null} chunk that arrives; null: the end */
  arrive (chunk) {
    if (this.destroyed) return
    this.#active()
    if (!this.#reads || this.#unread.length > 0) this.#unread.push(chunk)
    else this.#hand(chunk)
  }

  /** @param {Buffer | null} chunk */
  #hand (chunk) {
    if (chunk !== null) {
      this.waiting -= chunk.length
      this.bytesRead += chunk.length
      if (this.resumeWriter !== undefined && this.waiting <= this.#window / 2) {
        const resume = this.resumeWriter
        this.resumeWriter = undefined
        resume()
      }
    }
    this.#reads = this.push(chunk)
  }

  /** The connection is open. @param {SimSocket} peer */
  opened (peer) {
    this.peer = peer
    this.connecting = false
    this.emit('connect')
    this.emit('ready')
  }

  /** The kernel tells the owner that the connection is broken. @param {string} code */
  broken (code) {
    if (this.destroyed) return
    const syscall = this.connecting ? 'connect' : 'read'
    this.destroy(Object.assign(new Error(`${syscall} ${code}`), { code, syscall }))
  }

  /** @override @param {Error | null} error @param {(error?: Error | null) => void} done */
  _destroy (error, done) {
    this.setTimeout(0)
    this.network.closed(this)
    done(error)
    // as net.Socket; for Agent
    this._handle = null
  }

  /** @type {any} */
  _handle = undefined

  #active () { if (this.timeout > 0) this.#idle?.refresh() }

  /** @param {number} ms @param {() => void} [onTimeout] */
  setTimeout (ms, onTimeout) {
    this.timeout = ms
    this.#idle?.close()
    this.#idle = undefined
    if (onTimeout !== undefined) {
      if (ms === 0) this.off('timeout', onTimeout)
      else this.once('timeout', onTimeout)
    }
    if (ms > 0 && currentWorld() !== undefined) this.#idle = setTimeout(this.#onTimeout, ms)
    return this
  }

  destroySoon () {
    if (this.writable) this.end()
    if (this.writableFinished) this.destroy()
    else this.once('finish', this.destroy)
  }

  resetAndDestroy () {
    this.resets = true
    return this.destroy()
  }

  setNoDelay () { return this }
  setKeepAlive () { return this }
  ref () { return this }
  unref () { return this }
  address () { return { address: this.localAddress, port: this.localPort, family: 'IPv4' } }
  get localAddress () { return this.line.addressOf(this) }
  get localPort () { return this.line.portOf(this) }
  get remoteAddress () { return this.peer && this.line.addressOf(this.peer) }
  get remotePort () { return this.peer && this.line.portOf(this.peer) }
}
