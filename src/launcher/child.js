import cluster from 'node:cluster'
import { fork } from 'node:child_process'
import { EventEmitter, once } from 'node:events'

/**
 * One process of a role, from its start to its end.
 *
 * Events: `ready`; `exit` with `{ code, signal, message }`, message being why its start failed; `handover` with a
 * message and a connection's native handle.
 *
 * @typedef {object} ChildSettings
 * @property {string} role
 * @property {number} slot
 * @property {string} file the role's composition root
 * @property {boolean} clustered forked by node:cluster, so that all of the role's processes share one port
 * @property {Record<string, string | undefined>} env
 * @property {string[]} execArgv
 */
export class Child extends EventEmitter {
  #process
  /** @type {string | undefined} */
  #failure
  ready = false
  /** Told to stop: its end is no surprise. */
  stopping = false
  exited = false
  /** @type {number | undefined} */
  workerNumber
  startedAt = Date.now()

  /** @param {ChildSettings} settings */
  constructor ({ role, slot, file, clustered, env, execArgv }) {
    super()
    this.role = role
    this.slot = slot
    const fullEnv = { ...env, INKCAST_SLOT: String(slot), INKCAST_RELAY: '1' }
    if (clustered) {
      cluster.setupPrimary({ exec: file, execArgv, args: [] })
      this.#process = cluster.fork(fullEnv).process
    } else {
      this.#process = fork(file, [], { env: fullEnv, execArgv })
    }
    this.#process.on('message', (message, handle) => this.#onMessage(/** @type {any} */ (message), handle))
    // an exit follows; without a listener the launcher would crash
    this.#process.on('error', () => {})
    this.#process.on('exit', (code, signal) => {
      this.ready = false
      this.exited = true
      this.emit('exit', { code, signal, message: this.#failure })
    })
  }

  get name () { return `${this.role}-${this.slot}` }
  get pid () { return this.#process.pid }

  /** @param {any} message @param {unknown} handle */
  #onMessage (message, handle) {
    if (message?.type === 'failed') this.#failure = message.message
    else if (message?.type === 'handover') this.emit('handover', message, handle)
    else if (message?.type === 'ready') {
      this.ready = true
      this.workerNumber = message.workerNumber
      this.emit('ready')
    }
  }

  /**
   * Passes a connection on to this process.
   * @param {object} message
   * @param {any} handle closed here once it is sent
   */
  handOver (message, handle) {
    this.#process.send(/** @type {any} */ (message), handle, {}, () => handle.close())
  }

  /** @returns {Promise<void>} resolves when it has ended */
  async stop () {
    this.stopping = true
    if (this.exited) return
    const ended = once(this, 'exit')
    this.#process.kill('SIGTERM')
    await ended
  }

  kill () { this.#process.kill('SIGKILL') }
}
