/**
 * The presence store, shared by all workers of a cluster.
 *
 * A store has connections; a member is a user with one or more of them. Each update that changes a document has a
 * version. Versions always increase, even after the store has lost its data; `from` of a diff is the version
 * before it, so that a lost diff is detected.
 *
 * @typedef {object} Member a user who is present, as clients see it
 * @property {string} uid
 * @property {string} id the newest connection
 * @property {string} [name] from its token
 * @property {object} [state] of the newest connection
 * @property {{ id: string, state?: object }[]} [connections] if there are several: all, the newest last, at
 *   most MAX_CONNECTIONS
 */

/**
 * A change of a connection in a document:
 * `+` it joined, and replaces earlier connections of the same client of the same user;
 * `=` its state; adds the connection if it is missing;
 * `-` it left on purpose; `~` it was lost.
 *
 * @typedef {object} PresenceChange
 * @property {'+' | '=' | '-' | '~'} op
 * @property {string} id connection id
 * @property {string} uid
 * @property {string} client stable id of the client, '' if it has none; for `-` and `~` the incarnation that the
 *   connection must belong to, '' for any
 * @property {string} body JSON of `{ name?, state? }`; '' for `-` and `~`
 */

/**
 * @typedef {object} Diff
 * @property {number} from version before
 * @property {number} version
 * @property {number} count current number of members
 * @property {'diff' | 'count' | 'list'} kind `count`: too many members, clients get only the count; `list`: the number
 *   is below the limit again, clients need the list
 * @property {Member[]} joined
 * @property {Member[]} changed members with changed connections or states, in their current form
 * @property {{ uid: string, ids: string[] }[]} left members who left, with their last connections
 * @property {string[]} closed connections that left on purpose, of members who stay
 * @property {string[]} removed all connections that ended
 */

/**
 * @typedef {object} Page
 * @property {number} version 0: the document never had members, as far as the store knows
 * @property {number} count of all members
 * @property {boolean} countOnly too many members: diffs have only the count
 * @property {Member[]} members by uid
 * @property {string} [cursor] present if there are more, after this uid
 */

/**
 * @typedef {object} Left a user who was a member
 * @property {string} uid
 * @property {string} [name]
 * @property {number} lastSeen when the last connection of the user left the list, ms since 1970: for a lost one after
 *   the grace, for one of a crashed worker after its lease
 */

/**
 * @typedef {object} PresenceHandlers
 * @property {(guid: string, diff: Diff) => void} onDiff of a watched document, in the order of their versions; some may
 *   be missing
 * @property {(guids: string[]) => void} onInterrupted diffs of these documents may be missing
 * @property {() => void} onLost the store may have lost its data
 */

/**
 * @typedef {object} PresenceStore
 * @property {(handlers?: PresenceHandlers) => Promise<void>} start resolves when the data of an earlier process of
 *   the same worker number is removed. Rejects while the list of its documents cannot be read. Sweeps
 *   remove what is left in documents that cannot be changed
 * @property {() => Promise<void>} stop
 * @property {(guid: string) => Promise<void>} watch resolves when diffs of the document are delivered, until `unwatch`
 * @property {(guid: string) => void} unwatch
 * @property {(guid: string, changes: PresenceChange[]) => Promise<void>} update applies changes of this worker's
 *   connections, all or none. After a rejection the outcome is unknown: the same changes may be applied again
 * @property {(guid: string, query: { after?: string, limit: number }) => Promise<Page>} page the members after a uid;
 *   fewer than `limit` if their states are large
 * @property {(guid: string) => Promise<{ users: Left[], full: boolean }>} left users who have left within a day, the
 *   last one first. A document that no client has asked about for a day has none; full: earlier ones may be missing
 * @property {(guids: string[]) => Promise<(number | null | undefined)[]>} versions null: no members, as far as the
 *   store knows; undefined: the read failed. Rejects if all reads fail
 * @property {(guid: string) => Promise<string[]>} mine connections of this worker number in the document
 * @property {() => Promise<string[]>} documents those in which the store has connections of this worker number, and
 *   perhaps others. After `onLost` it first writes those that are watched again, for `forget`
 * @property {(id: string) => PresenceChange | null} removalOf the change that marks a connection as lost which this
 *   incarnation has written; null: the id is of another worker number
 * @property {(isLast?: boolean) => Promise<void>} sweep marks connections as lost whose workers do not exist, in
 *   documents that are watched or in which there are connections of this worker number: after a loss of data `forget`
 *   may not have found them, and workers write members before Redis knows them again, or after another process has
 *   taken their number. Last: such writes can no longer arrive
 * @property {(workerNumber: number, incarnation: string, how?: { surely?: boolean }) => Promise<void>} forget marks the
 *   connections of a dead worker as lost, and those of earlier incarnations of its number. Of concurrent callers one
 *   does the work, and the others do not learn of its failure. With `surely` the work is done when it resolves
 */

/** Connections listed per member; further ones are counted, not listed. */
export const MAX_CONNECTIONS = 20
/** A page of members ends after this number of bytes of states. */
export const PAGE_BYTES = 2 ** 18
/** Share of maxMembers below which clients get the list again. */
export const LIST_AGAIN = 0.9
/** How long users who have left are kept, and the list of them after it was asked for, s. */
export const LEFT_TTL = 86_400
/** Users who have left a document; above it the one who left first is dropped. */
export const MAX_LEFT = 100
/** How long the version of a document without members is kept, s. */
export const EMPTY_TTL = 60
