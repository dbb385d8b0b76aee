import { InkcastError, publicError } from '../../base/common/errors.js'
import { targetOf } from '../../base/process/request-target.js'
import { isId } from '../../wire/publication.js'

/**
 * `GET /inspect?guid=…` (or `uid`, or `trace`) on a process's private listener: a watch for as long as the request is
 * open, and what all processes see of it, a line of JSON per event. docs/status.md
 *
 * @typedef {import('./contract.js').Watch} Watch
 */

/** Between two announcements, ms. */
const ANNOUNCE_EVERY = 3000
/** Announcements between two lines that keep a silent connection open. */
const ALIVE_EVERY = 4
/** A watch ends by itself this long after its last announcement, ms. */
const LEASE = 10_000
/** Bytes that may wait for a slow reader; events above it are left out, and counted. */
const MAX_WAITING = 2 ** 20
/** Query parameters, and what they are in a watch. */
const KINDS = /** @type {const} */ ({ guid: 'guid', uid: 'uid', trace: 'traceId' })

/**
 * @param {object} dependencies
 * @param {import('./contract.js').InspectTransport} dependencies.transport
 * @param {Pick<import('./inspector.js').Inspector, 'full'>} dependencies.inspector of this process
 * @param {import('../../base/common/log.js').Log} dependencies.log
 * @param {Pick<import('../../base/common/clock.js').Clock, 'every'>} dependencies.clock
 * @param {Pick<import('../../base/common/random.js').Random, 'bytes'>} dependencies.random
 */
export function createInspectFeed ({ transport, inspector, log, clock, random }) {
  /** @type {Set<() => void>} */
  const open = new Set()

  /**
   * @param {import('http').IncomingMessage} req
   * @param {import('http').ServerResponse} res
   */
  async function serve (req, res) {
    const watch = watchOf(targetOf(req)?.query ?? new URLSearchParams(), random)
    if (inspector.full) throw new InkcastError('rate_limited', 'as many watches are open as are allowed')
    let leftOut = 0
    let announced = 0
    let ended = false
    let unfollow = () => {}
    /** @param {object} event */
    const write = (event) => { res.write(`${JSON.stringify(event)}\n`) }
    /** @param {number} lease */
    const announce = (lease) =>
      transport.announce({ ...watch, lease }).catch((error) => log.debug({ err: error }, 'a watch could not be announced'))
    const timer = clock.every(ANNOUNCE_EVERY, () => {
      if (!res.headersSent) return
      announce(LEASE)
      if (++announced % ALIVE_EVERY === 0) write({ hop: 'alive' })
      if (leftOut === 0 || res.writableLength >= MAX_WAITING) return
      write({ hop: 'left_out', count: leftOut, reason: 'slow_reader' })
      leftOut = 0
    })
    const end = () => {
      if (ended) return
      ended = true
      open.delete(end)
      timer.stop()
      unfollow()
      if (res.headersSent) announce(0)
      res.end()
    }
    res.on('close', end)
    open.add(end)
    try {
      unfollow = await transport.follow(watch.id, ({ process, host, events }) => {
        if (ended) return
        for (const event of events) {
          if (res.writableLength < MAX_WAITING) write({ ...event, process, host })
          else leftOut++
        }
      })
    } catch (error) {
      timer.stop()
      open.delete(end)
      throw error
    }
    if (ended) return void unfollow()
    res.writeHead(200, { 'content-type': 'application/x-ndjson', 'cache-control': 'no-store' })
    res.flushHeaders()
    await announce(LEASE)
  }

  return {
    /** @param {import('http').IncomingMessage} req @param {import('http').ServerResponse} res */
    handle (req, res) {
      serve(req, res).catch((error) => {
        if (res.headersSent) return void res.destroy()
        const status = error instanceof InkcastError ? error.status : 503
        res
          .writeHead(status, { 'content-type': 'application/json' })
          .end(JSON.stringify({ ok: false, error: publicError(error) }))
      })
    },
    /** Ends all watches. */
    stop () { for (const end of [...open]) end() }
  }
}

/**
 * @param {URLSearchParams} query
 * @param {Pick<import('../../base/common/random.js').Random, 'bytes'>} random
 * @returns {Watch}
 * @throws {InkcastError} bad_request
 */
function watchOf (query, random) {
  const given = Object.keys(KINDS).filter((name) => query.has(name))
  const id = query.get(given[0])
  if (given.length !== 1 || !isId(id))
    throw new InkcastError('bad_request', 'one of guid, uid and trace is needed, with the id to watch')
  const kind = KINDS[/** @type {keyof typeof KINDS} */ (given[0])]
  return { id: random.bytes(12).toString('base64url'), [kind]: id, lease: LEASE }
}
