import { publicError } from '../../../base/common/errors.js'
import { entryOf, MAX_PER_LANE } from '../operations/batch.js'
import { itemFrom } from './messages.js'

/** Publications and bytes of values in progress, at most. */
const WINDOW = Object.freeze({ publications: 1024, bytes: 4 * 2 ** 20 })

/**
 * @typedef {object} Slot
 * @property {object} [result] for the client, once it is known
 * @property {number} bytes
 *
 * @typedef {Pick<import('../operations/operation.js').Call, 'caller' | 'admit' | 'refused'> & { owes: () => number }}
 *   Account of the caller; owes: ms for which the caller may not be read
 *
 * @typedef {object} Parts
 * @property {Account} account
 * @property {import('../publish-lane.js').PublishLane} publishLane
 * @property {() => number} maxBytes of values in progress, at most
 * @property {(change: number) => void} onInProgress
 * @property {import('../../../base/common/clock.js').Clock} clock
 * @property {import('../../../wire/headers.js').TraceIdSource} random
 */

/**
 * One PublishStream. Publications of a lane are published one call after the other, and those that come during a call
 * go into the next one together. Reading stops while `WINDOW` is in progress or the client reads no results, so a slow
 * Kafka or Redis is felt by the client as flow control.
 */
export class PublishStream {
  #call
  #signal
  #parts
  /** In the order of the publications. @type {Slot[]} */
  #slots = []
  #bytes = 0
  /** The client does not read results. */
  #blocked = false
  #inDebt = false
  /** Nothing more is read; it is over when all slots are answered. */
  #ended = false
  /** @type {Error | undefined} */
  #failure
  /** @type {Map<string, { slot: Slot, publication: any }[]>} publications that wait for their lane's turn */
  #lanes = new Map()
  #finish = () => {}

  /** @param {import('./call.js').Call} call @param {AbortSignal} signal ends it @param {Parts} parts */
  constructor (call, signal, parts) {
    this.#call = call
    this.#signal = signal
    this.#parts = parts
  }

  /**
   * @returns {Promise<void>} resolves when everything that was read is answered; rejects with what ends the stream:
   *   unauthorized, token_expired
   */
  async serve () {
    const finished = /** @type {Promise<void>} */ (new Promise((resolve) => { this.#finish = () => resolve() }))
    const end = () => this.#end()
    this.#call.on('arrived', () => { this.#payDebt() })
    this.#call.on('message', (/** @type {{ publications?: any[] }} */ { publications = [] }) => this.#take(publications))
    this.#call.on('end', end)
    this.#call.on('close', end)
    this.#signal.addEventListener('abort', end)
    if (this.#signal.aborted) end()
    await finished
    this.#signal.removeEventListener('abort', end)
    if (this.#failure !== undefined) throw this.#failure
  }

  /** @param {any[]} publications of one message */
  #take (publications) {
    const { account, onInProgress, clock, random } = this.#parts
    if (publications.length === 0) account.refused()
    /** @type {string[]} */
    const begun = []
    const parts = { ...account, now: clock.now(), random }
    onInProgress(publications.length)
    for (const publication of publications) {
      const one = itemFrom(publication)
      const slot = { bytes: one.value?.length ?? 0 }
      this.#bytes += slot.bytes
      this.#slots.push(slot)
      const entry = entryOf(one, parts)
      const waiting = this.#lanes.get(entry.lane)
      if (waiting !== undefined) waiting.push({ slot, publication: entry.publication })
      else {
        this.#lanes.set(entry.lane, [{ slot, publication: entry.publication }])
        begun.push(entry.lane)
      }
    }
    for (const lane of begun) this.#publish(lane)
    this.#payDebt()
    this.#flow()
  }

  /** @param {string} lane */
  async #publish (lane) {
    const waiting = /** @type {{ slot: Slot, publication: any }[]} */ (this.#lanes.get(lane))
    while (waiting.length > 0) {
      const chunk = waiting.splice(0, MAX_PER_LANE)
      const results = await this.#parts.publishLane(chunk.map(({ publication }) => publication))
      for (const [i, result] of results.entries()) {
        const error = result instanceof Error ? publicError(result) : undefined
        chunk[i].slot.result = error === undefined ? { ok: true, ...result } : { ok: false, error }
        if (error?.code === 'unauthorized' || error?.code === 'token_expired')
          this.#failure ??= /** @type {Error} */ (result)
      }
      this.#answer()
      if (this.#failure !== undefined) this.#end()
    }
    this.#lanes.delete(lane)
  }

  /** Sends the results that are known, up to the first that is not. */
  #answer () {
    const slots = this.#slots
    let known = 0
    while (known < slots.length && slots[known].result !== undefined) this.#bytes -= slots[known++].bytes
    if (known === 0) return
    const done = slots.slice(0, known)
    this.#slots = slots.slice(known)
    this.#parts.onInProgress(-known)
    const room = this.#call.write({ results: done.map(({ result }) => result) })
    if (!room && !this.#blocked) {
      this.#blocked = true
      this.#call.once('drain', () => {
        this.#blocked = false
        this.#flow()
      })
    }
    this.#flow()
    if (this.#ended && this.#slots.length === 0) this.#finish()
  }

  #flow () {
    if (this.#ended) return
    const { publications, bytes } = WINDOW
    const full = this.#slots.length >= publications || this.#bytes >= Math.min(bytes, this.#parts.maxBytes())
    if (this.#blocked || full || this.#inDebt) this.#call.pause()
    else this.#call.resume()
  }

  /** Stops reading until the refusals of the caller are paid, also those of its other streams. */
  async #payDebt () {
    const { account, clock } = this.#parts
    const ms = account.owes()
    if (this.#inDebt || ms === 0 || this.#ended) return
    this.#inDebt = true
    this.#call.pause()
    await clock.sleep(ms, this.#signal).catch(() => {})
    this.#inDebt = false
    this.#flow()
  }

  #end () {
    this.#ended = true
    this.#call.pause()
    if (this.#slots.length === 0) this.#finish()
  }
}
