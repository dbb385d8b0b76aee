/**
 * Requests to ADMIN_PORT, with the token that the visitor has given in this tab.
 *
 * @typedef {{ p50: number | null, p99: number | null }} Quantiles
 * @typedef {{ at: number, seconds: number, ready: number, values: Record<string, number>, stages: Record<string,
 *   Quantiles> }} Sample
 * @typedef {{ name: string, notReady: string[], startedAt: number, seconds: number, values:
 *   Record<string, number> }} ProcessRow
 * @typedef {{ partition: string, lag: number | null, age: number | null, canaryAge: number | null, lostEnds: number |
 *   null }} Partition
 * @typedef {{ version: string, host: string, ready: boolean, reasons: string[], warnings: string[], processes:
 *   ProcessRow[], partitions: Partition[], listeners: Record<string, number>, samples: Sample[] }} Status
 */

const KEY = 'inkcast-admin-token'

/** The server wants a token, or another one. */
export class Unauthorized extends Error {}

/** @param {string} token */
export const keepToken = (token) => sessionStorage.setItem(KEY, token)

/** Whether the server has said that it needs no token. */
let isOpen = false

/** @param {AbortSignal} signal @throws {Unauthorized} if the visitor has given no token, and one is needed */
async function checkAccess (signal) {
  if (isOpen || sessionStorage.getItem(KEY) !== null) return
  const { read, message } = await (await fetch('/access', { signal, cache: 'no-store' })).json()
  if (!read) throw new Unauthorized(message)
  isOpen = true
}

/** @returns {Record<string, string>} headers */
function credentials () {
  const token = sessionStorage.getItem(KEY)
  return token === null ? {} : { authorization: `Bearer ${token}` }
}

/**
 * @param {string} path
 * @param {AbortSignal} [signal]
 * @returns {Promise<Response>}
 * @throws {Unauthorized} with the reason
 */
export async function get (path, signal = AbortSignal.timeout(15_000)) {
  await checkAccess(signal)
  const answer = await fetch(path, { headers: credentials(), signal, cache: 'no-store' })
  if (answer.ok) return answer
  const message = (await answer.json().catch(() => null))?.error?.message ?? `HTTP ${answer.status}`
  throw answer.status === 401 || answer.status === 403 ? new Unauthorized(message) : new Error(message)
}

/**
 * @param {number} after samples later than this
 * @returns {Promise<Status>}
 */
export const readStatus = async (after) => (await get(`/status?after=${after}`)).json()
