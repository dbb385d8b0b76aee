/**
 * The outbox: edits that were sent with `queue`, kept until the gateway has accepted them. It is loaded when it is
 * needed (client.js); a membership uses one queue of it for its document.
 *
 * @typedef {{ id: string, seq: number }} Place in a queue: its id, and 1, 2, 3 … without a hole
 *
 * @typedef {object} QueueEvents the functions of the membership that a queue uses
 * @property {(argument: { event?: string, data: unknown, queue: Place }) => Promise<{ traceId?: string,
 *   duplicate?: boolean }>} send sends `doc:send` over the current connection; rejects with a ClientError
 * @property {(pending: readonly import('../types.js').QueuedSend[]) => void} onPending called after each change
 *
 * @typedef {object} Queue
 * @property {(argument: { event?: string, data: unknown }) => Promise<{ traceId?: string }>} add resolves when the
 *   gateway has accepted it; rejects with a ClientError if the gateway refuses it for good, or the storage fails
 * @property {() => void} joined the document is joined: send
 * @property {() => void} lost the connection is lost: send all again that have no answer, after the next `joined`
 * @property {() => void} close what is not sent stays stored; a later `open` sends it
 *
 * @typedef {object} Outbox
 * @property {(guid: string, events: QueueEvents) => Queue | Promise<Queue>} open
 */

export {}
