import { senderId } from './sender.js'

/** Maximum tabs of a connection; above it the one that opened a document longest ago gets records that exclude it. */
const MAX_TABS = 100

/**
 * The tabs of a browser that share a connection (docs/shared-tabs.md), by the client ids with which they open
 * documents. A record that excludes some of them is sent with their ids, and the client gives it to the others.
 */
export class Tabs {
  #identity
  /** Sender ids (sender.js) by client id, the oldest first. @type {Map<string, string>} */
  #senders = new Map()

  /** @param {Pick<import('../people/auth/identity.js').Identity, 'uid' | 'anonymous'>} identity of their user */
  constructor (identity) { this.#identity = identity }

  /** @param {string} client id of a tab */
  add (client) {
    this.#senders.delete(client)
    if (this.#senders.size >= MAX_TABS) this.#senders.delete([...this.#senders.keys()][0])
    this.#senders.set(client, senderId(this.#identity, client))
  }

  /** @param {string[]} except ids in a record @returns {{ except?: string[] }} a part of the record's meta */
  metaOf (except) {
    if (except.length === 0) return {}
    const tabs = [...this.#senders].filter(([client, sender]) => except.includes(client) || except.includes(sender))
    return tabs.length === 0 ? {} : { except: tabs.map(([client]) => client) }
  }
}
