/**
 * The purpose of a key in Redis (src/redis/keys.js), without the ids in it.
 */

/** Letters before the colon in the hash tag. @type {Record<string, string>} */
const KINDS = {
  d: 'document', w: 'worker', u: 'user', k: 'partition', r: 'request', m: 'marker', receipt: 'receipt', workers: 'workers',
  reports: 'reports'
}

/**
 * Groups that grow with each new document or request by design, because they outlive it: what has been published, so
 * that Kafka and services may repeat it (7 days), and answers of idempotent requests (15 minutes).
 */
export const LASTING = ['document meta', 'document keys', 'request']
/**
 * A group that is as large as the activity of the last minute: documents without members, whose versions go on for a
 * while. It must be gone at the end, but says nothing about growth.
 */
export const PASSING = ['document present:meta']
/** The one list of workers that have ended, which the first of them begins. */
export const ENDED = 'workers ended'
/**
 * Groups that a worker leaves for a while when it was killed or replaced: registrations of its users (15 minutes), the
 * documents in which its connections were present, and the list of ended workers.
 */
export const EXPIRING = ['user workers', 'worker present', ENDED]

/** @param {string} key @returns {string} as `document log` */
export function keyGroup (key) {
  const [, kind, rest] = /^inkcast:\{(\w+)(?::[^}]*)?\}:?(.*)$/.exec(key) ?? []
  if (kind === undefined) return 'other'
  // names of a key's part end with letters; what follows a second colon is an id in most cases, after `queues` always
  const part = /^(?:queues|[a-z]+(?::[a-z]+)*)/.exec(rest)?.[0] ?? ''
  return `${KINDS[kind] ?? kind} ${part}`.trim()
}
