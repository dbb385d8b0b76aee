import { Backoff } from '../../base/common/backoff.js'
import { ANSWER_TIMEOUT } from '../options.js'
import { ONE_ATTEMPT } from '../sentinel/options.js'
import { identityOf } from './identity.js'

/**
 * Detects that the address of a single Redis leads to another server: a failover moves the address (virtual IP, proxy,
 * name, the answer of Sentinel), while connections to the previous server may stay open. The previous server accepts no
 * writes: as a replica it replies READONLY, or MASTERDOWN while it has no master; isolated, with
 * `min-replicas-to-write`, NOREPLICAS.
 *
 * A healthy master without a replica replies NOREPLICAS as well. So a second connection reads the run id of the server
 * at the address, and the client reconnects only if it is another one: otherwise commands in progress would fail, and
 * all registrations would be repeated, without a benefit.
 */

/** Replies of a server that accepts no writes, also from within scripts. */
const CANNOT_WRITE = /^(?:READONLY|NOREPLICAS|MASTERDOWN)\b/
/** Pause between two looks, ms: the first look is immediate, then the pauses grow. */
const PAUSE = { min: 250, max: 5000 }
/** Time without one of these replies after which the next one causes an immediate look, ms. */
const CALM = 30_000
/** Looks after the news of a failover: Sentinel demotes a master that still runs after 10 s. ms */
const WHILE = 12_000
const REPEAT = 500

/**
 * @param {object} dependencies
 * @param {import('ioredis').Redis} dependencies.client
 * @param {import('../../base/common/log.js').Log} dependencies.log
 * @param {import('../../base/common/clock.js').Clock} dependencies.clock
 * @param {import('../../base/common/random.js').Random} dependencies.random
 */
export function createElsewhere ({ client, log, clock, random }) {
  const backoff = new Backoff({ ...PAUSE, random })
  let looking = false
  let lookUntil = -Infinity
  /** @type {import('../../base/common/clock.js').Timer | undefined} */
  let repeating
  let nextAt = -Infinity
  let notedAt = -Infinity

  /** Of the server at the address now. */
  async function identityThere () {
    const probe = client.duplicate({ lazyConnect: true, socketTimeout: ANSWER_TIMEOUT, ...ONE_ATTEMPT })
    probe.on('error', () => {}) // connect rejects as well
    try {
      await probe.connect()
      return await identityOf(probe)
    } finally {
      probe.disconnect()
    }
  }

  async function look () {
    const [{ server: here }, { server: there }] = await Promise.all([identityOf(client), identityThere()])
    if (here === undefined || there === undefined || here === there || client.status !== 'ready') return
    log.warn('the address of redis leads to another server now: leaving the server that accepts no writes')
    client.disconnect(true)
  }

  function lookOnce () {
    if (looking) return
    looking = true
    // after a failure the next error causes another look
    look().catch(() => {}).finally(() => {
      looking = false
      nextAt = clock.monotonic() + backoff.next()
    })
  }

  return {
    /**
     * To be called when the address may lead to another server now or in a moment: a Sentinel may be late, and the new
     * server may not say yet that it is the master. The old one gives no error meanwhile.
     */
    lookForAWhile () {
      lookUntil = clock.monotonic() + WHILE
      if (repeating !== undefined) return
      const again = () => {
        lookOnce()
        const over = clock.monotonic() >= lookUntil
        repeating = over ? undefined : clock.timer(REPEAT, again).unref()
      }
      again()
    },

    stop () { repeating?.stop() },

    /** @param {unknown} error of any command */
    note (error) {
      if (!(error instanceof Error) || !CANNOT_WRITE.test(error.message)) return
      const now = clock.monotonic()
      if (now - notedAt > CALM) {
        backoff.reset()
        nextAt = now
      }
      notedAt = now
      if (now >= nextAt) lookOnce()
    }
  }
}
