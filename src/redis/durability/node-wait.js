import { Backoff } from '../../common/backoff.js'
import { InkcastError } from '../../common/errors.js'
import { unlessAborted, withTimeLimit } from '../../common/wait.js'
import { forgetPeriod, isConnected, periodOf } from './command-server.js'
import { explain, MODES, neverConfirms, NOT_CONNECTED, NotConfirmed } from './modes.js'
import { connectFor, versionOf } from './wait-connection.js'
import { identityIn } from '../identity/identity.js'

/**
 * Waits on one node of Redis until writes are safe. WAIT and WAITAOF block their connection and count its own writes
 * only, so they run on a connection of their own, after a write that follows the ones to confirm: replication and the
 * append-only file keep the order of all writes of a server. One call at a time; those that come meanwhile share the
 * next one.
 *
 * @typedef {import('./command-server.js').Period} Period
 *
 * @typedef {object} Waiter
 * @property {Period} period before its write
 * @property {readonly string[]} keys that it wrote
 * @property {(error?: InkcastError) => void} settle
 */

/** Writes that wait on a node at most; further ones are refused before they are made. */
const MAX_WAITING = 50_000
/** Pause between two tries while writes are not confirmed, ms; it grows. */
const PAUSE = { min: 100, max: 1000 }
/** After this number of failed tries the connection is opened again: the address may lead to another server now. */
const TRIES = 5

/**
 * @param {object} dependencies
 * @param {string} dependencies.nodeKey
 * @param {import('../topology.js').Topology} dependencies.topology
 * @param {string} dependencies.name of the process
 * @param {import('./modes.js').Mode} dependencies.mode
 * @param {number} dependencies.timeout ms
 * @param {import('./modes.js').DurabilityMetrics} dependencies.metrics
 * @param {import('../../common/log.js').Log} dependencies.log
 * @param {import('../../common/clock.js').Clock} dependencies.clock
 * @param {import('../../common/random.js').Random} dependencies.random
 */
export function createNodeWait ({ nodeKey, topology, name, mode, timeout, metrics, log, clock, random }) {
  const { wait, isDone, missing } = MODES[mode]
  const connection = connectFor({ nodeKey, topology, name: `${name}-wait`, timeout, clock, random })
  const stopping = new AbortController()
  /** Waiters for the next call, and all that are not settled. @type {Waiter[]} */
  let next = []
  let waiting = 0
  let running = false
  let probing = false
  /** Why writes are not confirmed. @type {string | null} */
  let trouble = null

  /** @param {string | null} reason */
  function setTrouble (reason) {
    if (reason !== null && trouble === null && !stopping.signal.aborted) {
      log.warn({ node: nodeKey, reason }, 'redis does not confirm writes, publications are refused')
      trouble = reason
      if (!probing) probe()
    } else if (reason === null && trouble !== null) {
      log.info({ node: nodeKey }, 'redis confirms writes again')
    }
    trouble = reason
  }

  /** Tries until Redis confirms a write. Never rejects. */
  async function probe () {
    probing = true
    const backoff = new Backoff({ ...PAUSE, random })
    while (trouble !== null && !stopping.signal.aborted) {
      await clock.sleep(backoff.next(), stopping.signal).catch(() => {})
      if (running || stopping.signal.aborted) continue
      if (backoff.tries % TRIES === 0) connection.reconnect()
      await run()
    }
    probing = false
  }

  /**
   * One write, and the wait for it.
   * @param {readonly Waiter[]} waiters
   * @returns {Promise<{ generation: string | undefined, moved: Set<string> }>} the generation after the wait, and keys
   *   that are on another node. Rejects with the reason why nothing is confirmed
   */
  async function confirm (waiters) {
    const client = await withTimeLimit(
      timeout, stopping.signal, (signal) => unlessAborted(connection.ready(), signal), clock
    )
    const marker = connection.marker()
    // all hash slots have moved away: there is nothing to confirm here
    if (marker === undefined) return { generation: undefined, moved: new Set() }
    const keys = topology.single ? [] : [...new Set(waiters.flatMap((waiter) => waiter.keys))]
    // in this order over one connection: the write, then what it stands for
    const calls = [
      client.set(marker, '1', 'EX', 60),
      wait(client, timeout),
      client.info('replication'),
      // a key that a hash slot's migration has moved, or written elsewhere, is answered with MOVED or ASK
      ...keys.map((key) => client.exists(key))
    ]
    const [written, waited, info, ...found] = await Promise.allSettled(calls)
    if (written.status === 'rejected') connection.markerFailed()
    for (const reply of [written, waited, info]) if (reply.status === 'rejected') throw reply.reason
    if (!isDone(/** @type {PromiseFulfilledResult<unknown>} */ (waited).value)) throw new NotConfirmed(mode)
    return {
      generation: identityIn(String(/** @type {PromiseFulfilledResult<unknown>} */ (info).value)).generation,
      moved: new Set(keys.filter((_, i) => found[i].status === 'rejected'))
    }
  }

  /** Calls until no write waits. Never rejects. */
  async function run () {
    running = true
    do {
      const waiters = next
      next = []
      try {
        const { generation, moved } = await confirm(waiters)
        setTrouble(null)
        /** @type {Set<import('ioredis').Redis>} */
        const others = new Set()
        for (const { period, keys, settle } of waiters) {
          const isSame = period.generation === generation
          settle(isSame && !keys.some((key) => moved.has(key)) ? undefined : unknown(FAILED_OVER))
          if (!isSame) others.add(period.client)
        }
        for (const client of others) await compare(client, generation)
      } catch (error) {
        const reason = explain(mode, error)
        setTrouble(reason)
        for (const { settle } of waiters) settle(unknown(reason))
      }
    } while (next.length > 0 && !stopping.signal.aborted)
    running = false
  }

  /**
   * After a failover the two connections may reach different servers, if an address has moved while the previous
   * server still runs. New connections reach the server that the address leads to.
   * @param {import('ioredis').Redis} client for commands
   * @param {string | undefined} generation of the server behind the connection that waits
   */
  async function compare (client, generation) {
    forgetPeriod(client)
    const now = await periodOf(client).catch(() => undefined)
    if (now === undefined || generation === undefined || now.generation === generation) return
    client.disconnect(true)
    connection.reconnect()
  }

  return {
    /** Why writes are not confirmed now; null: they are. */
    get trouble () { return trouble },

    /**
     * Connects, and tries once.
     * @throws {Error} with the fix in its message: this Redis can never confirm
     */
    async start () {
      try {
        await confirm([])
      } catch (error) {
        const problem = neverConfirms(mode, error, await versionOf(connection.client))
        if (problem !== undefined) throw new Error(problem, { cause: error })
        setTrouble(explain(mode, error))
      }
    },

    /**
     * @param {boolean} regardless also while writes are not confirmed
     * @returns {Promise<Period>} for `confirmed`. Rejects with `unavailable` when a write could not be confirmed now:
     *   it must not be made
     */
    async before (regardless) {
      const client = topology.commands(nodeKey)
      if (client === undefined) throw new InkcastError('unavailable', 'redis: a node of the cluster is gone')
      if (trouble !== null && !regardless) throw refused(trouble)
      if (waiting >= MAX_WAITING) throw refused('too many publications wait for Redis')
      return periodOf(client)
    },

    /**
     * Resolves when everything that was written before the call is safe.
     * @param {Period} period from `before`
     * @param {readonly string[]} keys that were written
     * @param {boolean} hasMoved one of them is on another node since `before`
     * @returns {Promise<void>} rejects with `timeout`: the write may be lost with this server
     */
    confirmed (period, keys, hasMoved) {
      const since = clock.monotonic()
      const isElsewhere = hasMoved || !isConnected(period)
      return new Promise((resolve, reject) => {
        waiting++
        metrics.write_waits_pending.inc()
        let settled = false
        /** @param {InkcastError} [error] */
        const settle = (error) => {
          if (settled) return
          settled = true
          waiting--
          timer.stop()
          metrics.write_waits_pending.dec()
          metrics.write_waits.inc({ result: error === undefined ? 'ok' : 'unknown' })
          metrics.write_wait_seconds.observe((clock.monotonic() - since) / 1000)
          if (error === undefined) resolve()
          else reject(error)
        }
        const giveUp = () => {
          if (settled) return
          const reason = connection.client !== undefined ? missing : NOT_CONNECTED
          // now, not when the call ends: Redis may answer up to 100 ms late, and who sends again at once is refused
          setTrouble(reason)
          settle(unknown(reason))
        }
        // if this process was late itself, the answer may be there, and is read first
        const timer = clock.timer(timeout, () => { clock.soon(giveUp) })
        if (isElsewhere) return settle(unknown(FAILED_OVER))
        if (stopping.signal.aborted) return settle(unknown('stopped'))
        next.push({ period, keys, settle })
        if (!running) run()
      })
    },

    /** To be called when the connection for commands was opened again, perhaps to another server. */
    follow () { connection.reconnect() },

    stop () {
      stopping.abort(new InkcastError('unavailable', 'stopped'))
      for (const { settle } of next.splice(0)) settle(unknown('stopped'))
      connection.close()
    }
  }

  /** @param {string} reason */
  function refused (reason) {
    metrics.write_waits.inc({ result: 'refused' })
    return new InkcastError('unavailable', `nothing was written: ${reason}`)
  }
}

const FAILED_OVER = 'the connection to Redis was lost, Redis has failed over, or a hash slot has moved'

/** @param {string} reason */
const unknown = (reason) => new InkcastError('timeout', `written, but not confirmed: ${reason}`)
