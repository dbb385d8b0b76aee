'use client'
/**
 * React hooks for inkcast.
 *
 * Reference: docs/react.md
 */
export { InkcastProvider, useClient } from './provider.js'
export { useConnection } from './use-connection.js'
export { useDocument } from './use-document.js'
export { usePresence } from './use-presence.js'
export { useSignal } from './use-signal.js'

/**
 * @template Data, Events
 * @typedef {import('inkcast-client/stores').DocumentOptions<Data, Events>} DocumentOptions
 */
/**
 * @template Data
 * @typedef {import('inkcast-client/stores').DocumentSnapshot<Data>} DocumentSnapshot
 */
