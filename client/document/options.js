/**
 * How a document is opened.
 *
 * @typedef {import('./positions.js').Position} Position
 * @typedef {import('../common/error.js').ClientError} ClientError
 */

/**
 * @template {object} [Presence=Record<string, any>]
 * @typedef {object} OpenOptions
 * @property {Position | null | undefined} [position] position of the caller's copy of the document: the gateway first
 *   sends the records after it. Default: the stored position; without one, the end of the log
 * @property {number | undefined} [last] the document has no copy on this page: begin with its newest records, at most
 *   this number (1 to 1,000). Only without `position`; a stored position has no effect then. Not together with `load`
 * @property {import('../types.js').Load | undefined} [load] loads the document from its service: at the start, if there
 *   is no position, and after each `resync`
 * @property {boolean | 'watch' | undefined} [presence] whether to be in the list `presence`, and to receive this list.
 *   `watch`: receive it without being in it, until `doc.setState`. Default: true if there is a `state`. Only users who
 *   opened the document with `state` or `presence: true` are in the list
 * @property {Presence | undefined} [state] what other members see of this one in `presence`
 * @property {boolean | undefined} [echo] whether to receive this client's own messages if the gateway publishes them,
 *   that is, if there is no service. Default false. Own signals come back only if a document rule also has
 *   `"echo": true`. Records of a service arrive, unless the service names this client in `x-except`
 * @property {boolean | undefined} [offline] whether `open` resolves at once, also without a connection: for a page that
 *   shows what the outbox keeps. `doc.ready` resolves when the document is joined and loaded. Default false
 * @property {((reason: ClientError | null) => void) | undefined} [onReason] called when `doc.reason` changes, also
 *   while `open` waits
 * @property {AbortSignal | undefined} [signal] its abort ends the wait for the document
 * @property {number | undefined} [timeout] maximum wait for the document, ms. Default: none
 */

export {}
