import { AsyncResource } from 'node:async_hooks'
import timers from 'node:timers'
import timersPromises from 'node:timers/promises'
import { promisify } from 'node:util'
import { currentWorld } from './now.js'
import { real } from './real.js'

/**
 * Timers that were asked for their number, by it: Node keeps those too.
 * @type {WeakMap<object, Map<number, WorldTimer>>}
 */
const numbered = new WeakMap()

/** As Node's: an object with methods, which is a number where one is asked for. */
class WorldTimer {
  /** @type {import('./heap.js').Event | undefined} */
  #event
  #context = new AsyncResource('WorldTimer')
  #number = 0

  /** @param {import('./world.js').World} world @param {number} ms @param {() => void} run @param {boolean} again */
  constructor (world, ms, run, again) {
    this.world = world
    this.owner = world.current
    this.ms = ms >= 1 && ms <= 2 ** 31 - 1 ? Math.trunc(ms) : 1
    this.run = run
    this.again = again
    if (this.owner === null) world.violation('a timer of nobody')
    this.#begin()
  }

  #begin () {
    this.#event = this.world.schedule(this.ms, this.again ? 'interval' : 'timeout', () => {
      this.#event = undefined
      if (this.again) this.#begin()
      this.#context.runInAsyncScope(this.run)
    }, this.owner)
  }

  close () {
    if (this.#event !== undefined) this.#event.canceled = true
    this.#event = undefined
    this.again = false
    if (this.#number !== 0) numbered.get(this.world)?.delete(this.#number)
    return this
  }

  refresh () {
    if (this.#event !== undefined) this.#event.canceled = true
    this.#begin()
    return this
  }

  ref () { return this }
  unref () { return this }
  hasRef () { return this.#event !== undefined }
  [Symbol.dispose] () { this.close() }

  [Symbol.toPrimitive] () {
    if (this.#number === 0) {
      const all = numbered.get(this.world) ?? new Map()
      numbered.set(this.world, all)
      this.#number = all.size + 1
      all.set(this.#number, this)
    }
    return this.#number
  }
}

class WorldImmediate {
  #event

  /** @param {import('./world.js').World} world @param {() => void} run */
  constructor (world, run) {
    if (world.current === null) world.violation('an immediate of nobody')
    const context = new AsyncResource('WorldImmediate')
    this.#event = world.schedule(0, 'immediate', () => context.runInAsyncScope(run))
  }

  close () { this.#event.canceled = true }
  ref () { return this }
  unref () { return this }
  hasRef () { return true }
  [Symbol.dispose] () { this.close() }
}

/** @param {unknown} run */
function checkCallback (run) {
  if (typeof run !== 'function') throw new TypeError(`The "callback" argument must be of type function. Received ${run}`)
}

/**
 * @param {'setTimeout' | 'setInterval'} name
 * @returns {(run: Function, ms?: number, ...args: unknown[]) => any}
 */
const timerOf = (name) => (run, ms = 1, ...args) => {
  const world = currentWorld()
  if (world === undefined) return real[name](/** @type {any} */ (run), ms, ...args)
  checkCallback(run)
  return new WorldTimer(world, ms, args.length === 0 ? /** @type {any} */ (run) : () => run(...args), name === 'setInterval')
}

/** @param {Function} run @param {unknown[]} args */
function setImmediate (run, ...args) {
  const world = currentWorld()
  if (world === undefined) return real.setImmediate(/** @type {any} */ (run), ...args)
  checkCallback(run)
  return new WorldImmediate(world, () => run(...args))
}

/** @param {'clearTimeout' | 'clearInterval' | 'clearImmediate'} name */
const clearOf = (name) => (/** @type {any} */ timer) => {
  if (timer instanceof WorldTimer || timer instanceof WorldImmediate) return void timer.close()
  const world = currentWorld()
  if (world !== undefined && typeof timer !== 'object') numbered.get(world)?.get(Number(timer))?.close()
  else /** @type {Function} */ (real[name])(timer)
}

const patched = {
  setTimeout: timerOf('setTimeout'),
  setInterval: timerOf('setInterval'),
  setImmediate,
  clearTimeout: clearOf('clearTimeout'),
  clearInterval: clearOf('clearInterval'),
  clearImmediate: clearOf('clearImmediate')
}
Object.assign(globalThis, patched)
Object.assign(timers, patched)

/** @param {AbortSignal} signal */
const aborted = ({ reason }) =>
  Object.assign(new Error('The operation was aborted', { cause: reason }), { name: 'AbortError', code: 'ABORT_ERR' })

/**
 * @param {(run: () => void) => { close: () => void }} begin
 * @param {any} value
 * @param {{ signal?: AbortSignal }} [options]
 */
const promised = (begin, value, { signal } = {}) => new Promise((resolve, reject) => {
  if (signal?.aborted) return reject(aborted(signal))
  const stop = () => {
    timer.close()
    reject(aborted(/** @type {AbortSignal} */ (signal)))
  }
  const timer = begin(() => {
    signal?.removeEventListener('abort', stop)
    resolve(value)
  })
  signal?.addEventListener('abort', stop, { once: true })
})

/** @param {number} [ms] @param {any} [value] @param {any} [options] */
const after = (ms, value, options) => promised((run) => patched.setTimeout(run, ms), value, options)
/** @param {any} [value] @param {any} [options] */
const soon = (value, options) => promised((run) => /** @type {any} */ (patched.setImmediate(run)), value, options)
/** @param {number} [ms] @param {any} [value] @param {any} [options] */
async function* each (ms, value, options) { for (;;) yield await after(ms, value, options) }

const ofPromises = /** @type {any} */ (timersPromises)
const own = { setTimeout: after, setImmediate: soon, setInterval: each }
for (const [name, simulated] of Object.entries(own)) {
  const nodes = ofPromises[name]
  ofPromises[name] = (/** @type {any[]} */ ...args) => (currentWorld() === undefined ? nodes : simulated)(...args)
}
const { scheduler } = ofPromises
const wait = scheduler.wait
const yields = scheduler.yield
scheduler.wait = (/** @type {number} */ ms, /** @type {any} */ options) =>
  currentWorld() === undefined ? wait.call(scheduler, ms, options) : after(ms, undefined, options)
scheduler.yield = () => currentWorld() === undefined ? yields.call(scheduler) : soon()
for (const name of /** @type {const} */ (['setTimeout', 'setImmediate']))
  Object.defineProperty(patched[name], promisify.custom, { get: () => ofPromises[name] })
