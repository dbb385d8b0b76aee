import { Backoff } from '../backoff.js'
import { Child } from './child.js'

/** A process that has run this long was no part of a crash loop, ms. */
const HEALTHY = 30_000
/** Ends in a row, each sooner than HEALTHY, after which the launcher gives up. */
const MAX_CRASHES = 10

/**
 * A place for one process: keeps one running there, with backoff between restarts, and replaces it by a new one on
 * reload, which serves before the old one drains.
 */
export class Slot {
  /** @type {Child | undefined} */
  current
  /** Being replaced, still draining. @type {Set<Child>} */
  draining = new Set()
  #crashes = 0
  #wasReady = false
  #stopping = false
  #backoff = new Backoff({ min: 200, max: 10_000 })
  /** @type {NodeJS.Timeout | undefined} */
  #restart

  /**
   * @param {import('./child.js').ChildSettings} settings
   * @param {object} events
   * @param {() => void} events.onReady
   * @param {(detail: { code: number | null, signal: string | null, message: string | undefined }) => void} events.onRestart it ended unexpectedly and is started again
   * @param {(reason: string) => void} events.onGiveUp it does not stay up
   * @param {(message: any, handle: any) => void} events.onHandover
   */
  constructor (settings, events) {
    this.settings = settings
    this.events = events
  }

  get name () { return `${this.settings.role}-${this.settings.slot}` }
  get ready () { return this.current?.ready ?? false }

  /** @returns {Child[]} */
  get children () { return [...(this.current ? [this.current] : []), ...this.draining] }

  start () {
    const child = this.current = this.#spawn()
    child.on('exit', (detail) => this.#onEnd(child, detail))
  }

  #spawn () {
    const child = new Child(this.settings)
    child.on('ready', () => {
      this.#wasReady = true
      this.events.onReady()
    })
    child.on('handover', this.events.onHandover)
    return child
  }

  /**
   * @param {Child} child
   * @param {{ code: number | null, signal: string | null, message: string | undefined }} detail
   */
  #onEnd (child, detail) {
    this.draining.delete(child)
    if (child !== this.current) return
    this.current = undefined
    if (this.#stopping) return
    if (Date.now() - child.startedAt > HEALTHY) {
      this.#crashes = 0
      this.#backoff.reset()
    }
    this.#crashes++
    const how = detail.message ?? `ended with ${detail.signal ?? `exit code ${detail.code}`}`
    // what has never started will not start by itself: a wrong setting, a port in use
    if (!this.#wasReady) this.events.onGiveUp(how)
    else if (this.#crashes > MAX_CRASHES) this.events.onGiveUp(`ended ${this.#crashes} times in a row soon after its start, the last time: ${how}`)
    else {
      this.events.onRestart(detail)
      // a first end may have any cause and is mended at once
      this.#restart = setTimeout(() => this.start(), this.#crashes === 1 ? 0 : this.#backoff.next())
    }
  }

  /**
   * Replaces the process: the new one is ready before the old one is told to drain. A new one that does not become
   * ready is given up, and the old one stays.
   * @param {number} timeout ms
   * @returns {Promise<string | null>} why it was not replaced
   */
  async reload (timeout) {
    const old = this.current
    if (old === undefined || this.#stopping) return 'it is not running'
    const next = this.#spawn()
    this.draining.add(next)
    const outcome = await new Promise((resolve) => {
      const timer = setTimeout(() => resolve(`the new process was not ready within ${timeout} ms`), timeout)
      next.once('ready', () => { clearTimeout(timer); resolve(null) })
      next.once('exit', ({ message, code, signal }) => { clearTimeout(timer); resolve(message ?? `the new process ended with ${signal ?? `exit code ${code}`}`) })
    })
    this.draining.delete(next)
    if (outcome !== null || this.#stopping) {
      if (!next.exited) {
        this.draining.add(next)
        next.on('exit', () => this.draining.delete(next))
        await next.stop()
      }
      return outcome
    }
    next.on('exit', (detail) => this.#onEnd(next, detail))
    this.current = next
    if (!old.exited) {
      this.draining.add(old)
      await old.stop()
    }
    return null
  }

  /** @returns {Promise<void>} resolves when nothing runs here any more */
  async stop () {
    this.#stopping = true
    clearTimeout(this.#restart)
    await Promise.all(this.children.map((child) => child.stop()))
  }

  kill () { for (const child of this.children) child.kill() }
}
