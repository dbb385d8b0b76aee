import { createHmac, timingSafeEqual } from 'node:crypto'

/**
 * The proof that a request from another machine comes from a worker of this cluster: an HMAC of method, URL and time,
 * with the secret that all workers share through Redis. It protects the peer listener from other callers; it does not
 * encrypt: that is PEER_TLS_FILES, without which machines need a private network.
 */
export const PROOF_HEADER = 'x-inkcast-hop'

/** Largest difference between the clocks of two machines, ms. */
const TOLERANCE = 30_000

/** @param {string} secret @param {string} method @param {string} url @param {number} at */
const sign = (secret, method, url, at) =>
  createHmac('sha256', secret).update(`${at}\n${method}\n${url}`).digest('base64url')

/**
 * @param {string} secret
 * @param {string} method
 * @param {string} url
 * @param {number} now ms
 * @returns {string} the header's value
 */
export const proofFor = (secret, method, url, now) => `${now}.${sign(secret, method, url, now)}`

/**
 * @param {readonly string[]} secrets
 * @param {import('http').IncomingMessage} req
 * @param {number} now ms
 * @returns {boolean}
 */
export function isProven (secrets, req, now) {
  const [, time, signature] = /^(\d{1,15})\.([\w-]{43})$/.exec(String(req.headers[PROOF_HEADER])) ?? []
  const at = Number(time)
  if (signature === undefined || Math.abs(now - at) > TOLERANCE) return false
  return secrets.some((secret) =>
    timingSafeEqual(Buffer.from(signature), Buffer.from(sign(secret, req.method ?? '', req.url ?? '', at)))
  )
}
