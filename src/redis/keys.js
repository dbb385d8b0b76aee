/**
 * Every key and channel of inkcast in Redis.
 *
 * What belongs to one document (or worker, or user) shares a hash tag, the part in braces, and with it a slot of Redis
 * Cluster, so that one script may touch all of it. The tag ends at the first closing brace: a guid that holds one
 * shortens its tag, which moves all keys of that document to another slot, together. Names stay distinct because
 * the rest of the guid follows.
 */
const PREFIX = 'inkcast:'

/** @param {string} guid @returns {string} sharded channel of a document's records */
export const documentChannel = (guid) => `${PREFIX}{d:${guid}}`
/** @param {string} guid @returns {string} stream of the records that are kept */
export const documentLog = (guid) => `${PREFIX}{d:${guid}}:log`
/** @param {string} guid @returns {string} hash: epoch, last offset, highest sequence of each source */
export const documentMeta = (guid) => `${PREFIX}{d:${guid}}:meta`

/**
 * @param {string} guid
 * @returns {string} sorted set: idempotency keys of its last records, by when they came, s since 1970
 */
export const documentKeys = (guid) => `${PREFIX}{d:${guid}}:keys`

/**
 * @param {string} source a Kafka partition
 * @returns {string} string: the newest of its records that was ingested, "<offset>.<leader epoch>"
 */
export const sourceMark = (source) => `${PREFIX}{k:${source}}:mark`
/**
 * @param {string} source
 * @returns {string} string: what is done about its records that Redis has lost (heal-2.lua). Named in
 *   include/healing.lua as well
 */
export const sourceHealing = (source) => `${PREFIX}{k:${source}}:healing`

/**
 * @param {number} tag
 * @param {string} id of a process
 * @returns {string} string: shows that a node of Redis Cluster still has its data
 */
export const nodeMarker = (tag, id) => `${PREFIX}{m:${tag}}:${id}`

/** @param {number | string} workerNumber @returns {string} sharded channel of what is for one worker */
export const workerChannel = (workerNumber) => `${PREFIX}{w:${workerNumber}}`
/** Sharded channel of what is for all workers. */
export const EVERYONE_CHANNEL = `${PREFIX}everyone`

/**
 * @param {string} uid
 * @returns {string} sorted set: numbers of the workers that have connections of a user, by their expiry
 */
export const userWorkers = (uid) => `${PREFIX}{u:${uid}}:workers`

/** @param {string} uid @returns {string} sorted set: what was ordered about a user (order-2.lua), by when, ms */
export const userOrders = (uid) => `${PREFIX}{u:${uid}}:orders`
/**
 * @param {number | string} workerNumber
 * @returns {string} hash: orders that a worker has not taken from here yet, by id (tell-2.lua)
 */
export const workerOrders = (workerNumber) => `${PREFIX}{w:${workerNumber}}:orders`

/** @param {string} id @returns {string} hash: what came of a request with an idempotency key */
export const requestState = (id) => `${PREFIX}{r:${id}}`

/**
 * @param {string} receiptId
 * @returns {string} hash: by worker number, what that worker knows of the receipt of one record
 */
export const receiptParts = (receiptId) => `${PREFIX}{receipt:${receiptId}}`

/** @param {string} id @returns {string} sharded channel that shows whether pub/sub is open */
export const echoChannel = (id) => `${PREFIX}{e:${id}}`

/**
 * The workers: all in one slot of Redis Cluster, so that one script may touch them. An incarnation is a worker number
 * and when it was taken: `<number>.<ms>`.
 */
export const WORKERS = Object.freeze({
  /** Sorted set: worker numbers by the time at which their lease runs out, ms. */
  expiry: `${PREFIX}{workers}:expiry`,
  /** Hash: owner of each number, as JSON. */
  owners: `${PREFIX}{workers}:owners`,
  /** Hash: number of each slot. */
  slots: `${PREFIX}{workers}:slots`,
  /** String: what workers prove themselves to each other with. */
  secret: `${PREFIX}{workers}:secret`,
  /** Hash: incarnation of each number that has one. */
  incarnations: `${PREFIX}{workers}:incarnations`,
  /** List: incarnations that gave their number back or lost it to the next one, and of which nobody was told yet. */
  ending: `${PREFIX}{workers}:ending`,
  /** Sorted set: incarnations that have ended, by when, ms. */
  ended: `${PREFIX}{workers}:ended`,
  /** Sorted set: ended incarnations that are not cleaned up, by when somebody may begin, ms. */
  unclean: `${PREFIX}{workers}:unclean`,
  /** String: when somebody last looked for leases that have run out, ms. */
  watched: `${PREFIX}{workers}:watched`
})

/**
 * Who is present in a document (presence-4.lua).
 * @param {string} guid
 * @returns {[connections: string, order: string, meta: string, channel: string]} hash, sorted set, hash, and the
 *   sharded channel that tells of them
 */
export function documentPresence (guid) {
  const present = `${PREFIX}{d:${guid}}:present`
  return [present, `${present}:order`, `${present}:meta`, `${present}:diffs`]
}

/** @param {number} workerNumber @returns {string} set: documents in which somebody is present through a worker */
export const workerPresence = (workerNumber) => `${PREFIX}{w:${workerNumber}}:present`

/**
 * @param {number} workerNumber
 * @param {string} incarnation
 * @returns {string} string: somebody is about to remove who was present through a worker that is gone
 */
export const presenceForgotten = (workerNumber, incarnation) =>
  `${PREFIX}{w:${workerNumber}}:present:forgotten:${incarnation}`

/**
 * @param {string} incarnation `<number>.<ms>`
 * @returns {string} hash: what a worker knows of each of its users, as JSON
 */
export const workerUsers = (incarnation) =>
  `${PREFIX}{w:${incarnation.slice(0, incarnation.indexOf('.'))}}:users:${incarnation}`
/** @param {string} uid @returns {string} hash, one field (''): who holds a user (hold-n.lua) */
export const userHolders = (uid) => `${PREFIX}{u:${uid}}:held`
/**
 * @param {string} guid
 * @returns {string} hash: by user who holds him in this document, and in the field '' who holds the document
 *   (hold-n.lua)
 */
export const documentHolders = (guid) => `${PREFIX}{d:${guid}}:held`
