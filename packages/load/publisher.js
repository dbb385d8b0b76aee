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
export function createPublisher ({ url, token, run, plan, produce, tries: most = TRIES }, expect) {
  /** Records of each document that were accepted. */
  const ends = Array.from({ length: plan.documents }, () => 0)
  const published = { everyone: 0, documents: 0 }
  /** @type {Record<string, number>} */
  const failures = {}
  /** @type {Set<Promise<void>>} */
  const running = new Set()
  let stopped = false

  /**
   * Requests of the api, repeated if there is no answer.
   * @param {string} path
   * @param {Record<string, string>} headers
   * @param {string} body
   * @returns {Promise<any>} the answer; undefined: it was refused
   */
  async function request (path, headers, body) {
    const options = {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...headers
      },
      body
    }
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
        failed(reason)
        return undefined
      }
      await sleep(Math.min(MAX_PAUSE, 200 * tries))
    }
  }

  /** @param {string} reason */
  function failed (reason) {
    failures[reason] = (failures[reason] ?? 0) + 1
  }

  /** @param {number} document -1: everyone @param {number} number @returns {string} JSON */
  const value = (document, number) => valueOf({ run, number, at: preciseNow(), document, size: plan.size })

  /** @param {number} number @returns {Promise<boolean>} it was accepted */
  async function publishToEveryone (number) {
    const headers = {
      'x-event': EVENT,
      'idempotency-key': randomUUID(),
      ...(plan.receipts ? { 'x-receipt': 'true' } : {})
    }
    return await request('/v1/broadcast', headers, value(-1, number)) !== undefined
  }

  /** Publishes records to the documents in turn. @param {number} first of all records */
  async function publishToDocuments (first) {
    const records = Array.from({ length: plan.burst }, (_, i) => ({
      document: (first + i) % plan.documents,
      number: Math.floor((first + i) / plan.documents) + 1
    }))
    const accepted = (/** @type {number} */ document) => {
      ends[document]++
      published.documents++
    }
    if (plan.burst === 1) {
      const [{ document, number }] = records
      if (produce !== undefined && first % 2 === 1) {
        if (await produce(guidOf(run, document), EVENT, value(document, number))) accepted(document)
        else failed('not produced')
        return
      }
      const path = `/v1/documents/${encodeURIComponent(guidOf(run, document))}/broadcast`
      const headers = { 'x-event': EVENT, 'idempotency-key': randomUUID() }
      if (await request(path, headers, value(document, number)) !== undefined) accepted(document)
      return
    }
    const publications = records.map(({ document, number }) =>
      `{"guid":${JSON.stringify(guidOf(run, document))},"event":"${EVENT}","idempotencyKey":"${randomUUID()}",` +
      `"value":${value(document, number)}}`)
    const answer = await request('/v1/publish', {}, `{"publications":[${publications.join()}]}`)
    answer?.results.forEach((/** @type {any} */ { ok, error }, /** @type {number} */ i) => {
      if (ok) accepted(records[i].document)
      else failed(error.code)
    })
  }

  async function toEveryone () {
    for (let number = 1, begin = performance.now(); !stopped; number++) {
      await expect(number)
      if (await publishToEveryone(number)) published.everyone++
      const wait = begin + number * plan.everyone - performance.now()
      for (let left = wait; left > 0 && !stopped; left -= TICK * 5) await sleep(Math.min(left, TICK * 5))
    }
  }

  async function toDocuments () {
    const begin = performance.now()
    for (let started = 0; !stopped;) {
      const due = Math.floor((performance.now() - begin) / 1000 * plan.records)
      for (; started + plan.burst <= due && running.size < MAX_REQUESTS; started += plan.burst) {
        const one = publishToDocuments(started).finally(() => running.delete(one))
        running.add(one)
      }
      await sleep(TICK)
    }
    await Promise.all(running)
  }

  /** @type {Promise<unknown>} */
  let work = Promise.resolve()
  return {
    ends,
    published,
    failures,
    /** @param {(error: Error) => void} onError */
    start (onError) {
      work = Promise.all([
        plan.everyone > 0 ? toEveryone() : undefined,
        plan.records > 0 ? toDocuments() : undefined
      ]).catch(onError)
    },
    /** Resolves when every record was accepted or given up. */
    async stop () {
      stopped = true
      await work
    }
  }
}
