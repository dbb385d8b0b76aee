/**
 * Yjs provider for inkcast: shared documents over the gateway, which holds none of them in memory.
 *
 *   import { connect } from 'inkcast-client'
 *   import { InkcastProvider } from 'inkcast-yjs'
 *   import * as Y from 'yjs'
 *
 *   const doc = new Y.Doc()
 *   const client = connect('https://gateway.example.com')
 *   const provider = new InkcastProvider(client, 'minutes', doc)
 *
 * Reference: docs/yjs.md
 */

/** @typedef {import('./provider.js').Options} Options */
/** @typedef {import('./provider.js').ProviderEvents} ProviderEvents */
/** @typedef {import('./provider.js').Snapshot} Snapshot */
/** @typedef {import('./provider.js').Status} Status */
/** @typedef {import('./provider.js').Store} Store */

export { InkcastProvider } from './provider.js'
