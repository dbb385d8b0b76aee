import { publicError } from '../../../base/common/errors.js'
import { entryOf, MAX_PER_LANE } from '../operations/batch.js'
import { itemFrom } from './messages.js'

/**
 * One PublishStream. Publications of a lane are published one call after the other, and those that come during a call
 * go into the next one together. Reading stops while `WINDOW` is in progress or the client reads no results, so a slow
 * Kafka or Redis is felt by the client as flow control.
 */
const WINDOW = Object.freeze({ publications: 1024, bytes: 4 * 2 ** 20 })

/**
 * @typedef {object} Slot
 * @property {object} [result] for the client, once it is known
 * @property {number} bytes
 *
 * @param {import('./call.js').Call} call
 * @param {object} dependencies
 * @param {string} dependencies.caller its name
 * @param {import('../operations/operation.js').Call['admit']} dependencies.admit
 * @param {import('../operations/operation.js').Call['refused']} dependencies.refused
 * @param {import('../publish-lane.js').PublishLane} dependencies.publishLane
 * @param {() => number} dependencies.owes ms for which the caller may not be read
 * @param {import('../../../base/common/clock.js').Clock} dependencies.clock
 * @param {import('../../../wire/headers.js').TraceIdSource} dependencies.random
 * @param {AbortSignal} dependencies.signal ends the stream, with the reason
 * @param {() => number} dependencies.maxBytes of values in progress, at most
 * @param {(change: number) => void} dependencies.onInProgress
 * @returns {Promise<void>} resolves when everything that was read is answered; rejects with what ends the stream:
 *   unauthorized, token_expired
 */
export async function servePublishStream (call, {
  caller, admit, refused, owes, publishLane, clock, random, signal, maxBytes, onInProgress
}) {
  /** In the order of the publications. @type {Slot[]} */
  let slots = []
  let bytes = 0
  let blocked = false
  let ended = false
  let inDebt = false
  /** @type {Error | undefined} */
  let failure
  /** @type {Map<string, { slot: Slot, publication: any }[]>} publications that wait for their lane's turn */
  const lanes = new Map()
  let finish = () => {}
  const finished = /** @type {Promise<void>} */ (new Promise((resolve) => { finish = () => resolve() }))

  function end () {
    ended = true
    call.pause()
    if (slots.length === 0) finish()
  }

  function flow () {
    if (ended) return
    const full = slots.length >= WINDOW.publications || bytes >= Math.min(WINDOW.bytes, maxBytes())
    if (blocked || full || inDebt) call.pause()
    else call.resume()
  }

  /** Sends the results that are known, up to the first that is not. */
  function answer () {
    let known = 0
    while (known < slots.length && slots[known].result !== undefined) bytes -= slots[known++].bytes
    if (known === 0) return
    const done = slots.slice(0, known)
    slots = slots.slice(known)
    onInProgress(-known)
    const room = call.write({ results: done.map(({ result }) => result) })
    if (!room && !blocked) {
      blocked = true
      call.once('drain', () => {
        blocked = false
        flow()
      })
    }
    flow()
    if (ended && slots.length === 0) finish()
  }

  /** @param {string} lane */
  async function publish (lane) {
    const waiting = /** @type {{ slot: Slot, publication: any }[]} */ (lanes.get(lane))
    while (waiting.length > 0) {
      const chunk = waiting.splice(0, MAX_PER_LANE)
      const results = await publishLane(chunk.map(({ publication }) => publication))
      for (const [i, result] of results.entries()) {
        const error = result instanceof Error ? publicError(result) : undefined
        chunk[i].slot.result = error === undefined ? { ok: true, ...result } : { ok: false, error }
        if (error?.code === 'unauthorized' || error?.code === 'token_expired') failure ??= /** @type {Error} */ (result)
      }
      answer()
      if (failure !== undefined) end()
    }
    lanes.delete(lane)
  }

  /** Stops reading until the refusals of the caller are paid, also those of its other streams. */
  async function payDebt () {
    const ms = owes()
    if (inDebt || ms === 0 || ended) return
    inDebt = true
    call.pause()
    await clock.sleep(ms, signal).catch(() => {})
    inDebt = false
    flow()
  }

  call.on('arrived', payDebt)
  call.on('message', (/** @type {{ publications?: any[] }} */ { publications = [] }) => {
    if (publications.length === 0) refused()
    /** @type {string[]} */
    const begun = []
    const now = clock.now()
    onInProgress(publications.length)
    for (const publication of publications) {
      const one = itemFrom(publication)
      const slot = { bytes: one.value?.length ?? 0 }
      bytes += slot.bytes
      slots.push(slot)
      const entry = entryOf(one, { caller, now, random, admit, refused })
      const waiting = lanes.get(entry.lane)
      if (waiting !== undefined) waiting.push({ slot, publication: entry.publication })
      else {
        lanes.set(entry.lane, [{ slot, publication: entry.publication }])
        begun.push(entry.lane)
      }
    }
    for (const lane of begun) publish(lane)
    payDebt()
    flow()
  })
  call.on('end', end)
  call.on('close', end)
  signal.addEventListener('abort', end)
  if (signal.aborted) end()
  await finished
  signal.removeEventListener('abort', end)
  if (failure !== undefined) throw failure
}
