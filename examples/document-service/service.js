import { applyEvent, createDocument, isDocumentEvent, Refusal } from './document.js'

/**
 * Connects the uplink with the documents: carries out the requests of clients in order, and publishes the changes.
 *
 * Why it is safe to stop at any point, and to receive the same records again after that:
 *   1. a document is saved together with the records to publish about it (`outbox`) and the uplink's progress (`read`),
 *     before anything is published;
 *   2. records of the outbox are published under a key that was saved with them, so that a retry publishes them once
 *     (inkcast's Idempotency-Key);
 *   3. the uplink is committed only after that.
 *
 * @typedef {import('./document.js').SheetDocument} SheetDocument
 *
 * @typedef {object} Stored
 * @property {SheetDocument} document
 * @property {Outgoing[]} outbox saved, and possibly not published yet
 * @property {Record<string, number>} read the last sequence that is done, by source
 *
 * @typedef {object} UplinkMessage
 * @property {string} guid
 * @property {string} event
 * @property {string} uid sender, from the gateway
 * @property {string} sid its connection
 * @property {string} traceId
 * @property {number} timestamp ms since 1970
 * @property {Uint8Array} value
 * @property {(value: Uint8Array) => unknown} decode throws if it cannot be read
 * @property {{ source: string, sequence: number }} [queued] its place in the client's queue, if it has one: an edit
 *   whose answer was lost may come twice
 * @property {{ source: string, sequence: number }} [origin] where it came from, if it may be delivered again; sequences
 *   of a source increase
 *
 * @typedef {object} Outgoing
 * @property {{ guid: string } | { sid: string }} to everyone who has a document open, or one connection
 * @property {string} event
 * @property {object} value
 * @property {string} key a record that is published twice under this key is published once
 * @property {string} traceId
 * @property {number} timestamp ms since 1970
 *
 * @typedef {object} Store
 * @property {(guid: string) => Promise<Stored | null>} load
 * @property {(guid: string, stored: Stored) => Promise<void>} save
 */

/** Queues of clients whose last edit is remembered for each document. */
const MAX_QUEUES = 1000
/** Documents whose last published key is remembered; for others the last record is published again, under its key. */
const REMEMBERED = 10_000

/**
 * @param {object} dependencies
 * @param {Store} dependencies.store
 * @param {(outgoing: Outgoing) => Promise<void>} dependencies.publish resolves when it is published; retries by itself,
 *   and rejects when retries are useless
 * @param {() => string} dependencies.newKey
 */
export function createService ({ store, publish, newKey }) {
  /** @type {Map<string, string>} the last key that was published by this process, by document */
  const published = new Map()
  /** @type {Map<string, Promise<unknown>>} the last queued task, by document */
  const working = new Map()

  /**
   * Runs one task per document at a time, in order.
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
   * Publishes the outbox, and does not save that it is published: that would be a second write for each change, and a
   * record that is published again has its key.
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
   * Changes of one call are published as one record; later ones collect during the publication.
   * @param {string} guid
   * @param {UplinkMessage[]} messages
   */
  async function work (guid, messages) {
    const stored = await load(guid)
    // a crash may have left an unpublished outbox
    await publishOutbox(guid, stored)
    stored.outbox = []
    const changes = []
    for (const { origin, queued, event, uid, sid, traceId, timestamp, value, decode } of messages) {
      if (origin !== undefined) {
        if (origin.sequence <= (stored.read[origin.source] ?? -1)) continue
        stored.read[origin.source] = origin.sequence
      }
      if (queued !== undefined) {
        if (queued.sequence <= (stored.read[queued.source] ?? 0)) continue
        noteQueued(stored.read, queued)
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
     * @param {UplinkMessage[]} messages in their order; messages for other documents are skipped
     * @returns {Promise<void>} resolves when all are saved and published
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
     * The current document. Its latest changes may not be published yet. A caller that reads the position of the log
     * **before** this call has all records up to that position in the document.
     *
     * @param {string} guid
     * @returns {Promise<SheetDocument>}
     */
    read: async (guid) => structuredClone((await load(guid)).document)
  }
}

/**
 * @param {Stored['read']} read
 * @param {{ source: string, sequence: number }} queued its source begins with `queue `
 */
function noteQueued (read, { source, sequence }) {
  // the least recently used queue first: its client has no unanswered edit
  delete read[source]
  read[source] = sequence
  const queues = Object.keys(read).filter((name) => name.startsWith('queue '))
  if (queues.length > MAX_QUEUES) delete read[queues[0]]
}

/** @param {Uint8Array} value @param {(value: Uint8Array) => unknown} decode @throws {Refusal} */
function decoded (value, decode) {
  try {
    return decode(value)
  } catch {
    throw new Refusal('bad_data', 'the data cannot be read')
  }
}
