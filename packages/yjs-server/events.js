import { decode } from '@msgpack/msgpack'
import { LOAD, UPDATE } from './document.js'

/** A part of an update that is too large for one record. */
const PART = 'yjs:part'
/** Tells the page that its update was refused. */
const REFUSED = 'yjs:refused'
/** Documents of one request that are stored at the same time. */
const CONCURRENCY = 8

/**
 * @typedef {Record<string, any>} CloudEvent docs/webhooks.md
 * @typedef {Record<string, unknown>} Publication docs/api.md
 */

/** Takes the events of the gateway: stores updates, and returns what is to be published. */
export class Events {
  #parts

  /**
   * @param {object} parts
   * @param {import('./documents.js').Documents} parts.documents
   * @param {import('./hook.js').Check} parts.check
   * @param {import('./figures.js').Figures} parts.figures
   */
  constructor (parts) { this.#parts = parts }

  /**
   * @param {CloudEvent[]} events of one part, in their order
   * @returns {Promise<Publication[]>} rejects if one of them cannot be stored now
   */
  async take (events) {
    /** @type {Map<string, { event: CloudEvent, index: number }[]>} */
    const byDocument = new Map()
    events.forEach((event, index) => {
      if (event.operator !== 'message') return
      const list = byDocument.get(event.guid) ?? []
      list.push({ event, index })
      byDocument.set(event.guid, list)
    })
    /** @type {Publication[][]} */
    const publications = events.map(() => [])
    const waiting = [...byDocument]
    await Promise.all(Array.from({ length: CONCURRENCY }, async () => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        const [guid, list] = next
        const answers = await this.#takeOf(guid, list.map(({ event }) => event))
        list.forEach(({ index }, i) => { publications[index] = answers[i] })
      }
    }))
    return publications.flat()
  }

  /** @param {string} guid @param {CloudEvent[]} events @returns {Promise<Publication[][]>} one list for each */
  async #takeOf (guid, events) {
    const { check, documents, figures } = this.#parts
    const wanted = events.map((event) => {
      const payload = payloadOf(event)
      if (payload === null) return null
      const kind = /** @type {'update' | 'part'} */ (event.event === PART ? 'part' : 'update')
      return {
        // a topic that was made again counts from 0 again
        id: `${event.id}/${event.time}`, kind, payload,
        check: (/** @type {Uint8Array} */ update, /** @type {number} */ documentBytes) => check({
          guid, uid: event.uid ?? null, sid: event.sid, event: event.event, update, documentBytes
        })
      }
    })
    const incoming = wanted.filter((one) => one !== null)
    const outcomes = incoming.length === 0 ? [] : await documents.use(guid).add(incoming)
    let next = 0
    return events.map((event, i) => {
      if (wanted[i] === null) return isOurs(event) ? [refused(event, 'it is no Yjs update')] : [published(event)]
      const outcome = outcomes[next++]
      if (!outcome.stored) {
        figures.count('refused')
        return [refused(event, outcome.reason)]
      }
      figures.count('updates')
      const answers = []
      if (wanted[i].kind === 'update') answers.push(published(event))
      if (outcome.isWhole) answers.push({ guid, event: LOAD, value: null, idempotencyKey: keyOf(event) })
      // the page that sent it has what is missing
      if (outcome.isIncomplete) answers.push(toSender(event, LOAD, { guid }, 'load'))
      return answers
    })
  }
}

/** @param {CloudEvent} event */
const isOurs = ({ event }) => event === UPDATE || event === PART

/** @param {CloudEvent} event @returns {Uint8Array | null} the update, or a part as msgpack; null: neither */
function payloadOf (event) {
  if (!isOurs(event) || typeof event.data_base64 !== 'string') return null
  const bytes = Buffer.from(event.data_base64, 'base64')
  if (event.event === PART) return bytes
  try {
    const update = decode(bytes)
    return update instanceof Uint8Array ? update : null
  } catch {
    return null
  }
}

/** @param {CloudEvent} event @returns {string} the same one for the same edit */
const keyOf = ({ id, queue, seq }) => queue === undefined ? id : `${queue}-${seq}`

/** @param {CloudEvent} event as it came @returns {Publication} */
function published (event) {
  const { guid, traceid, traceparent, time } = event
  return {
    guid,
    event: event.event,
    ...event.data_base64 === undefined
      ? { value: event.data ?? null }
      : { valueBase64: event.data_base64, contentType: event.datacontenttype },
    ...(traceid !== undefined && { traceId: traceid }),
    ...(traceparent !== undefined && { traceparent }),
    ...(time !== undefined && { timestamp: Date.parse(time) }),
    idempotencyKey: keyOf(event)
  }
}

/** @param {CloudEvent} event @param {string} reason */
const refused = (event, reason) => toSender(event, REFUSED, { guid: event.guid, reason }, 'refused')

/** @param {CloudEvent} event @param {string} name @param {object} value @param {string} suffix of the key */
const toSender = (event, name, value, suffix) =>
  ({ operator: 'socket', sid: event.sid, event: name, value, idempotencyKey: `${keyOf(event)}-${suffix}` })
