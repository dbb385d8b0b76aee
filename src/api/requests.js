/**
 * What is known of requests with an idempotency key, for `IDEMPOTENCY.ttl` after each was begun. Two implementations,
 * `createMemoryRequests` (embedded mode) and `createRedisRequests` (all api processes together), pass the same suite
 * (test/contract/requests.js).
 *
 * @typedef {object} Requests
 * @property {(id: string, fingerprint: string, traceId: string) => Promise<Begun>} begin of many that begin the same
 *   one at the same time, one gets `new`. Rejects with `unavailable`
 * @property {(id: string, fingerprint: string, answer: string) => Promise<void>} finish from now on `begin` says `done`
 * @property {(id: string) => Promise<void>} release it failed, or its outcome is not known: from now on `begin` says
 *   `new` again
 */

/**
 * @typedef {{ state: 'new', traceId: string } | { state: 'done', answer: string } | { state: 'busy' } | { state:
 *   'other' }} Begun `new`: do it, with this trace id, which is that of an earlier try if there was one; `busy`:
 *   somebody is at it, and is taken to be dead when it has not been heard of for a while; `other`: the fingerprint is
 *   not that of the first request with this id
 */

export {}
