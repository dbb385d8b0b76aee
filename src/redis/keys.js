import { DEFAULT_PREFIX } from '../config/redis-prefix.js'

/** @typedef {ReturnType<typeof createKeys>} Keys */

/** @param {string} key @returns {string} string in the same hash slot: a write whose confirmation is waited for */
export const waitKey = (key) => `${key.slice(0, key.indexOf('}') + 1)}:wait`

/**
 * Every key and channel of inkcast in Redis, but for the names in ROOMS_CHANNEL_PREFIX and EMITTER_KEY. A
 * script that makes a name by itself begins it as its first key begins (scripts/include/start.lua).
 *
 * All keys of one document (or worker, or user) share a hash tag, the part in braces, and with it a hash slot of Redis
 * Cluster, so that one script may use them. The tag ends at the first closing brace: a guid that contains one has a
 * shorter tag, but all keys of that document still share it. Names stay distinct because the rest of the guid follows.
 *
 * @param {string} [prefix] REDIS_PREFIX: all names begin with it and a colon. It contains no brace, which would move
 *   the hash tag
 */
// eslint-disable-next-line max-lines-per-function -- a list of names
export function createKeys (prefix = DEFAULT_PREFIX) {
  const start = `${prefix}:`

  /** @param {string} guid @returns {string} sharded channel of a document's records */
  const documentChannel = (guid) => `${start}{d:${guid}}`
  /** @param {string} guid @returns {string} stream: the kept records */
  const documentLog = (guid) => `${start}{d:${guid}}:log`
  /** @param {string} guid @returns {string} hash: epoch, last offset, highest sequence of each source */
  const documentMeta = (guid) => `${start}{d:${guid}}:meta`

  /**
   * @param {string} tag `n:` and four letters for a hash slot of Redis Cluster
   * @returns {string} string: the epoch of the documents of a hash slot that have no record yet, "<epoch> <since, s>
   *   <generation> <number of evicted keys>" (include/empty.lua)
   */
  const emptyEpoch = (tag) => `${start}{${tag}}:empty`

  /**
   * @param {string} guid
   * @returns {string} sorted set: idempotency keys of its last records, by the time of the record, s (publish.lua)
   */
  const documentKeys = (guid) => `${start}{d:${guid}}:keys`

  /** @param {string} guid @returns {string} hash: offset of the newest record of each key (`x-key`) */
  const documentNewest = (guid) => `${start}{d:${guid}}:newest`

  /**
   * @param {string} guid
   * @param {string} [uid] absent for an anonymous user
   * @returns {string} hash: number of the last entry that was accepted of each of the user's queues
   *   (include/queues.lua)
   */
  const queueMarks = (guid, uid = '') => `${start}{d:${guid}}:queues:${uid}`

  /**
   * @param {string} source a Kafka partition
   * @returns {string} string: the newest of its ingested records, "<offset>.<leader epoch>". publish.lua repeats this
   *   name
   */
  const sourceMark = (source) => `${start}{k:${source}}:mark`
  /**
   * @param {string} source
   * @returns {string} string: the state of healing of its lost records (heal.lua). include/healing.lua repeats this
   *   name
   */
  const sourceHealing = (source) => `${start}{k:${source}}:healing`

  /**
   * @param {number | string} tag
   * @param {string} id of a process
   * @returns {string} string: proves by its existence that a node of Redis Cluster still has its data
   */
  const nodeMarker = (tag, id) => `${start}{m:${tag}}:${id}`

  /** @param {number | string} workerNumber @returns {string} sharded channel of publications for one worker */
  const workerChannel = (workerNumber) => `${start}{w:${workerNumber}}`
  /** Sharded channel of publications for all workers. */
  const everyoneChannel = `${start}everyone`

  /**
   * @param {string} uid
   * @returns {string} sorted set: numbers of the workers that have connections of a user, by expiry
   */
  const userWorkers = (uid) => `${start}{u:${uid}}:workers`

  /** @param {string} uid @returns {string} sorted set: names of orders about a user (order.lua), by time, ms */
  const userOrders = (uid) => `${start}{u:${uid}}:orders`
  /** @param {string} uid @returns {string} string: time of the last order about a user, ms */
  const userOrdered = (uid) => `${start}{u:${uid}}:ordered`
  /**
   * @param {number | string} workerNumber
   * @returns {string} hash: orders that a worker has not read yet, by id (tell.lua)
   */
  const workerOrders = (workerNumber) => `${start}{w:${workerNumber}}:orders`

  /**
   * @param {number | string} workerNumber
   * @param {string} id of an order
   * @returns {string} string: number of connections that the worker has carried the order out for (carried.lua)
   */
  const orderReport = (workerNumber, id) => `${start}{w:${workerNumber}}:order:${id}`

  /** @param {string} id @returns {string} hash: state and result of a request with an idempotency key (request.lua) */
  const requestState = (id) => `${start}{r:${id}}`

  /**
   * A part of the uplink's stream (append.lua), for services without Kafka.
   * @param {string} name of the stream
   * @param {number} part
   * @returns {{ log: string, meta: string, channel: string, refused: string }} stream, hash, sharded channel, and the
   *   stream of records that a service has refused for good
   */
  function uplinkPart (name, part) {
    const channel = `${start}{${name}:${part}}`
    return { log: `${channel}:log`, meta: `${channel}:meta`, channel, refused: `${channel}:refused` }
  }

  /**
   * @param {string} name
   * @param {number} part
   * @param {string} guid
   * @param {string} [uid] absent for an anonymous user
   * @returns {string} hash: number of the last entry that the part has of each of the user's queues
   *   (include/queues.lua)
   */
  const uplinkQueueMarks = (name, part, guid, uid = '') =>
    `${start}{${name}:${part}}:queues:${guid.length}:${guid}:${uid}`

  /**
   * @param {string} receiptId
   * @returns {string} hash: parts of the receipt of one record, by worker number (receipt.lua)
   */
  const receiptParts = (receiptId) => `${start}{receipt:${receiptId}}`
  /**
   * @param {string} receiptId
   * @param {string} incarnation of the worker that got the parts
   * @returns {string} hash: a copy of them, until it has them (receipt.lua)
   */
  const receiptAnswer = (receiptId, incarnation) => `${receiptParts(receiptId)}:${incarnation}`

  /**
   * @param {string} incarnation `<number>.<ms>`
   * @returns {string} hash: the open receipts of a worker, by id: what its successor needs to close them, as JSON
   */
  const workerReceipts = (incarnation) =>
    `${start}{w:${incarnation.slice(0, incarnation.indexOf('.'))}}:receipts:${incarnation}`

  /** Sharded channel on which watches of the inspector are announced. */
  const watchesChannel = `${start}watches`
  /** @param {string} id of a watch @returns {string} sharded channel of what processes have seen of it */
  const inspectChannel = (id) => `${start}{i:${id}}`

  /** @param {string} id @returns {string} sharded channel that shows whether pub/sub is open */
  const echoChannel = (id) => `${start}{e:${id}}`

  /**
   * The workers: all in one hash slot of Redis Cluster, so that one script may use them. An incarnation is a worker
   * number and the time when it was leased: `<number>.<ms>`.
   */
  const workers = Object.freeze({
    /** Sorted set: worker numbers by the time at which their lease expires, ms. */
    expiry: `${start}{workers}:expiry`,
    /** Hash: owner of each number, as JSON. */
    owners: `${start}{workers}:owners`,
    /** Hash: number of each slot. */
    slots: `${start}{workers}:slots`,
    /** String: the secret by which workers authenticate to each other. */
    secret: `${start}{workers}:secret`,
    /** Hash: incarnation of each number that has one. */
    incarnations: `${start}{workers}:incarnations`,
    /** List: incarnations that released their number or lost it to the next one, and are not in `ended` yet. */
    ending: `${start}{workers}:ending`,
    /** Sorted set: incarnations that have ended, by time, ms. */
    ended: `${start}{workers}:ended`,
    /** Sorted set: ended incarnations that are not cleaned up, by the time at which cleaning may begin, ms. */
    unclean: `${start}{workers}:unclean`,
    /** String: time of the last search for expired leases, ms. */
    watched: `${start}{workers}:watched`,
    /** Hash: workers that register their users again after a loss of data, by number. */
    settling: `${start}{workers}:settling`,
    /** String: names this data about the workers; another one after Redis has lost it. */
    registry: `${start}{workers}:registry`,
    /** String: exists while this data may lack workers that are alive (include/data_name.lua). */
    doubted: `${start}{workers}:doubted`
  })

  /** Reports of all processes (report.lua). */
  const reports = Object.freeze({
    /** Hash: reports by id, as JSON. */
    texts: `${start}{reports}`,
    /** Sorted set: ids by the time of their report, ms. */
    times: `${start}{reports}:times`
  })

  /** Budgets of tenants (spend.lua). */
  const tenants = Object.freeze({
    /** Sorted set: processes by the time of their last report, ms. */
    seen: `${start}{tenants}:seen`,
    /** Hash: what all processes use, by budget. */
    sums: `${start}{tenants}:sums`,
    /** Hash: tokens of rates, "<tokens> <ms>". */
    tokens: `${start}{tenants}:tokens`,
    /** With the id of a process a hash: what it uses, by budget. spend.lua repeats this name. */
    of: `${start}{tenants}:of:`
  })

  /**
   * Presence of a document (presence.lua).
   * @param {string} guid
   * @returns {[connections: string, order: string, meta: string, channel: string]} hash, sorted set, hash, and the
   *   sharded channel of changes
   */
  function documentPresence (guid) {
    const present = `${start}{d:${guid}}:present`
    return [present, `${present}:order`, `${present}:meta`, `${present}:diffs`]
  }

  /**
   * Users who have left the presence of a document, while clients ask for them (left.lua).
   * @param {string} guid
   * @returns {[times: string, names: string]} sorted set and hash, by uid
   */
  function documentLeft (guid) {
    const left = `${start}{d:${guid}}:present:left`
    return [left, `${left}:names`]
  }

  /** @param {number} workerNumber @returns {string} set: documents in which connections of a worker are present */
  const workerPresence = (workerNumber) => `${start}{w:${workerNumber}}:present`

  /**
   * @param {number} workerNumber
   * @param {string} incarnation
   * @returns {string} string: the members of an ended worker are being removed from presence
   */
  const presenceForgotten = (workerNumber, incarnation) =>
    `${start}{w:${workerNumber}}:present:forgotten:${incarnation}`

  /**
   * @param {string} incarnation `<number>.<ms>`
   * @returns {string} hash: the sessions of a worker by user, as JSON
   */
  const workerUsers = (incarnation) =>
    `${start}{w:${incarnation.slice(0, incarnation.indexOf('.'))}}:users:${incarnation}`
  /** @param {string} incarnation @returns {string} sorted set, all of score 0: documents that a worker holds */
  const workerDocuments = (incarnation) => `${workerUsers(incarnation)}:documents`
  /** @param {string} uid @returns {string} hash, one field (''): the holders of a user (hold.lua) */
  const userHolders = (uid) => `${start}{u:${uid}}:held`
  /** @param {string} uid @param {string} client id @returns {string} string: its session, if it comes back */
  const clientSession = (uid, client) => `${start}{u:${uid}}:session:${client}`
  /** @param {string} uid @returns {string} string: when the last connection of a user ended, ms */
  const userSeen = (uid) => `${start}{u:${uid}}:seen`
  /** @param {string} uid @param {string} device id @returns {string} string: its connection (devices.lua) */
  const userDevice = (uid, device) => `${start}{u:${uid}}:device:${device}`
  /**
   * @param {string} guid
   * @returns {string} hash: by user, the holders of this member; in the field '' the holders of the document (hold.lua)
   */
  const documentHolders = (guid) => `${start}{d:${guid}}:held`

  /** @param {string} id @returns {string} stream and channel with which `inkcast check` tries Redis out */
  const checkKey = (id) => `${start}{check:${id}}`

  return Object.freeze({
    start,
    documentChannel, documentLog, documentMeta, emptyEpoch, documentKeys, documentNewest, queueMarks, sourceMark,
    sourceHealing, nodeMarker, workerChannel, everyoneChannel, userWorkers, userOrders, userOrdered,
    workerOrders, orderReport, requestState, uplinkPart, uplinkQueueMarks, receiptParts, receiptAnswer,
    workerReceipts, watchesChannel, inspectChannel, echoChannel, workers, reports, tenants, documentPresence,
    workerPresence, presenceForgotten, workerUsers, workerDocuments, userHolders, documentHolders, checkKey,
    documentLeft, userSeen, userDevice, clientSession
  })
}
