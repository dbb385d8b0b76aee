/**
 * Where sessions are kept for all workers. Two implementations, `createMemorySessions` (embedded mode) and
 * `createRedisSessions`, pass the same suite (test/contract/sessions.js). Each worker writes what is its own, under the
 * name of its incarnation (worker-watch.js); readers pass over what belongs to an incarnation that has ended.
 *
 * There are two kinds of data. A worker's *users* are a table of its own, from which it can be told what the worker
 * had, and which vanishes with it. *Holders* are shared: which incarnations hold a user (have a connection of him, or
 * had one a moment ago), a user in a document, and a document; and whether the business services have been told.
 *
 * @typedef {object} Session
 * @property {string} sid connection id
 * @property {string} [client] stable id of the client across reconnects, if it gave one
 * @property {'websocket' | 'polling'} transport
 * @property {number} lastSeen when something was heard from it last, ms since 1970; as of when it was written, or
 *   `seen` was called, whichever is later
 * @property {string[]} documents guids
 *
 * @typedef {object} UserSessions what one worker knows of a user
 * @property {Session[]} sessions
 * @property {string[]} away documents that the worker still holds for him, although no connection has them open any
 *   more
 * @property {{ sid: string, reason: string, at: number }} [end] his last connection, where there is none any more; at:
 *   ms since 1970
 *
 * @typedef {object} Change of one holding by one holder. With a uid only, of a user; with a guid only, of a document;
 *   with both, of a user in a document
 * @property {string} [uid]
 * @property {string} [guid]
 * @property {'+' | '-' | '='} op holds it from now on; no more; as before
 * @property {Told} told what the holder has told the services, after it was asked to; '' nothing. Where nothing is
 *   known of the holding (any more), it is believed
 *
 * @typedef {'' | '0' | '1'} Told '1': somebody holds it, '0': nobody does
 *
 * @typedef {object} SessionStore all reject with a retryable InkcastError where the backend is away; what was asked for
 *   may have been done then
 * @property {(incarnation: string, users: [uid: string, user: UserSessions | null][]) => Promise<void>} write null:
 *   there is nothing about this user any more
 * @property {(incarnation: string, at: number) => Promise<void>} seen something was heard from each of its sessions
 *   that is written at this time, ms since 1970, or later
 * @property {(incarnation: string, changes: Change[]) => Promise<Told[]>} hold in their order, and may be repeated.
 *   Answers for each change what the holder has to tell the services now; until it says that it has (`told`), nobody
 *   else tells anything of this holding. Where there are no services, nobody has anything to tell
 * @property {(incarnation: string) => AsyncIterable<[uid: string, user: UserSessions][]>} users of an incarnation, page
 *   by page; a user may come twice
 * @property {(incarnation: string) => Promise<void>} forget its users
 * @property {(uid: string) => Promise<(Session & { worker: number })[]>} sessions of a user
 */
export {}
