/**
 * Publishes to inkcast from Node: documents, users, batches and orders, and the check of webhooks.
 *
 * Reference: docs/publishers.md
 */
export { ERROR_CODES, InkcastError } from './errors.js'
export { Publisher } from './publisher.js'
export { verifyWebhook } from './webhook.js'

/** @typedef {import('./errors.js').ErrorCode} ErrorCode */
/** @typedef {import('./batch.js').Publication} Publication */
/** @typedef {import('./batch.js').Result} Result */
/** @typedef {import('./publisher.js').PublisherOptions} PublisherOptions */
/** @typedef {import('./publisher.js').Published} Published */
/** @typedef {import('./publisher.js').Done} Done */
