import { EventEmitter, once } from 'node:events'

/**
 * One process of a role, from its start to its end.
 *
 * Events: `ready`; `waits` with what its start waits for; `listen` when it asks for its slot's socket, with the name of
 * the listener; `resumed` when
 * it accepts connections again; `leaving` when it takes no more; `answer` when it answers `ask`; `exit` with an End;
 * `handover` with a message and a connection's native handle.
 *
 * @typedef {{ code: number | null, signal: string | null, message?: string }} End message: why its start failed
 *
 * @typedef {object} ChildSettings
 * @property {string} role
 * @property {number} slot
 * @property {string} file the role's composition root
 * @property {boolean} clustered forked by node:cluster, so that all of the role's processes share one port
 * @property {Record<string, string | undefined>} env may change later, for processes that are started from then on
 * @property {string[]} execArgv
 * @property {number} stopTimeout how long it may take to stop before it is killed, ms
 *
 * @callback Fork starts a process
 * @param {Pick<ChildSettings, 'role' | 'slot' | 'file' | 'clustered' | 'env' | 'execArgv'>} settings
 * @returns {Pick<import('node:child_process').ChildProcess, 'pid' | 'on' | 'send' | 'kill'>}
 */
export class Child extends EventEmitter {
  /** @type {ReturnType<Fork> | undefined} */
  #process
  /** @type {string | undefined} */
  #failure
  ready = false
  /** Takes no more connections. */
  leaving = false
  /** False: it must not accept connections for a time. */
  accepting = true
  /** Listens: from its start, and after `accept(true)` once it says so. */
  listens = true
  /** Of a gateway worker, as it said last. @type {number | undefined} */
  connections
  /** Moves of its clients that are in progress: others should accept its new connections. */
  moves = 0
  /** Told to stop: its end is no surprise. */
  stopping = false
  /** Killed on purpose, as the demo does. */
  sacrificed = false
  exited = false
  /** Answers `ask`; an earlier version, after a downgrade and a reload, does not. */
  answers = false
  /** Does not answer: src/operate/launcher/hang-watch.js. */
  hung = false
  /** @type {number | undefined} */
  workerNumber
  /** Of connections that are being passed on to it. @type {Set<{ close: () => void }>} */
  #handles = new Set()
  /** monotonic ms @type {number} */
  startedAt
  #clock

  /**
   * @param {ChildSettings} settings
   * @param {boolean} urgent the one before it has died
   * @param {object} options
   * @param {Fork} options.fork
   * @param {Pick<import('../../base/common/clock.js').Clock, 'monotonic' | 'timer' | 'soon'>} options.clock
   */
  constructor (settings, urgent, { fork, clock }) {
    super()
    this.#clock = clock
    this.startedAt = clock.monotonic()
    this.role = settings.role
    this.slot = settings.slot
    this.stopTimeout = settings.stopTimeout
    const own = { INKCAST_SLOT: String(this.slot), INKCAST_RELAY: '1', INKCAST_URGENT: urgent ? '1' : '0' }
    try {
      this.#process = fork({ ...settings, env: { ...settings.env, ...own } })
    } catch (error) {
      clock.soon(() => this.#failToStart(error))
      return
    }
    const { pid } = this.#process
    this.#process.on('message', (message, handle) => this.#onMessage(/** @type {any} */ (message), handle))
    // if the system cannot start another process there is no exit event; other errors come with the exit
    this.#process.on('error', (error) => { if (pid === undefined) this.#failToStart(error) })
    this.#process.on('exit', (code, signal) => this.#end({ code, signal, message: this.#failure }))
  }

  /** @param {unknown} error */
  #failToStart (error) {
    this.#end({ code: null, signal: null, message: error instanceof Error ? error.message : String(error) })
  }

  /** @param {End} end */
  #end (end) {
    this.ready = false
    this.exited = true
    // Node never calls back for those that it had queued: their clients would wait for ever
    for (const handle of this.#handles) handle.close()
    this.#handles.clear()
    this.emit('exit', end)
  }

  get name () { return `${this.role}-${this.slot}` }
  get pid () { return this.#process?.pid }

  /** @param {any} message @param {unknown} handle */
  #onMessage (message, handle) {
    if (message?.type === 'failed') this.#failure = message.message
    else if (message?.type === 'handover') this.emit('handover', message, handle)
    else if (message?.type === 'listen') this.emit('listen', message.listener)
    else if (message?.type === 'waits') this.emit('waits', message.message)
    else if (message?.type === 'answer') {
      this.connections = message.connections
      this.emit('answer', message.inspected === true)
    } else if (message?.type === 'resumed') {
      this.listens = this.accepting
      this.emit('resumed')
    } else if (message?.type === 'leaving') {
      this.leaving = true
      this.emit('leaving')
    } else if (message?.type === 'ready') {
      this.ready = true
      this.workerNumber = message.workerNumber
      this.answers = message.answers === true
      this.emit('ready')
    }
  }

  /**
   * Passes a connection on to this process.
   * @param {object} message
   * @param {any} handle closed here once it is sent, or when the process has ended
   */
  handOver (message, handle) {
    if (this.exited) return handle.close()
    this.#handles.add(handle)
    this.#process?.send(/** @type {any} */ (message), handle, {}, () => {
      if (this.#handles.delete(handle)) handle.close()
    })
  }

  /**
   * @param {object} message
   * @param {any} [handle] stays open here
   */
  send (message, handle) {
    // errors are ignored: the process may just have ended
    this.#process?.send(/** @type {any} */ (message), handle, {}, () => {})
  }

  /** @param {boolean} accepting whether it accepts connections from now on */
  accept (accepting) {
    if (accepting === this.accepting) return
    this.accepting = accepting
    this.listens = false
    this.send({ type: accepting ? 'resume' : 'pause' })
  }

  /** Asks whether its event loop runs. */
  ask () { this.send({ type: 'ask' }) }

  /** @returns {Promise<void>} resolves when it has ended */
  async stop () {
    this.stopping = true
    if (this.exited) return
    const ended = once(this, 'exit')
    this.#process?.kill('SIGTERM')
    const timer = this.#clock.timer(this.stopTimeout, () => this.kill())
    await ended
    timer.stop()
  }

  kill () { this.#process?.kill('SIGKILL') }
}
