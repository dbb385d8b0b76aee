import { ANSWER_TIMEOUT } from './options.js'

/**
 * Ends a connection for commands when its server owes answers and sends nothing for ANSWER_TIMEOUT. In place of
 * `socketTimeout` of ioredis, whose timer runs before this process reads what came while it did not run: a process that
 * a busy host stopped for 2 s lost each connection, and the outcome of each command.
 */
export class AnswerLimit {
  #redis
  #clock
  #timeout
  #pending = 0
  /** Monotonic time of the last sign of the server, ms. */
  #heardAt = 0
  /** Bytes read by then. @type {number | undefined} */
  #read = 0
  /** @type {Pick<import('../base/common/clock.js').Timer, 'stop'> | undefined} */
  #looking

  /**
   * @param {Pick<import('ioredis').Redis, 'stream' | 'commandQueue'>} redis its `stream` is undefined before the first
   *   connection
   * @param {Pick<import('../base/common/clock.js').Clock, 'timer' | 'soon' | 'monotonic'>} clock
   * @param {number} [timeout] ms
   */
  constructor (redis, clock, timeout = ANSWER_TIMEOUT) {
    this.#redis = redis
    this.#clock = clock
    this.#timeout = timeout
  }

  sent () {
    if (this.#pending++ === 0) this.#heard()
    this.#lookAgain()
  }

  /** A command was answered, or has failed with the connection. */
  settled () {
    this.#pending--
    this.#heard()
  }

  #heard () {
    this.#heardAt = this.#clock.monotonic()
    this.#read = this.#redis.stream?.bytesRead
  }

  #look () {
    this.#looking = undefined
    if (this.#pending === 0) return
    if (this.#left() > 0) this.#lookAgain()
    else this.#looking = this.#clock.soon(() => this.#end())
  }

  /** Node has read from its sockets since the timer. */
  #end () {
    this.#looking = undefined
    if (this.#pending === 0) return
    const { stream, commandQueue } = this.#redis
    // a part of a long answer has come, or the commands wait for another node, or for this one to be connected
    if (stream?.bytesRead !== this.#read || commandQueue.length === 0) this.#heard()
    else if (this.#left() <= 0) stream?.destroy(new Error(`Socket timeout: no answer within ${this.#timeout} ms`))
    this.#lookAgain()
  }

  #lookAgain () {
    if (this.#looking !== undefined) return
    this.#looking = this.#clock.timer(Math.max(this.#left(), 1), () => this.#look()).unref()
  }

  /** @returns {number} ms that the server may be silent for */
  #left () { return this.#heardAt + this.#timeout - this.#clock.monotonic() }
}
