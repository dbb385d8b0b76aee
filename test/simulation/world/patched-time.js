import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import timers from 'node:timers'
import timersPromises from 'node:timers/promises'
import { currentWorld } from './now.js'
import { real } from './real.js'

/**
 * While a world runs, Node's timers, times and random values are the world's, for libraries too. To be imported before
 * everything else: libraries keep what they have imported.
 */

/** As Node's: an object with methods, which is a number where one is asked for. */
class WorldTimer {
  /** @param {import('./world.js').World} world @param {number} ms @param {() => void} run @param {boolean} again */
  constructor (world, ms, run, again) {
    this.world = world
    this.owner = world.current
    this.ms = ms >= 1 && ms <= 2 ** 31 - 1 ? ms : 1
    this.run = run
    this.again = again
    if (this.owner === null) world.violation('a timer of nobody')
    this.#begin()
  }

  /** @type {import('./heap.js').Event | undefined} */
  event

  #begin () {
    this.event = this.world.schedule(this.ms, this.again ? 'interval' : 'timeout', () => {
      this.event = undefined
      if (this.again) this.#begin()
      this.run()
    }, this.owner)
  }

  close () {
    if (this.event !== undefined) this.event.canceled = true
    this.event = undefined
    this.again = false
    return this
  }

  refresh () {
    if (this.event !== undefined) this.event.canceled = true
    this.#begin()
    return this
  }

  ref () { return this }
  unref () { return this }
  hasRef () { return this.event !== undefined }
  [Symbol.dispose] () { this.close() }
}

/**
 * @param {'setTimeout' | 'setInterval'} name
 * @returns {(run: Function, ms?: number, ...args: unknown[]) => any}
 */
const timerOf = (name) => (run, ms = 1, ...args) => {
  const world = currentWorld()
  return world === undefined
    ? real[name](/** @type {any} */ (run), ms, ...args)
    : new WorldTimer(world, ms, () => run(...args), name === 'setInterval')
}

/** @param {'clearTimeout' | 'clearInterval' | 'clearImmediate'} name */
const clearOf = (name) => (/** @type {any} */ timer) => {
  if (timer instanceof WorldTimer) timer.close()
  else if (timer?.worldEvent !== undefined) timer.worldEvent.canceled = true
  else /** @type {Function} */ (real[name])(timer)
}

/** @param {Function} run @param {unknown[]} args */
function setImmediate (run, ...args) {
  const world = currentWorld()
  if (world === undefined) return real.setImmediate(/** @type {any} */ (run), ...args)
  const worldEvent = world.schedule(0, 'immediate', () => run(...args))
  return { worldEvent, ref () { return this }, unref () { return this }, hasRef: () => true }
}

const delay = (/** @type {number} */ ms, /** @type {any} */ value) =>
  new Promise((resolve) => { timerOf('setTimeout')(() => resolve(value), ms) })

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
Object.assign(timersPromises, { setTimeout: delay, setImmediate: (/** @type {any} */ value) => delay(0, value) })

const now = () => {
  const world = currentWorld()
  return world === undefined ? real.now() : Math.floor(world.wall + (world.current?.machine.step ?? 0))
}
globalThis.Date = new Proxy(Date, {
  construct: (target, args, newTarget) => Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget),
  apply: () => new real.Date(now()).toString(),
  get: (target, name) => name === 'now' ? now : Reflect.get(target, name)
})
performance.now = () => {
  const world = currentWorld()
  return world === undefined ? real.performanceNow() : 1000 + world.time
}
AbortSignal.timeout = (ms) => {
  const controller = new AbortController()
  const reason = new DOMException('The operation was aborted due to timeout', 'TimeoutError')
  patched.setTimeout(() => controller.abort(reason), ms)
  return controller.signal
}

const drawn = () => {
  const world = currentWorld()
  return world && (world.current?.drawn ?? world.random)
}
const { random } = Math
Math.random = () => drawn()?.number() ?? random()

const { randomBytes, randomFillSync, randomUUID, randomInt } = crypto
const getRandomValues = crypto.webcrypto.getRandomValues.bind(crypto.webcrypto)
Object.assign(crypto, {
  randomBytes: (/** @type {number} */ size, /** @type {any} */ done) => {
    const source = drawn()
    return source === undefined || done !== undefined ? randomBytes(size, done) : source.bytes(size)
  },
  randomFillSync: (/** @type {any} */ bytes, /** @type {any[]} */ ...range) => {
    const source = drawn()
    if (source === undefined) return randomFillSync(bytes, ...range)
    source.fill(bytes.subarray?.(...range) ?? new Uint8Array(bytes))
    return bytes
  },
  randomUUID: (/** @type {any} */ options) => drawn()?.uuid() ?? randomUUID(options),
  randomInt: (/** @type {number} */ low, /** @type {any} */ high) => {
    const source = drawn()
    if (source === undefined || typeof high === 'function') return randomInt(low, high)
    return high === undefined ? source.whole(0, low - 1) : source.whole(low, high - 1)
  }
})
crypto.webcrypto.getRandomValues = (/** @type {any} */ bytes) => {
  const source = drawn()
  if (source === undefined) return getRandomValues(bytes)
  source.fill(new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength))
  return bytes
}
crypto.webcrypto.randomUUID = /** @type {any} */ (crypto.randomUUID)
syncBuiltinESMExports()
