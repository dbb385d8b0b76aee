import { hash } from 'node:crypto'
import { InkcastError } from '../../base/common/errors.js'
import { LogLimit } from '../../base/common/log-limit.js'
import { LruCache } from '../../base/common/lru.js'
import { TIMEOUT as ACCESS_TIMEOUT } from '../../documents/access-hook.js'
import { identityFromAnswer } from '../../people/auth/identity.js'
import { createRequest, WebhookError } from '../webhook/request.js'
import { createSigner } from '../webhook/signature.js'
import { isAnswer, readAnswer } from './answer.js'
import { Circuit } from './circuit.js'
import { questionOf } from './question.js'
import { Turns } from './turns.js'

/**
 * Time for the application to answer, and for a question to wait for its turn, ms. A login reads a session and a user,
 * so it gets twice the time of the access service. Both together are less than the 10 s after which a session whose
 * client is not admitted ends.
 */
const TIMEOUT = 2 * ACCESS_TIMEOUT
const MAX_WAIT = TIMEOUT
/** Largest answer, bytes: 1,000 grants of the longest ids, and the rest. */
const MAX_ANSWER = 512 * 1024
/** Answers that are kept. */
const MAX_ANSWERS = 10_000
/** Kicks that are remembered; beyond this the oldest are forgotten. */
const MAX_KICKS = 10_000
/** An application that asks for a longer time gets this one: a logout holds for new connections after it. ms */
const MAX_REFRESH = 3_600_000
/** Time of failing until it is reported, ms. */
const TROUBLE = 10_000

/** @typedef {import('../../people/auth/identity.js').Identity} Identity */

/**
 * Asks the application at AUTH_CONNECT_URL who a client is.
 * Why: docs/internals/decisions/0090-limits-of-clients.md
 */
export class ConnectService {
  #parts
  #request
  #circuit
  #turns
  #stopping = new AbortController()
  /** By hash of the question: it has credentials. @type {LruCache<Identity>} */
  #answers = new LruCache(MAX_ANSWERS)
  /** When the questions of these answers were asked, ms (monotonic). @type {WeakMap<Identity, number>} */
  #askedAt = new WeakMap()
  /**
   * The kick of each user that has ended an answer, and since when this process knows it, ms (monotonic).
   * @type {LruCache<{ at: number, knownSince: number }>}
   */
  #kicks = new LruCache(MAX_KICKS)
  /**
   * Identical questions share one answer. As many as have a turn or wait for one.
   * @type {Map<string, { answer: Promise<Identity>, wanted: (() => boolean)[] }>}
   */
  #inProgress = new Map()
  /** Since when no question had an answer, and why. @type {{ since: number, cause: string } | null} */
  #failure = null
  #logLimit

  /**
   * @param {import('../../observe/services.js').Services & Own} parts
   *
   * @typedef {object} Own
   * @property {string} url
   * @property {readonly string[]} headers names, in lower case
   * @property {readonly string[]} secrets config.uplink.secrets
   * @property {() => number} orderTime ms since 1970 by the clock that sets the times of orders
   * @property {import('../../people/tenants/names.js').TenantNames} [tenants]
   * @property {typeof fetch} [request] for tests
   */
  constructor (parts) {
    const { url, secrets, clock, metrics, request } = this.#parts = parts
    this.#request = createRequest({ url, sign: createSigner(secrets), clock, request }, {
      type: 'application/json', timeout: TIMEOUT, maxAnswer: MAX_ANSWER, isAnswer
    })
    this.#circuit = new Circuit(parts)
    this.#turns = new Turns({ clock, maxWait: MAX_WAIT })
    this.#logLimit = new LogLimit({ clock })
    metrics.onCollect(() => {
      metrics.connect_open.set(this.#turns.open)
      metrics.connect_waiting.set(this.#turns.waiting)
    })
  }

  /**
   * Synchronous if the answer is known.
   * @param {import('../../people/auth/credentials.js').Asked} asked
   * @param {() => boolean} isWanted whether the client is still there
   * @returns {Identity | Promise<Identity>}
   * @throws {InkcastError} (or rejects with) the refusal of the application; unavailable (retryable): it does not
   *   answer, or too many clients ask; bad_request; unauthorized: its answer is not valid; token_expired
   */
  ask (asked, isWanted) {
    const { headers, clock, metrics } = this.#parts
    const body = questionOf(asked, headers)
    const key = hash('sha256', body, 'base64')
    const known = this.#answers.get(key, clock.monotonic())
    // the wall clock may have been set
    if (known !== undefined && clock.now() < (known.expiresAt ?? Infinity) && this.#isAfterKick(known)) {
      metrics.connect_unasked.inc({ reason: 'cached' })
      return known
    }
    const other = this.#inProgress.get(key)
    if (other !== undefined) {
      metrics.connect_unasked.inc({ reason: 'shared' })
      other.wanted.push(isWanted)
      return other.answer
    }
    const wanted = [isWanted]
    const answer = this.#takeTurn(key, body, () => wanted.some((is) => is()))
      .finally(() => this.#inProgress.delete(key))
    this.#inProgress.set(key, { answer, wanted })
    return answer
  }

  /**
   * Whether an identity is an answer that a kick has ended: the application may have ended the session between the
   * question and the kick, so it has to be asked again. Earlier answers about the user are not given any more.
   * @param {Identity} identity
   * @param {number} kickedAt of the last kick or end of a ban, ms since 1970, by the clock of Redis; 0: never
   * @returns {boolean}
   */
  endedBy (identity, kickedAt) {
    const { uid, issuedAt } = identity
    if (!this.#askedAt.has(identity) || Number(issuedAt) * 1000 > kickedAt) return false
    // that clock may have been set back since the kick: no question is refused that was asked with the kick known
    const { clock } = this.#parts
    const known = this.#kicks.get(uid, clock.monotonic())
    if (known?.at === kickedAt) return !this.#isAfterKick(identity)
    this.#kicks.set(uid, { at: kickedAt, knownSince: clock.monotonic() }, Infinity)
    return true
  }

  /** @param {Identity} answer @returns {boolean} whether it was asked for after the known kick of its user, if any */
  #isAfterKick (answer) {
    const knownSince = this.#kicks.get(answer.uid, this.#parts.clock.monotonic())?.knownSince ?? -Infinity
    return Number(this.#askedAt.get(answer)) > knownSince
  }

  /** @param {string} key @param {string} body @param {() => boolean} isWanted @returns {Promise<Identity>} */
  async #takeTurn (key, body, isWanted) {
    const { metrics } = this.#parts
    let asked = false
    const admitted = this.#circuit.admits()
    try {
      if (!admitted) throw failing()
      return await this.#turns.take(() => {
        asked = true
        return this.#post(key, body)
      }, { bytes: body.length, isWanted })
    } finally {
      if (!asked) {
        if (admitted) this.#circuit.released()
        metrics.connect_unasked.inc({ reason: 'refused' })
      }
    }
  }

  /** @param {string} key @param {string} body @returns {Promise<Identity>} */
  async #post (key, body) {
    const { clock, metrics, random, orderTime, log, tenants } = this.#parts
    const began = clock.monotonic()
    const askedAt = orderTime()
    /** @type {Record<string, unknown>} */
    let given
    try {
      given = readAnswer(await this.#request(random.uuid(), Buffer.from(body), this.#stopping.signal))
    } catch (error) {
      if (this.#stopping.signal.aborted) throw new InkcastError('draining')
      if (!(error instanceof WebhookError)) {
        this.#answered('refused')
        throw error
      }
      this.#failed(error)
      throw new InkcastError('unavailable', 'the login is not available at the moment')
    } finally {
      metrics.connect_seconds.observe((clock.monotonic() - began) / 1000)
    }
    try {
      const { identity, refreshInMs } = identityFromAnswer(given, askedAt, tenants)
      const left = (identity.expiresAt ?? Infinity) - clock.now()
      if (left <= 0) throw new InkcastError('token_expired', 'the answer of the application has expired already')
      this.#askedAt.set(identity, began)
      const keptFor = Math.min(refreshInMs, MAX_REFRESH, left)
      if (keptFor > 0) this.#answers.set(key, identity, clock.monotonic() + keptFor)
      this.#answered('ok')
      return identity
    } catch (error) {
      this.#answered('invalid')
      const { message } = /** @type {Error} */ (error)
      if (this.#logLimit.due()) log.warn({ cause: message }, 'an answer of AUTH_CONNECT_URL is not valid')
      throw error
    }
  }

  /** @param {'ok' | 'refused' | 'invalid'} result */
  #answered (result) {
    const { metrics, log, clock } = this.#parts
    metrics.connect_requests.inc({ result })
    this.#circuit.succeeded()
    if (this.#failure === null) return
    log.info({ afterMs: Math.round(clock.monotonic() - this.#failure.since) }, 'the login answers again')
    this.#failure = null
    this.#logLimit.reset()
  }

  /** @param {WebhookError} error */
  #failed ({ status, message }) {
    const { metrics, log, clock } = this.#parts
    metrics.connect_requests.inc({ result: String(status ?? 'no_answer') })
    this.#failure = { since: this.#failure?.since ?? clock.monotonic(), cause: message }
    if (this.#logLimit.due()) log.warn({ cause: message }, 'the login does not answer: clients without a JWT cannot connect')
    if (this.#circuit.failed()) this.#turns.refuseAll(failing())
  }

  /** @returns {string[]} what is wrong, for the readiness check */
  warnings () {
    const failure = this.#failure
    return failure !== null && this.#parts.clock.monotonic() - failure.since > TROUBLE
      ? [`the login (AUTH_CONNECT_URL) does not answer: ${failure.cause}`]
      : []
  }

  /** Questions in progress reject. */
  stop () {
    this.#stopping.abort(new Error('the process stops'))
    this.#turns.refuseAll(new InkcastError('draining'))
  }
}

const failing = () => new InkcastError('unavailable', 'the login is not available at the moment')
