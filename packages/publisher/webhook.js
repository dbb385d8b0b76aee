import { createHmac, timingSafeEqual } from 'node:crypto'
import { InkcastError } from './errors.js'

/** Time by which the clocks of the two machines may differ, ms. */
const TOLERANCE = 300_000

/**
 * Checks the signature and the time of a webhook request (Standard Webhooks, docs/webhooks.md), and parses it.
 *
 * @param {string | readonly string[]} secrets `whsec_…`; one that fits is enough
 * @param {Headers | Record<string, string | string[] | undefined>} headers of the request
 * @param {string | Uint8Array} body as it arrived
 * @param {{ toleranceMs?: number | undefined, now?: number | undefined }} [options] now: ms since 1970
 * @returns {any[]} the events
 * @throws {InkcastError} `unauthorized`: answer 401
 */
export function verifyWebhook (secrets, headers, body, { toleranceMs = TOLERANCE, now = Date.now() } = {}) {
  const read = (/** @type {string} */ name) =>
    String((headers instanceof Headers ? headers.get(name) : headers[name]) ?? '')
  const [id, timestamp, signatures] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map(read)
  if (id === '' || signatures === '' || !/^\d{1,12}$/.test(timestamp)) throw refused('a header of the signature is missing')
  if (Math.abs(Number(timestamp) * 1000 - now) > toleranceMs) throw refused('the time of the request is not near')
  const given = signatures.split(' ').filter((one) => one.startsWith('v1,')).map((one) => Buffer.from(one.slice(3), 'base64'))
  const fits = [secrets].flat().some((secret) => {
    const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
    const right = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest()
    return given.some((one) => one.length === right.length && timingSafeEqual(one, right))
  })
  if (!fits) throw refused('the signature does not fit')
  return JSON.parse(typeof body === 'string' ? body : new TextDecoder().decode(body))
}

/** @param {string} message */
const refused = (message) => new InkcastError('unauthorized', message)
