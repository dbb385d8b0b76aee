/**
 * Publishes the records of a run through the api. A request without an answer is repeated with the same idempotency
 * key, so that each record is published once.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { systemClock as clock } from '../common/clock.js'
import { HEADER } from '../wire/headers.js'
import { guidOf } from './client.js'
import { EVENT, preciseNow, valueOf } from './packets.js'

/** Requests at any time; above that the records come late. */
const MAX_REQUESTS = 256
const TIMEOUT = 15_000
const TRIES = 5
const TICK = 10

/**
 * @param {{ url: string, token: string | undefined, run: string, plan: import('./plan.js').Plan }} options
 * @param {(number: number) => Promise<unknown>} expect called before each record to everyone
 */
export function createPublisher ({ url, token, run, plan }, expect) {
  /** Records of each document that were accepted. */
  const ends = Array.from({ length: plan.documents }, () => 0)
  const published = { everyone: 0, documents: 0 }
  /** @type {Record<string, number>} */
  const failures = {}
  /** @type {Set<Promise<void>>} */
  const running = new Set()
  let stopped = false

  /**
   * @param {number} document -1: everyone
   * @param {number} number
   * @returns {Promise<boolean>} it was accepted
   */
  async function publish (document, number) {
    const path = document === -1
      ? '/v1/broadcast'
      : `/v1/documents/${encodeURIComponent(guidOf(run, document))}/broadcast`
    const request = {
      method: 'POST',
      headers: {
        [HEADER.contentType]: 'application/json',
        [HEADER.event]: EVENT,
        [HEADER.idempotencyKey]: randomUUID(),
        ...(document === -1 && plan.receipts ? { [HEADER.receipt]: 'true' } : {}),
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` })
      },
      body: valueOf({ run, number, at: preciseNow(), document, size: plan.size })
    }
    for (let tries = 1; ; tries++) {
      let reason
      try {
        const answer = await fetch(url + path, { ...request, signal: AbortSignal.timeout(TIMEOUT) })
        const text = await answer.text()
        if (answer.ok) return true
        reason = `${answer.status} ${/"code":"(\w+)"/.exec(text)?.[1] ?? ''}`.trim()
        if (answer.status < 500 && answer.status !== 429) tries = TRIES
      } catch (error) {
        reason = /** @type {any} */ (error).cause?.code ?? /** @type {Error} */ (error).name
      }
      if (tries >= TRIES) {
        failures[reason] = (failures[reason] ?? 0) + 1
        return false
      }
      await delay(200 * tries)
    }
  }

  async function toEveryone () {
    for (let number = 1, begin = clock.monotonic(); !stopped; number++) {
      await expect(number)
      if (await publish(-1, number)) published.everyone++
      const wait = begin + number * plan.everyone - clock.monotonic()
      for (let left = wait; left > 0 && !stopped; left -= TICK * 5) await delay(Math.min(left, TICK * 5))
    }
  }

  async function toDocuments () {
    const begin = clock.monotonic()
    for (let started = 0; !stopped;) {
      const due = Math.floor((clock.monotonic() - begin) / 1000 * plan.records)
      while (started < due && running.size < MAX_REQUESTS) {
        const document = started % plan.documents
        const one = publish(document, Math.floor(started / plan.documents) + 1).then((accepted) => {
          if (!accepted) return
          ends[document]++
          published.documents++
        }).finally(() => running.delete(one))
        running.add(one)
        started++
      }
      await delay(TICK)
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
