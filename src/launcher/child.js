import cluster from 'node:cluster'
import { fork } from 'node:child_process'
import { Backoff } from '../backoff.js'

/**
 * One process slot of the launcher: it is kept running until it is stopped, with backoff between restarts.
 *
 * @typedef {object} ChildSettings
 * @property {string} role
 * @property {number} slot
 * @property {string} file the role's composition root
 * @property {boolean} clustered forked by node:cluster, so that all of the role's processes share one port
 * @property {Record<string, string | undefined>} env
 * @property {string[]} execArgv
 */

/** A process that has run this long is no crash loop, ms. */
const HEALTHY = 30_000
/** Starts in a row that may fail before the launcher gives up. */
const MAX_FAILURES = 8

export class Child {
  /** @type {import('node:child_process').ChildProcess | undefined} */
  #process
  #stopping = false
  #ready = false
  #everReady = false
  #failures = 0
  /** @type {string | undefined} */
  #lastMessage
  #backoff = new Backoff({ min: 200, max: 10_000 })
  /** @type {NodeJS.Timeout | undefined} */
  #restart

  /**
   * @param {ChildSettings} settings
   * @param {object} events
   * @param {() => void} events.onReady
   * @param {(detail: { code: number | null, signal: string | null, message: string | undefined, again: boolean }) => void} events.onExit
   *   again: it is started anew
   */
  constructor (settings, { onReady, onExit }) {
    this.settings = settings
    this.onReady = onReady
    this.onExit = onExit
  }

  get name () { return `${this.settings.role}-${this.settings.slot}` }
  get ready () { return this.#ready }
  get pid () { return this.#process?.pid }

  start () {
    const { slot, file, clustered, env, execArgv } = this.settings
    const fullEnv = { ...env, INKCAST_SLOT: String(slot) }
    this.#ready = false
    this.#lastMessage = undefined
    if (clustered) {
      cluster.setupPrimary({ exec: file, execArgv, args: [] })
      this.#process = cluster.fork(fullEnv).process
    } else {
      this.#process = fork(file, [], { env: fullEnv, execArgv })
    }
    const started = Date.now()
    this.#process.on('message', (/** @type {any} */ message) => this.#onMessage(message))
    // an exit follows; without a listener the launcher would crash
    this.#process.on('error', () => {})
    this.#process.on('exit', (code, signal) => this.#onEnd(code, signal, Date.now() - started))
  }

  /** @param {any} message */
  #onMessage (message) {
    if (message?.type === 'failed') this.#lastMessage = message.message
    if (message?.type !== 'ready') return
    this.#ready = this.#everReady = true
    this.onReady()
  }

  /** @param {number | null} code @param {string | null} signal @param {number} ranFor ms */
  #onEnd (code, signal, ranFor) {
    this.#process = undefined
    this.#ready = false
    if (ranFor > HEALTHY) {
      this.#failures = 0
      this.#backoff.reset()
    }
    this.#failures++
    // what has never started will not start by itself: a wrong setting, a port in use
    const again = !this.#stopping && this.#everReady && this.#failures <= MAX_FAILURES
    this.onExit({ code, signal, message: this.#lastMessage, again })
    if (again) this.#restart = setTimeout(() => this.start(), this.#failures === 1 ? 0 : this.#backoff.next())
  }

  /** @param {NodeJS.Signals} signal @returns {Promise<void>} resolves when it has ended */
  async stop (signal) {
    this.#stopping = true
    clearTimeout(this.#restart)
    const running = this.#process
    if (running === undefined) return
    await new Promise((resolve) => {
      running.once('exit', resolve)
      running.kill(signal)
    })
  }

  /** @param {NodeJS.Signals} signal */
  kill (signal) { this.#process?.kill(signal) }
}
