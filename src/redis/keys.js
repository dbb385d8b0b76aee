/**
 * Every key and channel of inkcast in Redis.
 *
 * All keys of one document (or worker, or user) share a hash tag, the part in braces, and with it a hash slot of Redis
 * Cluster, so that one script may use them. The tag ends at the first closing brace: a guid that contains one has a
 * shorter tag, but all keys of that document still share it. Names stay distinct because the rest of the guid follows.
 */
const PREFIX = 'inkcast:'

/** @param {string} guid @returns {string} sharded channel of a document's records */
export const documentChannel = (guid) => `${PREFIX}{d:${guid}}`
/** @param {string} guid @returns {string} stream: the kept records */
export const documentLog = (guid) => `${PREFIX}{d:${guid}}:log`
/** @param {string} guid @returns {string} hash: epoch, last offset, highest sequence of each source */
export const documentMeta = (guid) => `${PREFIX}{d:${guid}}:meta`

/**
 * @param {string} tag `n:` and four letters for a hash slot of Redis Cluster
 * @returns {string} string: the epoch of the documents of a hash slot that have no record yet, "<epoch> <since, s>
 *   <generation> <number of evicted keys>" (include/empty.lua)
 */
export const emptyEpoch = (tag) => `${PREFIX}{${tag}}:empty`

/**
 * @param {string} guid
 * @returns {string} sorted set: idempotency keys of its last records, by the time of the record, s (publish.lua)
 */
export const documentKeys = (guid) => `${PREFIX}{d:${guid}}:keys`

/** @param {string} guid @returns {string} hash: offset of the newest record of each key (`x-key`) */
export const documentNewest = (guid) => `${PREFIX}{d:${guid}}:newest`

/**
 * @param {string} guid
 * @param {string} [uid] absent for an anonymous user
 * @returns {string} hash: number of the last entry that was accepted of each of the user's queues (include/queues.lua)
 */
export const queueMarks = (guid, uid = '') => `${PREFIX}{d:${guid}}:queues:${uid}`

/**
 * @param {string} source a Kafka partition
 * @returns {string} string: the newest of its ingested records, "<offset>.<leader epoch>". publish.lua repeats this
 *   name
 */
export const sourceMark = (source) => `${PREFIX}{k:${source}}:mark`
/**
 * @param {string} source
 * @returns {string} string: the state of healing of its lost records (heal.lua). include/healing.lua repeats this
 *   name
 */
export const sourceHealing = (source) => `${PREFIX}{k:${source}}:healing`

/**
 * @param {number | string} tag
 * @param {string} id of a process
 * @returns {string} string: proves by its existence that a node of Redis Cluster still has its data
 */
export const nodeMarker = (tag, id) => `${PREFIX}{m:${tag}}:${id}`

/** @param {string} key @returns {string} string in the same hash slot: a write whose confirmation is waited for */
export const waitKey = (key) => `${key.slice(0, key.indexOf('}') + 1)}:wait`

/** @param {number | string} workerNumber @returns {string} sharded channel of publications for one worker */
export const workerChannel = (workerNumber) => `${PREFIX}{w:${workerNumber}}`
/** Sharded channel of publications for all workers. */
export const EVERYONE_CHANNEL = `${PREFIX}everyone`

/**
 * @param {string} uid
 * @returns {string} sorted set: numbers of the workers that have connections of a user, by expiry
 */
export const userWorkers = (uid) => `${PREFIX}{u:${uid}}:workers`

/** @param {string} uid @returns {string} sorted set: names of orders about a user (order.lua), by time, ms */
export const userOrders = (uid) => `${PREFIX}{u:${uid}}:orders`
/** @param {string} uid @returns {string} string: time of the last order about a user, ms */
export const userOrdered = (uid) => `${PREFIX}{u:${uid}}:ordered`
/**
 * @param {number | string} workerNumber
 * @returns {string} hash: orders that a worker has not read yet, by id (tell.lua)
 */
export const workerOrders = (workerNumber) => `${PREFIX}{w:${workerNumber}}:orders`

/**
 * @param {number | string} workerNumber
 * @param {string} id of an order
 * @returns {string} string: number of connections that the worker has carried the order out for (carried.lua)
 */
export const orderReport = (workerNumber, id) => `${PREFIX}{w:${workerNumber}}:order:${id}`

/** @param {string} id @returns {string} hash: state and result of a request with an idempotency key (request.lua) */
export const requestState = (id) => `${PREFIX}{r:${id}}`

/**
 * A part of the uplink's stream (append.lua), for services without Kafka.
 * @param {string} name of the stream
 * @param {number} part
 * @returns {{ log: string, meta: string, channel: string, refused: string }} stream, hash, sharded channel, and the
 *   stream of records that a service has refused for good
 */
export function uplinkPart (name, part) {
  const channel = `${PREFIX}{${name}:${part}}`
  return { log: `${channel}:log`, meta: `${channel}:meta`, channel, refused: `${channel}:refused` }
}

/**
 * @param {string} name
 * @param {number} part
 * @param {string} guid
 * @param {string} [uid] absent for an anonymous user
 * @returns {string} hash: number of the last entry that the part has of each of the user's queues (include/queues.lua)
 */
export const uplinkQueueMarks = (name, part, guid, uid = '') =>
  `${PREFIX}{${name}:${part}}:queues:${guid.length}:${guid}:${uid}`

/**
 * @param {string} receiptId
 * @returns {string} hash: parts of the receipt of one record, by worker number (receipt.lua)
 */
export const receiptParts = (receiptId) => `${PREFIX}{receipt:${receiptId}}`

/**
 * @param {string} incarnation `<number>.<ms>`
 * @returns {string} hash: the open receipts of a worker, by id: what its successor needs to close them, as JSON
 */
export const workerReceipts = (incarnation) =>
  `${PREFIX}{w:${incarnation.slice(0, incarnation.indexOf('.'))}}:receipts:${incarnation}`

/** Sharded channel on which watches of the inspector are announced. */
export const WATCHES_CHANNEL = `${PREFIX}watches`
/** @param {string} id of a watch @returns {string} sharded channel of what processes have seen of it */
export const inspectChannel = (id) => `${PREFIX}{i:${id}}`

/** @param {string} id @returns {string} sharded channel that shows whether pub/sub is open */
export const echoChannel = (id) => `${PREFIX}{e:${id}}`

/**
 * The workers: all in one hash slot of Redis Cluster, so that one script may use them. An incarnation is a worker
 * number and the time when it was leased: `<number>.<ms>`.
 */
export const WORKERS = Object.freeze({
  /** Sorted set: worker numbers by the time at which their lease expires, ms. */
  expiry: `${PREFIX}{workers}:expiry`,
  /** Hash: owner of each number, as JSON. */
  owners: `${PREFIX}{workers}:owners`,
  /** Hash: number of each slot. */
  slots: `${PREFIX}{workers}:slots`,
  /** String: the secret by which workers authenticate to each other. */
  secret: `${PREFIX}{workers}:secret`,
  /** Hash: incarnation of each number that has one. */
  incarnations: `${PREFIX}{workers}:incarnations`,
  /** List: incarnations that released their number or lost it to the next one, and are not in `ended` yet. */
  ending: `${PREFIX}{workers}:ending`,
  /** Sorted set: incarnations that have ended, by time, ms. */
  ended: `${PREFIX}{workers}:ended`,
  /** Sorted set: ended incarnations that are not cleaned up, by the time at which cleaning may begin, ms. */
  unclean: `${PREFIX}{workers}:unclean`,
  /** String: time of the last search for expired leases, ms. */
  watched: `${PREFIX}{workers}:watched`,
  /** Hash: workers that register their users again after a loss of data, by number. */
  settling: `${PREFIX}{workers}:settling`,
  /** String: names this data about the workers; another one after Redis has lost it. */
  registry: `${PREFIX}{workers}:registry`,
  /** String: exists while this data may lack workers that are alive (include/data_name.lua). */
  doubted: `${PREFIX}{workers}:doubted`
})

/** Reports of all processes (report.lua). */
export const REPORTS = Object.freeze({
  /** Hash: reports by id, as JSON. */
  texts: `${PREFIX}{reports}`,
  /** Sorted set: ids by the time of their report, ms. */
  times: `${PREFIX}{reports}:times`
})

/**
 * Presence of a document (presence.lua).
 * @param {string} guid
 * @returns {[connections: string, order: string, meta: string, channel: string]} hash, sorted set, hash, and the
 *   sharded channel of changes
 */
export function documentPresence (guid) {
  const present = `${PREFIX}{d:${guid}}:present`
  return [present, `${present}:order`, `${present}:meta`, `${present}:diffs`]
}

/** @param {number} workerNumber @returns {string} set: documents in which connections of a worker are present */
export const workerPresence = (workerNumber) => `${PREFIX}{w:${workerNumber}}:present`

/**
 * @param {number} workerNumber
 * @param {string} incarnation
 * @returns {string} string: the members of an ended worker are being removed from presence
 */
export const presenceForgotten = (workerNumber, incarnation) =>
  `${PREFIX}{w:${workerNumber}}:present:forgotten:${incarnation}`

/**
 * @param {string} incarnation `<number>.<ms>`
 * @returns {string} hash: the sessions of a worker by user, as JSON
 */
export const workerUsers = (incarnation) =>
  `${PREFIX}{w:${incarnation.slice(0, incarnation.indexOf('.'))}}:users:${incarnation}`
/** @param {string} incarnation @returns {string} sorted set, all of score 0: documents that a worker holds */
export const workerDocuments = (incarnation) => `${workerUsers(incarnation)}:documents`
/** @param {string} uid @returns {string} hash, one field (''): the holders of a user (hold.lua) */
export const userHolders = (uid) => `${PREFIX}{u:${uid}}:held`
/**
 * @param {string} guid
 * @returns {string} hash: by user, the holders of this member; in the field '' the holders of the document (hold.lua)
 */
export const documentHolders = (guid) => `${PREFIX}{d:${guid}}:held`

/** @param {string} id @returns {string} stream and channel with which `inkcast check` tries Redis out */
export const checkKey = (id) => `${PREFIX}{check:${id}}`
