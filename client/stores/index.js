/**
 * State of a client and its documents as stores: `subscribe(changed)` and `snapshot()`. The bindings for React, Vue and
 * Svelte are built on them.
 */
export { CONNECTING, createConnectionStore } from './connection-store.js'
export { createDocumentStore } from './document-store.js'
export { lasting } from './lasting.js'
export { EMPTY, createPresenceStore } from './presence-store.js'

/** @typedef {import('./connection-store.js').ConnectionSnapshot} ConnectionSnapshot */
/**
 * @template Data, Events
 * @typedef {import('./document-store.js').DocumentOptions<Data, Events>} DocumentOptions
 */
/**
 * @template Data
 * @typedef {import('./document-store.js').DocumentSnapshot<Data>} DocumentSnapshot
 */
/**
 * @template {object} Presence
 * @typedef {import('./presence-store.js').PresenceSnapshot<Presence>} PresenceSnapshot
 */
