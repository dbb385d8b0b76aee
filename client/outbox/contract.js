/**
 * The outbox: edits that were sent with `queue`, kept until the gateway has accepted them. It is loaded when it is
 * needed (client.js); a membership uses one queue of it for its document.
 *
 * @typedef {{ id: string, seq: number }} Place in a queue: its id, and 1, 2, 3 …
 *
 * @typedef {object} QueueEvents the functions of the client that a queue uses
 * @property {(argument: { event?: string, data: unknown, queue: Place }) => Promise<{ traceId?: string,
 *   duplicate?: boolean }>} send sends `doc:send` over the current connection; rejects with a ClientError
 * @property {(pending: () => readonly import('../types.js').QueuedSend[]) => void} onPending called after each change;
 *   the function returns the list of now, and the same list until the next change
 * @property {(edit: import('../types.js').QueuedSend,
 *   error: import('../common/error.js').ClientError) => void} onDropped the gateway has refused the edit for good
 *
 * @typedef {object} Queue
 * @property {(argument: { event?: string, data: unknown }) => Promise<{ traceId?: string }>} add resolves when the
 *   gateway has accepted it; rejects with a ClientError if the gateway refuses it for good, or the storage fails
 * @property {() => void} joined the document is joined: send
 * @property {() => void} lost the connection is lost: send all again that have no answer, after the next `joined`
 * @property {() => void} close what is not sent stays stored; a later `open` sends it
 *
 * @typedef {object} Outbox
 * @property {(document: Queued) => Promise<Queue>} open may be called again after a failure
 *
 * @typedef {Pick<import('../types.js').Shared, 'guid' | 'joined' | 'pending' | 'ask'> & {
 *   inboxes: Iterable<{ emitter: import('../common/emitter.js').Emitter }> & { size: number },
 *   link: { connection: { check: (event: string, argument: object) => void } },
 *   outbox?: Queue | undefined }} Queued a document, as the outbox sees it: it has no `inboxes` when it is closed. The
 *   outbox keeps `pending` up to date, and sets `outbox` when it is open: from then on the document calls it
 */

/**
 * Where edits are stored. Two implementations, IndexedDB and memory, pass the same suite.
 *
 * @typedef {object} Stored an edit
 * @property {number} seq
 * @property {string} [event]
 * @property {unknown} data a structured clone
 * @property {true} [cut] the gateway has cut the connection before it answered: the edit is sent alone, and dropped if
 *   that happens again
 *
 * @typedef {object} Store
 * @property {(key: string) => Promise<Map<string, Stored[]>>} load the edits of a user and document, by the id of
 *   their queue, in order of `seq`
 * @property {(key: string, queue: string, edit: Stored) => Promise<void>} add resolves when it is stored, in place
 *   of one with the same `seq`; rejects if the data cannot be cloned, or the storage is full
 * @property {(key: string, queue: string, seq: number) => Promise<void>} remove
 */

/**
 * Takes a name for this page while it lives: of several pages that ask for one, each gets it after the one before has
 * given it back, or has ended.
 * @callback Lock
 * @param {string} name
 * @param {AbortSignal} signal ends the wait, or gives the name back
 * @param {boolean} [wait] whether to wait for a name that another page has; default true
 * @returns {Promise<boolean>} whether this page has it now; rejects with the reason of the signal
 */

export {}
