import { applyEvent, createDocument, isDocumentEvent, Refusal } from './document.js'

/**
 * Between the uplink and the documents: does what clients asked for, in order, and tells everyone.
 *
 * What makes it safe to stop at any point, and to get the same records again after that:
 *   1. a document is saved together with what is to be published about it (`outbox`) and how far the uplink was read
 *     for it (`read`), before anything is published;
 *   2. what is in the outbox is published under a key that was saved with it, so that trying again publishes it once
 *      (inkcast's Idempotency-Key);
 *   3. the uplink is committed only after that.
 *
 * @typedef {import('./document.js').SheetDocument} SheetDocument
 *
 * @typedef {object} Stored
 * @property {SheetDocument} document
 * @property {Outgoing[]} outbox saved, and perhaps not published yet
 * @property {Record<string, number>} read the last sequence that was done, by source
 *
 * @typedef {object} UplinkMessage
 * @property {string} guid
 * @property {string} event
 * @property {string} uid who sent it, from the gateway
 * @property {string} sid its connection
 * @property {string} traceId
 * @property {number} timestamp ms since 1970
 * @property {Uint8Array} value
 * @property {(value: Uint8Array) => unknown} decode throws if it can't be read
 * @property {{ source: string, sequence: number }} [origin] where it came from, if it may come again; sequences of a
 *   source grow
 *
 * @typedef {object} Outgoing
 * @property {{ guid: string } | { sid: string }} to everyone who has a document open, or one connection
 * @property {string} event
 * @property {object} value
 * @property {string} key publishing it twice under this key publishes it once
 * @property {string} traceId
 * @property {number} timestamp ms since 1970
 *
 * @typedef {object} Store
 * @property {(guid: string) => Promise<Stored | null>} load
 * @property {(guid: string, stored: Stored) => Promise<void>} save
 */

/** Documents of which it is remembered what was published; of the others the last is published again, under its key. */
const REMEMBERED = 10_000

/**
 * @param {object} dependencies
 * @param {Store} dependencies.store
 * @param {(outgoing: Outgoing) => Promise<void>} dependencies.publish resolves when it is published; tries again by
 *   itself, rejects when that is of no use
 * @param {() => string} dependencies.newKey
 */
export function createService ({ store, publish, newKey }) {
  /** @type {Map<string, string>} the last key that was published by this process, by document */
  const published = new Map()
  /** @type {Map<string, Promise<unknown>>} the last piece of work of each document that has some */
  const working = new Map()

  /**
   * One piece of work per document at a time, in order.
   * @template T
   * @param {string} guid
   * @param {() => Promise<T>} work
   * @returns {Promise<T>}
   */
  function inTurn (guid, work) {
    const mine = (working.get(guid) ?? Promise.resolve()).then(work, work)
    working.set(guid, mine)
    const done = () => { if (working.get(guid) === mine) working.delete(guid) }
    mine.then(done, done)
    return mine
  }

  /**
   * @param {string} guid
   * @returns {Promise<Stored>}
   */
  const load = async (guid) => await store.load(guid) ?? { document: createDocument(), outbox: [], read: {} }

  /**
   * What was published is not saved: that would be a second write for each change, and whatever is published again has
   * its key.
   * @param {string} guid
   * @param {Stored} stored
   */
  async function publishOutbox (guid, { outbox }) {
    const last = outbox.at(-1)?.key
    if (last === undefined || published.get(guid) === last) return
    for (const outgoing of outbox) await publish(outgoing)
    published.delete(guid)
    published.set(guid, last)
    if (published.size > REMEMBERED) published.delete(published.keys().next().value ?? '')
  }

  /**
   * Changes of one call are published as one record: while it is on its way the next ones gather.
   * @param {string} guid
   * @param {UplinkMessage[]} messages
   */
  async function work (guid, messages) {
    const stored = await load(guid)
    // what an earlier life of this process may have left
    await publishOutbox(guid, stored)
    stored.outbox = []
    const changes = []
    for (const { origin, event, uid, sid, traceId, timestamp, value, decode } of messages) {
      if (origin !== undefined) {
        if (origin.sequence <= (stored.read[origin.source] ?? -1)) continue
        stored.read[origin.source] = origin.sequence
      }
      try {
        changes.push(applyEvent(stored.document, { event, data: decoded(value, decode), uid, traceId, timestamp }))
      } catch (error) {
        if (!(error instanceof Refusal)) throw error
        const { code, message, id } = error
        stored.outbox.push({
          to: { sid },
          event: 'sheet:refused',
          value: { guid, id, code, message },
          key: newKey(),
          traceId,
          timestamp
        })
      }
    }
    if (changes.length > 0) {
      const { traceId, timestamp } = messages[messages.length - 1]
      stored.outbox.unshift({
        to: { guid },
        event: 'sheet:changes',
        value: { changes },
        key: newKey(),
        traceId,
        timestamp
      })
    }
    if (stored.outbox.length === 0) return
    await store.save(guid, stored)
    await publishOutbox(guid, stored)
  }

  return {
    /**
     * @param {UplinkMessage[]} messages in their order; those that are not for documents are passed over
     * @returns {Promise<void>} resolves when all of it is saved and published
     */
    async receive (messages) {
      /** @type {Map<string, UplinkMessage[]>} */
      const byDocument = new Map()
      for (const message of messages) {
        if (!isDocumentEvent(message.event)) continue
        const own = byDocument.get(message.guid)
        if (own === undefined) byDocument.set(message.guid, [message])
        else own.push(message)
      }
      await Promise.all(Array.from(byDocument, ([guid, own]) => inTurn(guid, () => work(guid, own))))
    },

    /**
     * The document as it is now. What it was told of meanwhile may not be published yet; who reads the position of the
     * log **before** this has in the document whatever the log had then.
     *
     * @param {string} guid
     * @returns {Promise<SheetDocument>}
     */
    read: async (guid) => structuredClone((await load(guid)).document)
  }
}

/** @param {Uint8Array} value @param {(value: Uint8Array) => unknown} decode @throws {Refusal} */
function decoded (value, decode) {
  try {
    return decode(value)
  } catch {
    throw new Refusal('bad_data', 'the data cannot be read')
  }
}
