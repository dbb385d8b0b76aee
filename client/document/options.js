/**
 * The types of a membership: what it uses, and how it is opened.
 *
 * @typedef {import('./positions.js').Position} Position
 * @typedef {import('../common/error.js').ClientError} ClientError
 */

/**
 * The functions of the client that a membership uses.
 * @typedef {object} Link
 * @property {(event: string, argument: object, timeout: number) => Promise<any>} request rejects with a ClientError
 * @property {(event: string, argument: object) => void} tell
 * @property {(event: string, argument: object) => void} check throws value_too_large, bad_value
 * @property {import('../common/log.js').Log} log
 * @property {(guid: string, events: Omit<QueueEvents, 'send'>) => Promise<Queue> | null} openQueue null: there
 *   is no outbox
 * @property {(connectionId: string) => boolean} isOwn whether it is, or was, a connection of this client
 * @property {(guid: string, position: Position | null) => void} save
 * @property {(membership: import('./membership.js').Membership, toLeave: boolean) => void} gone it was closed; toLeave:
 *   send `doc:leave` to the gateway
 */

/**
 * @typedef {import('../outbox/contract.js').Queue} Queue
 * @typedef {import('../outbox/contract.js').QueueEvents} QueueEvents
 */

/**
 * @template {object} [Presence=Record<string, any>]
 * @typedef {object} OpenOptions
 * @property {Position | null | undefined} [position] position of the caller's copy of the document: the gateway first
 *   sends the records after it. Default: the stored position; without one, the end of the log
 * @property {import('../types.js').Load | undefined} [load] loads the document from its service: at the start, if there
 *   is no position, and after each `resync`
 * @property {boolean | undefined} [presence] whether to be in the list `presence`, and to receive this list. Default:
 *   true if there is a `state`
 * @property {Presence | undefined} [state] what other members see of this one in `presence`
 * @property {boolean | undefined} [echo] whether to receive this client's own messages if the gateway publishes them,
 *   that is, if there is no service. Default false
 * @property {boolean | undefined} [offline] whether `open` resolves at once, also without a connection: for a page that
 *   shows what the outbox keeps. `doc.ready` resolves when the document is joined and loaded. Default false
 * @property {((reason: ClientError | null) => void) | undefined} [onReason] called when `doc.reason` changes, also
 *   while `open` waits
 * @property {AbortSignal | undefined} [signal] its abort ends the wait for the document
 * @property {number | undefined} [timeout] maximum wait for the document, ms. Default: none
 */

export {}
