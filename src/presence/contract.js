/**
 * Where the workers of a cluster keep together who is present in a document. Two implementations,
 * `createMemoryPresence` (embedded mode) and `createRedisPresence`, pass the same suite (test/contract/presence.js).
 *
 * A store knows connections; a member is a user with one or more of them. Each update of a document that changes
 * something has a version. Versions only grow, also when the store has lost everything; `from` of a diff is the version
 * before it, so that a lost one shows.
 *
 * @typedef {object} Member a user who is present, as clients see it
 * @property {string} uid
 * @property {string} id the connection that came last
 * @property {string} [name] from its token
 * @property {object} [state] what it has set
 * @property {{ id: string, state?: object }[]} [connections] all of them, the newest last, where there are several; at
 *   most MAX_CONNECTIONS
 */

/**
 * One thing that has happened to a connection in a document:
 * `+` it has come, in the place of those that the same client of the same user had before;
 * `=` this is its state, and it is there, if it was not;
 * `-` it has gone on purpose; `~` it was lost.
 *
 * @typedef {object} Change
 * @property {'+' | '=' | '-' | '~'} op
 * @property {string} id connection id
 * @property {string} uid
 * @property {string} client stable id of the client, '' if it has none; with `-` and `~` the incarnation of the worker
 *   that it must be of, '' for any
 * @property {string} body JSON of `{ name?, state? }`; '' for `-` and `~`
 */

/**
 * @typedef {object} Diff
 * @property {number} from version before
 * @property {number} version
 * @property {number} count members there are now
 * @property {'diff' | 'count' | 'list'} kind `count`: there are so many members that only their number is told; `list`:
 *   there are few enough again, those who were told the number only need the list
 * @property {Member[]} joined
 * @property {Member[]} changed whose connections or their states have changed, as they are now
 * @property {{ uid: string, ids: string[] }[]} left members who have gone, with their last connections
 * @property {string[]} closed connections that have gone on purpose of members who are still there
 * @property {string[]} removed all connections that are there no more
 */

/**
 * @typedef {object} Page
 * @property {number} version 0: nobody has ever been there, as far as is known
 * @property {number} count of all members
 * @property {boolean} countOnly there are so many members that diffs tell their number only
 * @property {Member[]} members by uid
 * @property {string} [cursor] there are more, after this uid
 */

/**
 * @typedef {object} PresenceHandlers
 * @property {(guid: string, diff: Diff) => void} onDiff of a watched document, in the order of their versions; some may
 *   be missing
 * @property {(guids: string[]) => void} onInterrupted diffs of these documents may be missing
 * @property {() => void} onLost the store may have lost what it had
 */

/**
 * @typedef {object} PresenceStore
 * @property {() => Promise<void>} start what an earlier process of the same worker number has left behind is gone when
 *   it resolves
 * @property {() => Promise<void>} stop
 * @property {(guid: string) => Promise<void>} watch resolves when diffs of the document come from now on, until
 *   `unwatch`
 * @property {(guid: string) => void} unwatch
 * @property {(guid: string, changes: Change[]) => Promise<void>} update applies changes of this worker's connections,
 *   all or nothing. After a rejection the outcome is unknown: the same changes may be made again
 * @property {(guid: string, query: { after?: string, limit: number }) => Promise<Page>} page the members after a uid;
 *   fewer than `limit` where their states are large
 * @property {(guids: string[]) => Promise<(number | null)[]>} versions null: nobody is there, as far as is known
 * @property {(guid: string) => Promise<string[]>} mine connections of this worker number that are there
 * @property {(workerNumber: number, incarnation: string, how?: { surely?: boolean }) => Promise<void>} forget a worker
 *   is gone: its connections are lost. Of several who call it at once, one does it, and the others are not told if it
 *   fails. With `surely` they are lost when it resolves
 */

/** Connections that are listed of a member; who has more is one member all the same. */
export const MAX_CONNECTIONS = 20
/** A page of members ends after so many bytes of states. */
export const PAGE_BYTES = 2 ** 18
/** Share of the bound below which a document's members are told again. */
export const LIST_AGAIN = 0.9
/** How long the version of a document where nobody is any more is kept, s. */
export const EMPTY_TTL = 60
