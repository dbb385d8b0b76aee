import { eventOf } from './life-cycle-events.js'
import { errorIn } from './store-sync.js'
import { incarnationName } from '../workers/worker-watch.js'

/**
 * Cleans up after a worker that has ended: releases what it held, sends events to the business services for users,
 * members and documents without another holder, and deletes the worker's table of users the last time. Each step may
 * run twice: a repeated release changes nothing, and a confirmed event is not sent again.
 *
 * @typedef {import('./contract.js').HoldingChange} HoldingChange
 * @typedef {import('./life-cycle-events.js').Happening} Happening
 */

/** Interval at which a worker writes that its connections are open (registry.js), ms. */
const SEEN_EVERY = 15_000
/** Maximum number of events in progress at the uplink. */
const MAX_TELLING = 2000
/** The reason in events of sessions whose worker has not reported another one. */
const REASON = 'worker_gone'

/**
 * @param {object} dependencies
 * @param {import('./contract.js').SessionStore} dependencies.store
 * @param {Pick<import('../../log/publish/uplink.js').Uplink, 'send'>} dependencies.uplink
 * @param {import('../../base/common/log.js').Log} dependencies.log
 * @param {import('../../base/common/clock.js').Clock} dependencies.clock
 * @param {number} dependencies.silence time without a packet after which a connection is closed, ms
 * @param {import('../../wire/headers.js').TraceIdSource} dependencies.random
 * @returns {import('../workers/worker-watch.js').Clean} see WorkerWatch
 */
export function createCleaning ({ store, uplink, log, clock, random, silence }) {
  /** A connection was open for at most this time after its `lastSeen`, ms: if no worker was left to notice. */
  const unheard = silence + SEEN_EVERY

  /**
   * @param {string} name of the incarnation
   * @param {{ change: HoldingChange, happening: Happening }[]} entries its holdings
   * @returns {Promise<Error | undefined>} the first error of the store; it never holds back other entries
   * @throws the first error of the uplink, after confirming the events sent until then
   */
  async function letGo (name, entries) {
    /** @type {Error | undefined} */
    let missed
    let open = entries
    while (open.length > 0) {
      const answers = await store.hold(name, open.map(({ change }) => change))
      missed ??= errorIn(answers)
      const telling = open.flatMap((entry, i) => {
        const told = answers[i]
        return told === '' || told instanceof Error ? [] : [{ ...entry, told }]
      })
      open = []
      let failure
      for (let at = 0; at < telling.length && failure === undefined; at += MAX_TELLING) {
        const some = telling.slice(at, at + MAX_TELLING)
        const records = some.map(({ told, happening }) => eventOf(told, happening, random))
        const results = await Promise.allSettled(records.map((record) => record && uplink.send(record)))
        failure = results.find((result) => result.status === 'rejected')
        // another worker may hold it meanwhile: `hold` then returns the next event
        open.push(
          ...some.flatMap(({ change, happening, told }, i) =>
            results[i].status === 'rejected'
              ? []
              : [{ change: { ...change, op: /** @type {const} */ ('='), told }, happening }]
          )
        )
      }
      if (failure !== undefined) {
        await store.hold(name, open.map(({ change }) => change))
        throw failure.reason
      }
    }
    return missed
  }

  return async (number, incarnation, signal, isLast) => {
    const name = incarnationName(number, incarnation)
    const began = clock.now()
    const since = clock.monotonic()
    /** Bounded by the documents of one worker. @type {Set<string>} */
    const documents = new Set()
    let users = 0
    /** The first error: a node of Redis Cluster may be down for longer. @type {Error | undefined} */
    let missed
    const note = (/** @type {Error | undefined} */ error) => { missed ??= error }
    for await (const page of store.users(name)) {
      signal.throwIfAborted()
      /** @type {{ change: HoldingChange, happening: Happening }[]} */
      const entries = []
      for (const [uid, { sessions, away, end }] of page) {
        const last = sessions.at(-1)
        const ended = end ?? { sid: last?.sid, ...originOf(last), reason: REASON, at: last?.lastSeen ?? began }
        for (const guid of new Set([...sessions.flatMap((session) => session.documents), ...away])) {
          documents.add(guid)
          entries.push({ change: { uid, guid, op: '-', told: '' }, happening: { uid, guid, ...ended } })
        }
        entries.push({ change: { uid, op: '-', told: '' }, happening: { uid, ...ended } })
      }
      const failed = await store.ended(page.map(([uid, { sessions, end }]) =>
        [uid, end?.at ?? Math.min(began, Math.max(0, ...sessions.map(({ lastSeen }) => lastSeen)) + unheard)]))
      note(failed.values().next().value)
      users += page.length
      note(await letGo(name, entries))
    }
    // also those that the worker did not release, or report, after the row of their last user was gone
    for await (const page of store.held(name)) for (const guid of page) documents.add(guid)
    signal.throwIfAborted()
    note(await letGo(
      name,
      Array.from(documents, (guid) => ({
        change: { guid, op: /** @type {const} */ ('-'), told: /** @type {const} */ ('') },
        happening: { guid, at: began }
      }))
    ))
    if (missed !== undefined) throw missed
    if (isLast) return store.forget(name)
    log.info(
      { workerNumber: number, users, documents: documents.size, ms: Math.round(clock.monotonic() - since) },
      'cleaned up after an ended worker'
    )
  }
}

/** @param {import('./contract.js').Session} [session] @returns {import('./contract.js').Origin} */
const originOf = ({ client, listener } = /** @type {any} */ ({})) =>
  listener === undefined ? {} : { device: client, listener }
