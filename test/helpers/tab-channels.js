import { after, before } from 'node:test'

/** The browser's parts that tabs share, without a browser: messages between tabs arrive at once. */

/** @type {Set<Channel>} */
const channels = new Set()

class Channel {
  /** @type {(message: { data: any }) => void} */
  onmessage = () => {}
  /** @param {string} name */
  constructor (name) {
    this.name = name
    channels.add(this)
  }

  /** @param {any} data */
  postMessage (data) {
    for (const other of channels) if (other !== this && other.name === this.name) other.onmessage({ data })
  }

  close () { channels.delete(this) }
}

/** Locks of tabs, as of `navigator.locks`. */
export class TabLocks {
  /** Grants, the first one is that of the holder. @type {Map<string, (() => void)[]>} */
  #queues = new Map()

  /** Number of locks that are held. */
  get held () { return [...this.#queues.values()].filter(({ length }) => length > 0).length }

  /** @param {string} name @param {{ signal: AbortSignal }} options @param {() => unknown} hold */
  async request (name, { signal }, hold) {
    const queue = this.#queues.get(name) ?? []
    this.#queues.set(name, queue)
    await new Promise((resolve, reject) => {
      const grant = () => resolve(undefined)
      if (queue.push(grant) === 1) grant()
      signal.addEventListener('abort', () => {
        if (queue.indexOf(grant) > 0) reject(queue.splice(queue.indexOf(grant), 1))
      })
    })
    try {
      await hold()
    } finally {
      queue.shift()
      queue[0]?.()
    }
  }
}

/**
 * For the tests of a suite.
 * @param {{ request: (...args: any[]) => Promise<unknown> }} [locks] default: the lock of a tab that is open is never
 *   granted
 */
export function replaceTabChannels (locks = { request: () => new Promise(() => {}) }) {
  const window = new EventTarget()
  const page = {
    BroadcastChannel: Channel,
    navigator: { locks },
    document: {},
    addEventListener: window.addEventListener.bind(window),
    removeEventListener: window.removeEventListener.bind(window),
    dispatchEvent: window.dispatchEvent.bind(window)
  }
  const own = Object.keys(page).map((name) => /** @type {const} */ ([
    name, Object.getOwnPropertyDescriptor(globalThis, name)
  ]))
  before(() => {
    for (const [name, value] of Object.entries(page))
      Object.defineProperty(globalThis, name, { value, configurable: true })
  })
  after(() => {
    for (const [name, descriptor] of own)
      if (descriptor) Object.defineProperty(globalThis, name, descriptor)
      else delete (/** @type {any} */ (globalThis)[name])
  })
}

/** The tab's end of its channel. @param {string} name */
export function listenAsTab (name) {
  const channel = new Channel(name)
  /** @type {any[]} */
  const got = []
  channel.onmessage = ({ data }) => { got.push(data) }
  return { got, post: (/** @type {any} */ data) => channel.postMessage(data), close: () => channel.close() }
}
