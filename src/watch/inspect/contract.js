/**
 * The inspector: the hops of records of one document, user or trace, live, from all processes of all machines. A watch
 * is announced to every process, with a lease that ends by itself; processes send what they see of it to the watch.
 *
 * @typedef {object} Watch one of guid, uid and traceId is set
 * @property {string} id
 * @property {string} [guid]
 * @property {string} [uid]
 * @property {string} [traceId]
 * @property {number} lease ms from now on; 0: it ends
 */

/**
 * Something that a process has seen of a watch. Times in `at` are those of the process's machine; `ms` is measured
 * where both ends are in one process.
 *
 * @typedef {object} InspectEvent
 * @property {number} at ms since 1970
 * @property {Hop} hop
 * @property {number} [ms] since the hop before it
 * @property {string} [operator]
 * @property {string} [guid]
 * @property {string} [uid]
 * @property {string} [sid]
 * @property {string} [client]
 * @property {string} [traceId]
 * @property {string} [event]
 * @property {string} [epoch]
 * @property {number} [offset]
 * @property {string} [source] publisher
 * @property {string} [reason] why: of a close, a drop, a gap, a refusal
 * @property {number} [age] ms since the producer's timestamp
 * @property {number} [count] clients, records or events
 * @property {Receiver[]} [clients]
 * @property {Record<string, string | number | boolean>} [details]
 *
 * @typedef {{ uid: string, sid: string, client?: string, ms: number }} Receiver
 *
 * @typedef {'watching' | 'produced' | 'ingested' | 'logged' | 'published' | 'duplicate' | 'refused' | 'dead_letter' |
 *   'received' | 'written' | 'queued' | 'dropped' | 'behind' | 'caught_up' | 'excepted' | 'acknowledged' | 'gap' |
 *   'repaired' | 'resync' | 'client_event' | 'connected' | 'left' | 'closing' | 'closed' | 'left_out'} Hop
 */

/**
 * @typedef {object} Batch what one process has seen of one watch within a fifth of a second
 * @property {string} process `gateway-0`
 * @property {string} host
 * @property {InspectEvent[]} events
 */

/**
 * Carries announcements and batches. It may lose messages: announcements are repeated, and lost events are only missing
 * on a page.
 *
 * @typedef {object} InspectTransport
 * @property {(onWatch: (watch: Watch) => void) => Promise<void>} start from now on `onWatch` is called with
 *   announcements of all processes, also of this one
 * @property {() => Promise<void>} stop
 * @property {(watch: Watch) => Promise<void>} announce
 * @property {(id: string, batch: Batch) => Promise<void>} send to the followers of the watch; rejects if that failed
 * @property {(id: string, onBatch: (batch: Batch) => void) => Promise<() => void>} follow resolves when batches of the
 *   watch arrive, with a function that ends it
 */

export {}
