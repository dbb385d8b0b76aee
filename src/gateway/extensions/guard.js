import { AsyncLocalStorage } from 'node:async_hooks'
import { kRefused } from '../../transport/admission/rate-limit.js'
import { InkcastError, publicError } from '../../base/common/errors.js'
import { LogLimit } from '../../base/common/log-limit.js'

/**
 * The extension whose code is running, also in its timers and after an `await`. It costs nothing before the first
 * extension runs.
 * @type {AsyncLocalStorage<Guard>}
 */
const running = new AsyncLocalStorage()

/** @returns {Guard | undefined} of the extension whose code is running; undefined: it is the gateway's own code */
export const extensionRunning = () => running.getStore()

/**
 * Runs code of the gateway on behalf of an extension: what it starts belongs to the gateway.
 * @template T
 * @param {() => T} code
 * @returns {T}
 */
export const outside = (code) => running.run(/** @type {any} */ (undefined), code)

/** @type {WeakSet<Code>} */
const guarded = new WeakSet()

/** @param {Code} listener @returns {boolean} whether it is a listener of an extension */
export const isGuarded = (listener) => guarded.has(listener)

/** Time between two log lines about one extension, ms. */
const LOG_EVERY = 1000

/** @typedef {(...args: any[]) => any} Code */

/** Runs the code of one extension: it measures each call, and keeps errors inside the extension. */
export class Guard {
  /** Guarded listeners by the extension's own: `off` gets the extension's own. @type {WeakMap<Code, Code>} */
  #listeners = new WeakMap()
  #logLimit
  #clock
  #blocking
  #total
  #errors
  #log

  /**
   * @param {string} name of the extension
   * @param {object} dependencies
   * @param {Pick<import('../../observe/metrics/metrics.js').Metrics, 'extension_errors' | 'extension_seconds'>}
   *   dependencies.metrics
   * @param {import('../../base/common/log.js').Log} dependencies.log
   * @param {Pick<import('../../base/common/clock.js').Clock, 'monotonic'>} dependencies.clock
   * @param {(socket: any) => void} dependencies.onRefused called when a middleware of the extension refuses a client
   */
  constructor (name, { metrics, log, clock, onRefused }) {
    this.name = name
    this.onRefused = onRefused
    this.#blocking = metrics.extension_seconds.labels(name, 'blocking')
    this.#total = metrics.extension_seconds.labels(name, 'total')
    this.#errors = metrics.extension_errors
    this.#log = log
    this.#clock = clock
    this.#logLimit = new LogLimit({ interval: LOG_EVERY, clock })
  }

  /**
   * @template T
   * @param {() => T} code of the extension, whose errors the caller handles
   * @returns {T}
   */
  run (code) { return running.run(this, code) }

  /** Counts and logs an error of the extension. @param {unknown} error */
  failed (error) {
    this.#errors.inc({ extension: this.name })
    if (this.#logLimit.due()) this.#log.error({ err: error, extension: this.name }, 'extension failed')
  }

  /**
   * Calls code of the extension. It never throws.
   * @param {() => unknown} code
   * @param {() => void} [onError]
   */
  call (code, onError) {
    const start = this.#clock.monotonic()
    /** @param {unknown} error */
    const fail = (error) => {
      this.failed(error)
      onError?.()
    }
    let result
    try {
      result = this.run(code)
    } catch (error) {
      fail(error)
    }
    const blocking = this.#secondsSince(start)
    this.#blocking.observe(blocking)
    const settled = () => this.#total.observe(this.#secondsSince(start))
    if (result instanceof Promise) result.catch(fail).finally(settled)
    else this.#total.observe(blocking)
  }

  /** @param {number} start monotonic ms */
  #secondsSince (start) { return (this.#clock.monotonic() - start) / 1000 }

  /**
   * @param {Code} code a listener
   * @returns {Code} the same function for the same listener
   */
  listener (code) {
    let listener = this.#listeners.get(code)
    if (listener === undefined) {
      const guard = this
      listener = /** @this {unknown} @param {any[]} args */ function (...args) {
        // An event that the gateway refused before decoding is no event of the application.
        if (args[0] !== kRefused) guard.call(() => code.apply(this, args))
      }
      this.#listeners.set(code, listener)
      guarded.add(listener)
    }
    return listener
  }

  /** @param {Code} code @returns {Code} its guarded listener; the same function if there is none */
  listenerOf (code) { return this.#listeners.get(code) ?? code }

  /** @param {Code} code a callback @returns {Code} */
  callback (code) { return (...args) => this.call(() => code(...args)) }

  /**
   * @param {Code} code a middleware, which gets `next` as its last argument
   * @param {(subject: any) => void} [onRefused] called with the first argument when `next` gets an error
   * @returns {Code} it calls `next` once, also if the middleware throws
   */
  middleware (code, onRefused) {
    return (...args) => {
      const next = args.pop()
      let called = false
      /** @param {any[]} result */
      const once = (...result) => {
        if (called) return
        called = true
        if (result[0]) onRefused?.(args[0])
        outside(() => next(...result))
      }
      this.call(() => code(...args, once), () => {
        const { message, code, retryable } = publicError(new InkcastError('internal'))
        once(Object.assign(new Error(message), { data: { code, retryable } }))
      })
    }
  }
}
