/**
 * Types that several files share, and that users import.
 *
 * @typedef {import('./document/positions.js').Position} Position
 *
 * @typedef {object} Meta
 * @property {string} [guid] id of the document
 * @property {number} [offset] number of the record in the document's log; absent on ephemeral records and signals
 * @property {number} [after] offset of the record before this one in the log, if that is not `offset` - 1: the records
 *   between were replaced by newer records of their keys
 * @property {true} [lost] only in pages of `history`: Redis has lost data before this record was published, so records
 *   between it and the one before may be missing
 * @property {string} [epoch] id of the log. `{ epoch, offset }` is the position of this record: store it when you have
 *   processed the record, and resume from it. Absent if `offset` is absent
 * @property {Position} [user] place in the log of the user (`client.user`), on records of that log
 * @property {string} traceId id of the record, for logs
 * @property {string} [traceparent] on traced records: the parent for your own span (W3C Trace Context)
 * @property {number} ts ms since 1970, by the publisher's clock
 * @property {string} [from] connection id of the sender, on signals, and on messages that the gateway published itself
 *
 * @typedef {object} LoggedRecord a record of the document's log
 * @property {string} event name of the record
 * @property {any} payload data of the record
 * @property {Meta} meta position, time and origin of the record
 *
 * @typedef {'trimmed' | 'epoch' | 'overflow' | 'opened'} ResyncReason `trimmed`: the log no longer has the missed
 *   records; `epoch`: the position belongs to an earlier log; `overflow`: more than 10,000 records waited for a
 *   listener or a slow loop; `opened`: this client had the document open already, and the `position` of the second
 *   `open` was older than the client's position
 *
 * @typedef {object} Resync
 * @property {Position | null} position where the client continues: records after this position follow
 * @property {ResyncReason} reason why the client could not continue from its position
 *
 * @typedef {'open' | 'reload' | ResyncReason} LoadReason
 */

/**
 * Loads the document from the service that stores it.
 * @callback Load
 * @param {{ position: Position, reason: LoadReason, signal: AbortSignal }} request position: where the client is in the
 *   log; signal: aborts when the answer is no longer needed
 * @returns {Promise<Position | { position: Position } | void>} the position that the service's answer contains: later
 *   records follow, earlier ones are dropped. Nothing: exactly `position`. After a rejection, or anything else, the
 *   client calls it again after a pause, unless the error's `retryable` is false
 */

/**
 * @template Payload
 * @callback Listener
 * @param {Payload} payload
 * @param {Meta} meta
 * @param {() => void} [acknowledge] call it when the record is processed; present only if the publisher requested a
 *   receipt
 * @returns {void}
 */

/**
 * @template E
 * @typedef {object} SendOptions
 * @property {E | undefined} [event] default: `message`
 * @property {number | undefined} [timeout] maximum wait, ms. Default: 10,000; with `queue`: none
 * @property {AbortSignal | undefined} [signal] its abort ends the wait, and withdraws nothing that is sent or queued
 * @property {string | undefined} [traceparent] parent span (W3C Trace Context); not with `queue`
 */

/**
 * @typedef {object} QueuedSend an edit that the gateway has not accepted yet
 * @property {string} id unique for each edit, the same after a reload
 * @property {string} event the option `event` of `send`, or `message`
 * @property {unknown} data the data of `send`
 */

/**
 * The events of a document itself. A record named `resync`, `joined`, `presence` or `closed` is emitted as
 * `record:<name>`.
 *
 * - `resync`: missed records are no longer available: load the document again. If listeners return promises, further
 *   records are held until all of them have settled.
 * - `joined`: at each join: the first one, and one after each reconnect. It follows the missed records, and `load` or
 *   the promises of the `resync` listeners. `recovered: false`: there was a `resync`, or no position.
 * - `presence`: `doc.presence` has changed.
 * - `closed`: something other than `doc.close()` has closed the document; the error has the cause, and the code of the
 *   service if a service closed it.
 * - `doc:status`: `doc.status` or `doc.reason` has changed.
 * - `doc:pending`: `doc.pending` has changed.
 * - `doc:dropped`: the gateway has refused a queued edit for good.
 *
 * @template {object} Presence
 * @typedef {GatewayEvents<Presence> & StatusEvents & PendingEvents & DroppedEvents} OwnEvents
 */

/**
 * @template {object} Presence
 * @typedef {object} GatewayEvents
 * @property {(resync: Resync) => unknown} resync
 * @property {(joined: { position: Position, recovered: boolean }) => void} joined
 * @property {(diff: import('./presence/presence.js').PresenceDiff<Presence>) => void} presence
 * @property {(error: import('./common/error.js').ClientError) => void} closed
 */
/** @typedef {{ 'doc:status': (status: Status, reason: ClientError | null) => void }} StatusEvents */
/** @typedef {{ 'doc:pending': (pending: readonly QueuedSend[]) => void }} PendingEvents */
/** @typedef {import('./common/error.js').ClientError} ClientError */
/** @typedef {{ 'doc:dropped': (edit: QueuedSend, error: ClientError) => void }} DroppedEvents */

/**
 * `joining`: waits for a connection or for the gateway; `loading`: `load` runs; `live`: joined and loaded, records
 * arrive; `closed`.
 * @typedef {'joining' | 'loading' | 'live' | 'closed'} Status
 */

/**
 * @typedef {object} ListenOptions
 * @property {AbortSignal | undefined} [signal] its abort removes the listener
 */

/* eslint-disable @stylistic/max-len -- tsc copies the asterisk of a second line into the declaration */

/**
 * Adds a listener; returns a function that removes it. So does an abort of the signal.
 * @template Events
 * @template {object} Presence
 * @template Signals
 * @typedef {ListenToOwn<Presence> & ListenToRecords<Events & Named<Signals>> & ListenToRenamed} Listen
 */

/**
 * The signals that have a type. Without types any signal may be sent, but a misspelled record is still found.
 * @template Signals
 * @typedef {string extends keyof Signals ? {} : Signals} Named
 */

/**
 * @template {object} Presence
 * @typedef {<E extends keyof OwnEvents<Presence>>(event: E, listener: OwnEvents<Presence>[E], options?: ListenOptions) =>
 *   () => void} ListenToOwn
 */

/**
 * @template Events
 * @typedef {<E extends keyof Events & string>(event: E, listener: Listener<Events[E]>, options?: ListenOptions) =>
 *   () => void} ListenToRecords
 */

/**
 * Records with the name of an event of the document.
 * @typedef {(event: `record:${string}`, listener: Listener<any>, options?: ListenOptions) => () => void} ListenToRenamed
 */

/* eslint-enable @stylistic/max-len */

/**
 * @template E
 * @template Payload
 * @typedef {object} RecordTurn
 * @property {E} event
 * @property {Payload} payload
 * @property {Meta} meta
 * @property {(() => void) | undefined} acknowledge
 */

/**
 * @typedef {object} ResyncTurn
 * @property {'resync'} event
 * @property {Resync} payload
 * @property {undefined} meta
 * @property {undefined} acknowledge
 */

/**
 * One turn of `for await (const record of doc)`.
 * @template Events
 * @typedef {{ [E in keyof Events & string]: RecordTurn<E, Events[E]> }[keyof Events & string] | ResyncTurn} Turn
 */

/**
 * The membership that a document shares with others of the same guid (membership.js).
 *
 * @typedef {object} Shared
 * @property {string} guid
 * @property {Position | null} position
 * @property {import('./presence/presence.js').Members} members
 * @property {() => readonly QueuedSend[]} pending the queued edits
 * @property {boolean} joined
 * @property {boolean} readOnly at the last join
 * @property {(event: string, argument: object) => void} tell over the current connection, without an answer
 * @property {(event: string, argument: object, timeout?: number) => Promise<any>} ask over the current connection
 * @property {(event: string, argument: object, timeout?: number) => Promise<any>} request when it is joined
 * @property {(event: string, ...args: unknown[]) => void} emit to the listeners of all its Documents
 * @property {() => Promise<Position>} whenJoined
 * @property {(query: { before?: number | undefined, limit?: number | undefined }) => Promise<HistoryPage>} history
 * @property {(argument: { event?: string, data: unknown }) => Promise<{ traceId?: string }>} queue
 * @property {(event: string, data: unknown, combine: boolean) => boolean} signal
 * @property {(use: (part: any) => Promise<any>) => Promise<any>} withPart
 * @property {(document: any) => void} close
 * @property {() => void} dealtWith
 * @property {(what: string, detail?: import('./common/log.js').LogEntry['detail']) => void} log
 *
 * @typedef {object} HistoryPage
 * @property {LoggedRecord[]} records
 * @property {Position} position end of the log
 * @property {boolean} more whether there are earlier records
 */

export {}
