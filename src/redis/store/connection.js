import { encode } from './resp/writer.js'
import { ErrorReply } from './resp/replies.js'
import { ProtocolError, RequestParser } from './resp/request-parser.js'

/**
 * @typedef {import('./resp/replies.js').Reply} Reply
 * @typedef {import('./contract.js').Store} Store
 */

const MEGABYTE = 1024 * 1024
/** Bytes of replies that a client has not read at most, and of messages: now, and for a time. */
const MAX_REPLIES = 256 * MEGABYTE
const MAX_MESSAGES = 32 * MEGABYTE
const SOFT_MESSAGES = 8 * MEGABYTE
const SOFT_TIME = 60_000
/** Bytes of requests that are read while none is carried out. */
const MAX_HELD = MEGABYTE

/** One client: its requests one after the other, its replies in one write per turn. */
export class Connection {
  name = ''
  /** @type {2 | 3} */
  resp = 2
  /** @type {Record<import('./contract.js').Kind, Set<string>>} */
  subscriptions = { channels: new Set(), patterns: new Set(), shards: new Set() }
  #parser = new RequestParser()
  #output = ''
  #ended = false
  /** Since when more than SOFT_MESSAGES are unread. @type {number | undefined} */
  #slowSince

  /**
   * @param {Store} store
   * @param {import('node:stream').Duplex} stream
   * @param {number} id
   */
  constructor (store, stream, id) {
    this.store = store
    this.stream = stream
    this.id = id
    stream.on('data', (chunk) => {
      if (this.#ended) return
      this.#parser.push(chunk)
      this.work()
      // requests that cannot be carried out now wait at the client
      if (store.isPaused && this.unparsed > MAX_HELD) stream.pause()
    })
    stream.on('error', () => {}) // a close follows
    stream.on('end', () => this.end())
    stream.on('close', () => this.destroy())
  }

  get isSubscriber () {
    const { channels, patterns, shards } = this.subscriptions
    return channels.size + patterns.size + shards.size > 0
  }

  /** Bytes that the client has not read. */
  get unread () { return this.#output.length + this.stream.writableLength }
  /** Bytes of requests that are not complete, or not carried out. */
  get unparsed () { return this.#parser.pending }

  /** Carries out the requests that have come. */
  work () {
    if (this.stream.isPaused() && !this.store.isPaused) this.stream.resume()
    try {
      while (!this.#ended && !this.store.isPaused) {
        const args = this.#parser.next()
        if (args === undefined) break
        const reply = this.store.execute(args, this)
        if (reply !== undefined) this.reply(reply)
      }
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error
      this.reply(new ErrorReply(`ERR Protocol error: ${error.message}`))
      this.end()
    }
    this.store.flush()
  }

  /** @param {Reply} reply */
  reply (reply) {
    this.#write(encode(reply, this.resp))
  }

  /** @param {import('./resp/replies.js').Push} message */
  push (message) {
    this.#write(encode(message, this.resp))
  }

  /** @param {string} bytes */
  #write (bytes) {
    if (this.#ended) return
    if (this.#output === '') this.store.willFlush(this)
    this.#output += bytes
    if (this.isTooSlow()) this.destroy()
  }

  /** The client reads too little. */
  isTooSlow () {
    const unread = this.unread
    if (!this.isSubscriber) return unread > MAX_REPLIES
    if (unread <= SOFT_MESSAGES) {
      this.#slowSince = undefined
      return false
    }
    const now = this.store.clock.monotonic()
    this.#slowSince ??= now
    return unread > MAX_MESSAGES || now - this.#slowSince > SOFT_TIME
  }

  flush () {
    if (this.#output === '') return
    const output = this.#output
    this.#output = ''
    if (!this.stream.destroyed && !this.stream.writableEnded) this.stream.write(output, 'latin1')
  }

  /** Closes the connection when its replies are written. */
  end () {
    if (this.#ended) return
    this.flush()
    this.#forget()
    this.stream.end(() => this.stream.destroy())
  }

  destroy () {
    this.#output = ''
    this.#forget()
    this.stream.destroy()
  }

  #forget () {
    if (this.#ended) return
    this.#ended = true
    this.store.forget(this)
  }
}
