import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)

/** Delay of the check of pending requests without throttling, as in kafkajs, ms. */
const CHECK_INTERVAL = 10
/** Interval of timeout checks, ms; kafkajs checks every 100 ms, on every connection. */
const TIMEOUT_CHECK_INTERVAL = 1000

/**
 * The parts of kafkajs/src/network/requestQueue/index.js that are used here.
 * @typedef {object} RequestQueue
 * @property {unknown[]} pending
 * @property {Map<number, { sentAt: number, requestTimeout: number, timeoutRequest: () => void }>} inflight
 * @property {number} throttledUntil ms since 1970
 * @property {NodeJS.Timeout | null} throttleCheckTimeoutId
 * @property {NodeJS.Timeout} [requestTimeoutIntervalId]
 * @property {boolean} enforceRequestTimeout
 * @property {number} requestTimeout
 * @property {() => boolean} isConnected
 * @property {() => void} destroy
 * @property {() => void} checkPendingRequests
 * @property {() => void} scheduleCheckPendingRequests
 * @property {() => void} scheduleRequestTimeoutCheck
 */
/** @typedef {{ new (options: object): RequestQueue, prototype: RequestQueue }} RequestQueueClass */

/**
 * Stops the timer loop of kafkajs: after its first response every connection keeps setting a timer of -1 ms (no
 * throttling), which Node runs every millisecond and Node 24 warns about. The patch sets a timer only while requests
 * are pending.
 * https://github.com/tulios/kafkajs/issues/1704, https://github.com/tulios/kafkajs/issues/1751
 */
export function patchRequestQueue () {
  /** @type {RequestQueueClass} */
  const { prototype } = require('kafkajs/src/network/requestQueue')
  prototype.scheduleCheckPendingRequests = scheduleCheckPendingRequests
  prototype.scheduleRequestTimeoutCheck = scheduleRequestTimeoutCheck
}

/** @this {RequestQueue} */
function scheduleCheckPendingRequests () {
  // without pending requests there is nothing to check; adding one calls this again
  if (this.throttleCheckTimeoutId || this.pending.length === 0) return
  const throttledFor = this.throttledUntil - Date.now()
  this.throttleCheckTimeoutId = setTimeout(() => {
    this.throttleCheckTimeoutId = null
    this.checkPendingRequests()
  }, throttledFor > 0 ? throttledFor : CHECK_INTERVAL)
}

/** @this {RequestQueue} */
function scheduleRequestTimeoutCheck () {
  if (!this.enforceRequestTimeout) return
  this.destroy()
  this.requestTimeoutIntervalId = setInterval(() => {
    const now = Date.now()
    for (const request of this.inflight.values())
      if (now - request.sentAt > request.requestTimeout) request.timeoutRequest()
    if (!this.isConnected()) this.destroy()
  }, Math.min(this.requestTimeout, TIMEOUT_CHECK_INTERVAL))
  // keep a closed connection's timer from delaying the exit; an open one keeps the process alive itself
  this.requestTimeoutIntervalId.unref()
}
