/**
 * The store of the sessions of all workers. Each worker writes its own data under the name of its incarnation
 * (worker-watch.js); readers ignore data of an incarnation that has ended.
 *
 * There are two kinds of data. The *users* of a worker are a table of its own, which lists its sessions and is deleted
 * after its end. *Holders* are shared: which incarnations hold a user (have a connection of the user, or had one within
 * the grace), a user in a document, and a document; and which state was reported to the business services.
 *
 * @typedef {object} Session
 * @property {string} sid connection id
 * @property {string} [client] stable id of the client across reconnects, if it gave one
 * @property {'websocket' | 'polling'} transport
 * @property {string} [listener] name of its listener; absent: Socket.IO's
 * @property {number} lastSeen time of the last packet from the client, ms since 1970, as of the last `write` or `seen`,
 *   whichever is later
 * @property {string[]} documents guids
 *
 * @typedef {object} UserSessions the sessions of a user on one worker
 * @property {Session[]} sessions
 * @property {string[]} away documents that the worker holds for the user although no connection has them open
 * @property {{ sid: string, reason: string, at: number } & Origin} [end] the user's last connection, if all have ended;
 *   at: ms since 1970
 *
 * @typedef {{ device?: string, listener?: string }} Origin the client id and the listener of a connection that is not
 *   Socket.IO's
 *
 * @typedef {object} HoldingChange of one holding by one holder. With a uid only, of a user; with a guid only, of a
 *   document; with both, of a user in a document
 * @property {string} [uid]
 * @property {string} [guid]
 * @property {'+' | '-' | '='} op held from now on; no longer held; unchanged
 * @property {Told} told the state that the holder has reported to the services on request; '' none. A store without an
 *   entry for the holding takes it as reported
 *
 * @typedef {'' | '0' | '1'} Told '1': held, '0': without a holder
 *
 * @typedef {object} SessionStore all reject with a retryable InkcastError if the backend is unavailable; the call may
 *   have been executed nevertheless
 * @property {(incarnation: string, users: [uid: string, user: UserSessions | null][]) => Promise<void>} write null:
 *   deletes the user
 * @property {(incarnation: string, at: number) => Promise<void>} seen all its written sessions were heard from at this
 *   time, ms since 1970, or later
 * @property {(incarnation: string, changes: HoldingChange[]) => Promise<(Told | Error)[]>} hold applies changes in
 *   their order; may be repeated. Resolves for each change with the state that the holder must report to the services;
 *   until it confirms the report (`told`), no other holder reports anything about this holding. Always '' without
 *   services. A change that failed resolves with its error: a node of Redis Cluster that is down fails only its own
 * @property {(incarnation: string) => AsyncIterable<[uid: string, user: UserSessions][]>} users of an incarnation, page
 *   by page; a user may occur twice
 * @property {(incarnation: string) => AsyncIterable<string[]>} held documents of an incarnation, page by page: those
 *   that it holds, and those whose release it has not confirmed as reported
 * @property {(incarnation: string) => Promise<void>} forget deletes its users, and the list of its documents
 * @property {(users: [uid: string, at: number][]) => Promise<Map<string, Error>>} ended when the last connections of
 *   users on a worker have ended, ms since 1970; not kept of anonymous users. Resolves with the errors of those that
 *   failed, by uid
 * @property {(uid: string, device?: string) => Promise<number | null>} lastSeen the latest time of all `ended`; null:
 *   not within a day. With a device: when its last connection ended, within an hour (devices.lua)
 * @property {(uid: string) => Promise<(Session & { worker: number })[]>} sessions of a user
 * @property {(sid: string) => Promise<(Session & { worker: number, uid: string }) | null>} session looks through the
 *   users of the worker that the id names, up to all of them
 * @property {(options: { prefix?: string, after?: string, limit: number }) => Promise<OpenDocument[]>} documents that
 *   connections of live workers have open, or had within the grace, in the order of their UTF-8 bytes; `after`: those
 *   that follow this guid. Fewer than `limit`: there are no more
 *
 * @typedef {object} OpenDocument
 * @property {string} guid
 * @property {number} members users that have it open, on all workers, or had within the grace
 */
export {}
