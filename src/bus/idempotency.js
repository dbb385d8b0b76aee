/**
 * What is known of idempotency keys. A publisher tries again within seconds, or minutes when it was restarted.
 *
 * @typedef {{ ttl: number, keys: number }} Idempotency
 * @type {Readonly<Idempotency>}
 */
export const IDEMPOTENCY = Object.freeze({
  /** s after the first request, whatever came since */
  ttl: 900,
  /** per document; the oldest is forgotten first */
  keys: 10_000
})
