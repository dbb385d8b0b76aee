/**
 * The process of the crowd: guests that have a document open. It begins with the message of crowd.js, reports by
 * messages, and ends with its parent or when its time is over.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { Guest } from './guest.js'

/**
 * @typedef {object} Order
 * @property {import('inkcast-load/websocket.js').Target} target
 * @property {string} document
 * @property {string} event of the numbered records
 * @property {number} guests
 * @property {number} seconds
 * @property {string[]} [tokens] of each guest
 *
 * @typedef {import('./guest.js').Counts & { perSecond: number, left: number }} Report perSecond: deliveries; left: s
 */

/** New connections per second. */
const RAMP = 400
const TICK = 50
/** Interval of reports, ms. */
const EVERY = 500

/** @param {Order} order */
async function run ({ target, document, event, guests: size, seconds, tokens }) {
  const counts = { connected: 0, deliveries: 0, lost: 0, reconnects: 0 }
  const begun = performance.now()
  const left = () => Math.max(0, Math.ceil(seconds - (performance.now() - begun) / 1000))
  const guests = Array.from({ length: size }, (_, i) => new Guest({ target, document, event, counts }, tokens?.[i]))
  let last = { at: begun, deliveries: 0 }
  setInterval(() => {
    const at = performance.now()
    const perSecond = Math.round((counts.deliveries - last.deliveries) / (at - last.at) * 1000)
    last = { at, deliveries: counts.deliveries }
    process.send?.({ ...counts, perSecond, left: left() })
  }, EVERY)
  setTimeout(() => {
    for (const guest of guests) guest.leave()
    process.exit()
  }, seconds * 1000)
  for (let started = 0; started < size;) {
    const due = Math.min(size, Math.ceil((performance.now() - begun) / 1000 * RAMP))
    while (started < due) guests[started++].connect()
    await sleep(TICK)
  }
}

process.once('message', (/** @type {Order} */ order) => {
  run(order).catch((error) => {
    console.error(error)
    process.exit(1)
  })
})
process.on('disconnect', () => process.exit())
// Ctrl-C reaches the whole group: the parent decides
process.on('SIGINT', () => {})
process.on('SIGHUP', () => {})
