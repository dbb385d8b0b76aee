import { createContext, runInContext } from 'node:vm'
import { build } from 'esbuild'
import { WebSocket } from 'ws'
// @ts-expect-error it has no types; engine.io-client uses it in Node
import xmlhttprequest from 'xmlhttprequest-ssl'

/**
 * A phone with an app. The app has the globals of React Native (0.88.1: Libraries/Core/setUp*.js), and nothing else of
 * the Web or of Node. Its timers and sockets stand still in the background, as on iOS.
 */

/** Of newer engines than a Hermes of some years. */
const REMOVED = `
  for (const name of ['WebAssembly', 'SharedArrayBuffer', 'FinalizationRegistry', 'escape', 'unescape']) delete globalThis[name]
  for (const name of ['toSorted', 'toReversed', 'toSpliced', 'with', 'findLast', 'findLastIndex']) delete Array.prototype[name]
  for (const name of ['isWellFormed', 'toWellFormed']) delete String.prototype[name]
  delete Array.fromAsync; delete Promise.withResolvers; delete Object.groupBy; delete Map.groupBy`

/** As abort-controller 3.0.0, which many versions of React Native have: without `reason` and `throwIfAborted`. */
const ABORT = `
  globalThis.AbortController = class {
    signal = { aborted: false, listeners: new Set(),
      addEventListener (_, listener) { this.listeners.add(listener) },
      removeEventListener (_, listener) { this.listeners.delete(listener) } }
    abort () {
      if (this.signal.aborted) return
      this.signal.aborted = true
      for (const listener of this.signal.listeners) listener({ type: 'abort' })
    }
  }`

/** The modules that an app imports, in place of the native ones. */
const MODULES = {
  'react-native': 'export const { AppState } = phone',
  '@react-native-community/netinfo': 'export default phone.NetInfo',
  '@react-native-async-storage/async-storage': 'export default phone.AsyncStorage'
}

/**
 * @param {string} file TypeScript or JavaScript
 * @param {Record<string, string>} define
 * @returns {Promise<string>} what Metro makes of it: one script, with the modules for browsers
 */
export async function bundleForPhone (file, define) {
  const { outputFiles: [{ text }] } = await build({
    entryPoints: [file],
    bundle: true,
    write: false,
    format: 'iife',
    globalName: 'app',
    target: 'es2022',
    conditions: ['react-native'],
    mainFields: ['react-native', 'browser', 'main'],
    define,
    logLevel: 'silent',
    plugins: [{
      name: 'native modules',
      setup ({ onResolve, onLoad }) {
        onResolve({ filter: /^(@?react-native)/ }, ({ path }) => ({ path, namespace: 'phone' }))
        onLoad({ filter: /./, namespace: 'phone' }, ({ path }) =>
          ({ contents: /** @type {Record<string, string>} */ (MODULES)[path] }))
      }
    }]
  })
  return text
}

export class Phone {
  /** What AsyncStorage keeps, over restarts of the app. @type {Map<string, string>} */
  stored = new Map()
  #bundle
  /** The running app. @type {{ stop: () => void, suspended: (() => void)[] | null } | null} */
  #app = null
  /** @type {Set<(state: string) => void>} */
  #states = new Set()
  /** @type {Set<(state: object) => void>} */
  #networks = new Set()

  /** @param {string} bundle of bundleForPhone */
  constructor (bundle) { this.#bundle = bundle }

  /** @returns {any} the exports of the app */
  start () {
    /** @type {{ stop: () => void, suspended: (() => void)[] | null }} */
    const app = { suspended: null, stop () { for (const stop of stops) stop() } }
    /** @type {Set<() => void>} */
    const stops = new Set()
    let ended = false
    stops.add(() => { ended = true })
    /** @param {() => void} run */
    const deliver = (run) => {
      if (ended) return
      if (app.suspended) app.suspended.push(run)
      else run()
    }
    this.#app = app
    const context = createContext({
      ...timers(deliver, stops),
      XMLHttpRequest: xmlhttprequest.XMLHttpRequest,
      performance: { now: () => performance.now() },
      console,
      queueMicrotask,
      navigator: { product: 'ReactNative' },
      process: { env: { NODE_ENV: 'development' } },
      phone: this.#modules()
    })
    runInContext(`globalThis.window = globalThis.self = globalThis; ${REMOVED}; ${ABORT}`, context)
    // libraries look for instances of the app's own classes
    const bufferOf = runInContext('(bytes) => Uint8Array.from(bytes).buffer', context)
    context.WebSocket = socketClass(deliver, stops, bufferOf)
    runInContext(this.#bundle, context)
    return runInContext('app', context)
  }

  /** Ends the app as the system does: at once. */
  kill () {
    this.#app?.stop()
    this.#app = null
    this.#states.clear()
    this.#networks.clear()
  }

  background () {
    for (const listener of this.#states) listener('background')
    if (this.#app) this.#app.suspended = []
  }

  foreground () {
    const waiting = this.#app?.suspended ?? []
    if (this.#app) this.#app.suspended = null
    for (const run of waiting) run()
    for (const listener of this.#states) listener('active')
  }

  /** @param {string} type wifi, cellular or none */
  network (type) {
    const state = { type, isConnected: type !== 'none', isInternetReachable: type !== 'none' }
    for (const listener of this.#networks) listener(state)
  }

  /** Listeners of the app that are left. */
  get listeners () { return this.#states.size + this.#networks.size }

  #modules () {
    const { stored } = this
    return {
      AppState: {
        addEventListener: (/** @type {string} */ _event, /** @type {(state: string) => void} */ listener) => {
          this.#states.add(listener)
          return { remove: () => { this.#states.delete(listener) } }
        }
      },
      NetInfo: {
        addEventListener: (/** @type {(state: object) => void} */ listener) => {
          this.#networks.add(listener)
          listener({ type: 'wifi', isConnected: true, isInternetReachable: null })
          return () => { this.#networks.delete(listener) }
        }
      },
      AsyncStorage: asyncStorage(stored)
    }
  }
}

/** @param {Map<string, string>} stored */
export const asyncStorage = (stored) => ({
  getAllKeys: async () => [...stored.keys()],
  getItem: async (/** @type {string} */ key) => stored.get(key) ?? null,
  setItem: async (/** @type {string} */ key, /** @type {string} */ value) => { stored.set(key, value) },
  removeItem: async (/** @type {string} */ key) => { stored.delete(key) }
})

/** @param {(run: () => void) => void} deliver @param {Set<() => void>} stops */
function timers (deliver, stops) {
  /** @param {typeof setTimeout | typeof setInterval} set @param {typeof clearTimeout} clear */
  const pair = (set, clear) => {
    /** @type {Map<number, () => void>} as numbers, as in React Native */
    const ends = new Map()
    let last = 0
    return [
      (/** @type {() => void} */ run, /** @type {number} */ ms) => {
        const id = ++last
        const timer = set(() => deliver(() => { if (ends.has(id)) run() }), ms)
        const end = () => clear(/** @type {any} */ (timer))
        ends.set(id, end)
        stops.add(end)
        return id
      },
      (/** @type {number} */ id) => {
        ends.get(id)?.()
        ends.delete(id)
      }
    ]
  }
  const [setTimer, clearTimer] = pair(setTimeout, clearTimeout)
  const [setRepeated, clearRepeated] = pair(setInterval, clearInterval)
  return { setTimeout: setTimer, clearTimeout: clearTimer, setInterval: setRepeated, clearInterval: clearRepeated }
}

/**
 * @param {(run: () => void) => void} deliver
 * @param {Set<() => void>} stops
 * @param {(bytes: Uint8Array) => ArrayBuffer} bufferOf
 */
const socketClass = (deliver, stops, bufferOf) => class {
  #socket
  /** @type {any} */
  onopen
  /** @type {any} */
  onmessage
  /** @type {any} */
  onclose
  /** @type {any} */
  onerror

  /** @param {string} url @param {string[]} [protocols] */
  constructor (url, protocols = []) {
    const socket = new WebSocket(url, protocols)
    this.#socket = socket
    stops.add(() => socket.terminate())
    socket.on('open', () => deliver(() => this.onopen?.({})))
    socket.on('message', (data, isBinary) => deliver(() => this.onmessage?.({
      data: isBinary ? bufferOf(/** @type {Buffer} */ (data)) : String(data)
    })))
    socket.on('close', (code) => deliver(() => this.onclose?.({ code })))
    socket.on('error', ({ message }) => deliver(() => this.onerror?.({ message })))
  }

  /** @param {string | ArrayBuffer} data */
  send (data) { this.#socket.send(data) }
  close () { this.#socket.close() }
}
