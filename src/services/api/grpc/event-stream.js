import { InkcastError } from '../../../base/common/errors.js'

/**
 * One stream of Events: batches of the uplink go to the client, and the next batch of a part comes when the client has
 * acknowledged the one before.
 *
 * @typedef {object} Delivery as the senders of webhooks have it
 * @property {(entries: import('../../uplink/stream/contract.js').StreamEntry[], options: { signal: AbortSignal }) =>
 *   Promise<void>} deliver
 * @property {false} failing
 *
 * @callback OpenEvents
 * @param {string} group
 * @param {Delivery} delivery
 * @returns {{ start: () => Promise<void>, stop: () => Promise<void> }}
 * @throws {InkcastError} bad_request: there is no such group
 *
 * @param {import('./call.js').Call} call
 * @param {object} dependencies
 * @param {OpenEvents} dependencies.open
 * @param {(group: string) => void} dependencies.admit throws when the caller may not read events of the group
 * @param {AbortSignal} dependencies.signal ends the stream
 * @param {Pick<import('../../../base/common/random.js').Random, 'uuid'>} dependencies.random
 */
export async function serveEvents (call, { open, admit, signal, random }) {
  /** Batches that the client has not acknowledged. @type {Map<string, () => void>} */
  const waiting = new Map()
  const ended = new AbortController()
  let ownGroup = ''
  /** @type {{ start: () => Promise<void>, stop: () => Promise<void> } | undefined} */
  let source
  /** @type {unknown} */
  let failure
  const end = (/** @type {unknown} */ error) => {
    failure ??= error
    ended.abort(new InkcastError('unavailable', 'the stream has ended'))
  }

  /** @type {Delivery} */
  const delivery = {
    failing: false,
    deliver: (entries, { signal: given }) => new Promise((resolve, reject) => {
      try { admit(ownGroup) } catch (error) { end(error) }
      // cannot be guessed: a client acknowledges only what it has read
      const batch = random.uuid()
      const signals = [given, ended.signal]
      const done = () => {
        waiting.delete(batch)
        for (const one of signals) one.removeEventListener('abort', stop)
      }
      function stop () {
        done()
        reject(signals.find(({ aborted }) => aborted)?.reason)
      }
      if (signals.some(({ aborted }) => aborted)) return stop()
      for (const one of signals) one.addEventListener('abort', stop)
      waiting.set(batch, () => {
        done()
        resolve()
      })
      call.write({ batch, events: entries.map(eventOf) })
    })
  }

  call.on('message', (/** @type {{ group?: string, done?: string }} */ { group, done }) => {
    if (source === undefined) {
      try {
        if (group === undefined) throw new InkcastError('bad_request', 'the first message names the group')
        admit(group)
        ownGroup = group
        source = open(group, delivery)
        source.start().catch(end)
      } catch (error) { end(error) }
    } else if (done !== undefined) waiting.get(done)?.()
  })
  for (const event of ['end', 'close']) call.on(event, () => end(undefined))
  const leave = () => end(signal.reason)
  signal.addEventListener('abort', leave)
  if (signal.aborted) leave()
  if (!ended.signal.aborted) await new Promise((resolve) => { ended.signal.addEventListener('abort', resolve) })
  signal.removeEventListener('abort', leave)
  await source?.stop()
  if (failure !== undefined) throw failure
}

/** @param {import('../../uplink/stream/contract.js').StreamEntry} entry */
const eventOf = ({ id, source, sequence, record: { queue, ...record } }) =>
  ({ id, source, sequence, ...record, queue: queue?.id, seq: queue?.number })
