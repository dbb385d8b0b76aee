/**
 * Publishes the records of a run through the api. A request without an answer is repeated with the same idempotency
 * key, so that each record is published once.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { guidOf } from './client.js'
import { EVENT, preciseNow, valueOf } from './packets.js'

/** Requests at any time; above that the records come late. */
const MAX_REQUESTS = 256
const TIMEOUT = 15_000
const TRIES = 5
/** Longest pause between two tries, ms. */
const MAX_PAUSE = 2000
const TICK = 10

/**
 * @typedef {(guid: string, event: string, value: string) => Promise<boolean>} Produce resolves with whether it was
 *   accepted
 */

/** Publishes the records of a run until it is stopped. */
export class Publisher {
  /** Records that were accepted. */
  published = { everyone: 0, documents: 0 }
  /** By reason. @type {Record<string, number>} */
  failures = {}
  #options
  #expect
  /** Requests in progress. @type {Set<Promise<void>>} */
  #running = new Set()
  #stopped = false
  /** @type {Promise<unknown>} */
  #work = Promise.resolve()

  /**
   * @param {object} options
   * @param {string} options.url
   * @param {string | undefined} options.token
   * @param {string} options.run
   * @param {import('./plan.js').Plan} options.plan
   * @param {Produce} [options.produce] publishes every second record of documents, in place of the api
   * @param {number} [options.tries] for a publication
   * @param {(number: number) => Promise<unknown>} expect called before each record to everyone
   */
  constructor (options, expect) {
    this.#options = options
    this.#expect = expect
    /** Records of each document that were accepted. */
    this.ends = Array.from({ length: options.plan.documents }, () => 0)
  }

  /** @param {(error: Error) => void} onError */
  start (onError) {
    const { everyone, records } = this.#options.plan
    this.#work = Promise.all([
      everyone > 0 ? this.#toEveryone() : undefined, records > 0 ? this.#toDocuments() : undefined
    ]).catch(onError)
  }

  /** Resolves when every record was accepted or given up. */
  async stop () {
    this.#stopped = true
    await this.#work
  }

  async #toEveryone () {
    const { plan } = this.#options
    for (let number = 1, begin = performance.now(); !this.#stopped; number++) {
      await this.#expect(number)
      const headers = {
        'x-event': EVENT,
        'idempotency-key': randomUUID(),
        ...(plan.receipts ? { 'x-receipt': 'true' } : {})
      }
      if (await this.#request('/v1/broadcast', headers, this.#value(-1, number)) !== undefined)
        this.published.everyone++
      const wait = begin + number * plan.everyone - performance.now()
      for (let left = wait; left > 0 && !this.#stopped; left -= TICK * 5) await sleep(Math.min(left, TICK * 5))
    }
  }

  async #toDocuments () {
    const { burst, records } = this.#options.plan
    const begin = performance.now()
    for (let started = 0; !this.#stopped;) {
      const due = Math.floor((performance.now() - begin) / 1000 * records)
      for (; started + burst <= due && this.#running.size < MAX_REQUESTS; started += burst) {
        const one = this.#publish(started).finally(() => this.#running.delete(one))
        this.#running.add(one)
      }
      await sleep(TICK)
    }
    await Promise.all(this.#running)
  }

  /** Publishes records to the documents in turn. @param {number} first of all records */
  async #publish (first) {
    const { plan, produce } = this.#options
    const records = Array.from({ length: plan.burst }, (_, i) => ({
      document: (first + i) % plan.documents,
      number: Math.floor((first + i) / plan.documents) + 1
    }))
    if (plan.burst > 1) return this.#publishTogether(records)
    const [{ document, number }] = records
    const guid = this.#guid(document)
    if (produce !== undefined && first % 2 === 1) {
      if (await produce(guid, EVENT, this.#value(document, number))) this.#accepted(document)
      else this.#failed('not produced')
      return
    }
    const path = `/v1/documents/${encodeURIComponent(guid)}/broadcast`
    const headers = { 'x-event': EVENT, 'idempotency-key': randomUUID() }
    if (await this.#request(path, headers, this.#value(document, number)) !== undefined) this.#accepted(document)
  }

  /** @param {{ document: number, number: number }[]} records */
  async #publishTogether (records) {
    const publications = records.map(({ document, number }) =>
      `{"guid":${JSON.stringify(this.#guid(document))},"event":"${EVENT}","idempotencyKey":"${randomUUID()}",` +
      `"value":${this.#value(document, number)}}`)
    const answer = await this.#request('/v1/publish', {}, `{"publications":[${publications.join()}]}`)
    answer?.results.forEach((/** @type {any} */ { ok, error }, /** @type {number} */ i) => {
      if (ok) this.#accepted(records[i].document)
      else this.#failed(error.code)
    })
  }

  /** @param {number} document */
  #guid (document) { return guidOf(this.#options.run, document) }

  /** @param {number} document -1: everyone @param {number} number @returns {string} JSON */
  #value (document, number) {
    const { run, plan: { size } } = this.#options
    return valueOf({ run, number, at: preciseNow(), document, size })
  }

  /** @param {number} document */
  #accepted (document) {
    this.ends[document]++
    this.published.documents++
  }

  /** @param {string} reason */
  #failed (reason) { this.failures[reason] = (this.failures[reason] ?? 0) + 1 }

  /**
   * Requests of the api, repeated if there is no answer.
   * @param {string} path
   * @param {Record<string, string>} headers
   * @param {string} body
   * @returns {Promise<any>} the answer; undefined: it was refused
   */
  async #request (path, headers, body) {
    const { url, token, tries: most = TRIES } = this.#options
    const authorization = token === undefined ? undefined : { authorization: `Bearer ${token}` }
    const options = { method: 'POST', headers: { 'content-type': 'application/json', ...authorization, ...headers }, body }
    for (let tries = 1; ; tries++) {
      let reason
      try {
        const answer = await fetch(url + path, { ...options, signal: AbortSignal.timeout(TIMEOUT) })
        const text = await answer.text()
        if (answer.ok) return JSON.parse(text)
        reason = `${answer.status} ${/"code":"(\w+)"/.exec(text)?.[1] ?? ''}`.trim()
        // 409: the request before is still in progress
        if (answer.status < 500 && answer.status !== 429 && answer.status !== 409) tries = most
      } catch (error) {
        reason = /** @type {any} */ (error).cause?.code ?? /** @type {Error} */ (error).name
      }
      if (tries >= most) {
        this.#failed(reason)
        return undefined
      }
      await sleep(Math.min(MAX_PAUSE, 200 * tries))
    }
  }
}
