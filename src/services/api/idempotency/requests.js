/**
 * The state of requests with an idempotency key, of all api processes together, for `IDEMPOTENCY.ttl` after each one's
 * start.
 *
 * @typedef {object} Requests
 * @property {(id: string, fingerprint: string, traceId: string) => Promise<Begun>} begin of concurrent callers
 *   with the same request, one gets `new`. Rejects with `unavailable`
 * @property {(id: string, fingerprint: string, answer: string) => Promise<void>} finish then `begin` returns `done`
 * @property {(id: string) => Promise<void>} release it failed, or its outcome is unknown: then `begin` returns `new`
 * @property {(id: string) => Promise<void>} forget it was refused and certainly published nothing: then `begin` returns
 *   `new` for any fingerprint, with its own trace id. The same as `release` if an earlier try, which was not forgotten,
 *   may have published
 */

/**
 * @typedef {{ state: 'new', traceId: string } | { state: 'done', answer: string } | { state: 'busy' } | { state:
 *   'other' }} Begun `new`: execute it, with this trace id, which is that of an earlier try if there was one; `busy`:
 *   in progress, until its process has given no sign of life for a while; `other`: the fingerprint is not that of the
 *   first request with this id
 */

export {}
