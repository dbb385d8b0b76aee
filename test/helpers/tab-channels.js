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

/** For the tests of a suite; a lock of a tab that is open is never granted. */
export function replaceTabChannels () {
  const own = ['BroadcastChannel', 'navigator'].map((name) => /** @type {const} */ ([
    name, Object.getOwnPropertyDescriptor(globalThis, name)
  ]))
  before(() => {
    const locks = { request: () => new Promise(() => {}) }
    for (const [name, value] of [['BroadcastChannel', Channel], ['navigator', { locks }]])
      Object.defineProperty(globalThis, String(name), { value, configurable: true })
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
