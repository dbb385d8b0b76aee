import { request } from './resp.js'

/**
 * A server under test: real Redis or the built-in store.
 *
 * @typedef {object} Server
 * @property {string} name
 * @property {() => import('node:stream').Duplex} connect
 * @property {(us: number) => void} setTime the wall clock, microseconds
 * @property {string} [generation] its own (scripts/include/generation.lua), once known: sequences have GENERATION
 */

/** In the place of the generation of a server, which is random. */
export const GENERATION = 'generation-of-server'

/** Precedes the word in subscribed mode of RESP2. */
const SUBSCRIBED = '*2\r\n$4\r\npong\r\n'

/**
 * One connection to a server. Each request is followed by a PING with a word of its own, whose reply shows that
 * everything before has arrived, in either version of the protocol and also in subscribed mode.
 */
export class Peer {
  #server
  /** @type {import('node:stream').Duplex | undefined} */
  #stream
  #received = ''
  #end = ''
  /** @type {(() => void) | undefined} */
  #resolve
  #count = 0

  /** @param {Server} server */
  constructor (server) {
    this.#server = server
  }

  /**
   * @param {string[][]} requests sent at once
   * @returns {Promise<string>} all bytes since the last call; they end with a word if the connection was closed, and
   *   the next call opens another one
   */
  send (requests) {
    this.#stream ??= this.#open()
    const word = `end:${String(this.#count++).padStart(8, '0')}`
    this.#end = `$12\r\n${word}\r\n`
    return new Promise((resolve) => {
      this.#resolve = () => {
        this.#resolve = undefined
        const all = this.#received
        this.#received = ''
        const { generation } = this.#server
        resolve(generation === undefined ? all : all.replaceAll(generation, GENERATION))
      }
      let text = ''
      for (const args of requests) text += request(args)
      text = text.replaceAll(GENERATION, this.#server.generation ?? GENERATION)
      this.#stream?.write(text + request(['PING', word]), 'latin1')
    })
  }

  #open () {
    const stream = this.#server.connect()
    const closed = () => {
      if (this.#stream !== stream) return
      this.#stream = undefined
      this.#received += '+(closed)\r\n'
      this.#resolve?.()
    }
    stream.on('data', (/** @type {Buffer} */ chunk) => {
      this.#received += chunk.toString('latin1')
      if (this.#received.endsWith(this.#end)) {
        const before = this.#received.slice(0, -this.#end.length)
        this.#received = before.endsWith(SUBSCRIBED) ? before.slice(0, -SUBSCRIBED.length) : before
        this.#resolve?.()
      }
    })
    stream.on('error', closed)
    stream.on('end', closed)
    stream.on('close', closed)
    return stream
  }

  close () {
    const stream = this.#stream
    this.#stream = undefined
    stream?.destroy()
  }
}
