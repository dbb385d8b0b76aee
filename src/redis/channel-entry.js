import { InkcastError } from '../base/common/errors.js'
import { ANSWER_TIMEOUT } from './options.js'
import { groupBySlot, hashSlot } from './hash-slot.js'

/**
 * The state of one sharded channel, with helpers for many of them.
 *
 * @typedef {object} ChannelEntry
 * @property {string} channel
 * @property {number} slot
 * @property {(payload: Buffer) => void} onMessage
 * @property {boolean} wanted
 * @property {SubscriberConnection | null} connection where its SSUBSCRIBE was sent
 * @property {object | null} batch identifies the last SSUBSCRIBE; a confirmation of another one is outdated
 * @property {boolean} live confirmed
 * @property {boolean} lost was live before, and is not now
 * @property {boolean} alone a command that named it was refused: name it in a command of its own
 * @property {Set<Waiter>} waiters
 *
 * @typedef {{ resolve: () => void, reject: (error: Error) => void }} Waiter
 *
 * @typedef {import('./subscriber-connection.js').SubscriberConnection} SubscriberConnection
 */

/** Maximum number of channels per command: Redis replies to each, and one command should not block others for long. */
const CHANNELS_PER_COMMAND = 500
/**
 * Timeouts of a confirmation, ms: the first one, and after it the maximum pause between bytes from the server.
 * @type {Readonly<{ answer: number, more: number }>}
 */
export const PATIENCE = Object.freeze({ answer: ANSWER_TIMEOUT, more: 1000 })

/** @param {string} channel @param {(payload: Buffer) => void} onMessage @returns {ChannelEntry} */
export const createEntry = (channel, onMessage) => ({
  channel,
  slot: hashSlot(channel),
  onMessage,
  wanted: true,
  connection: null,
  batch: null,
  live: false,
  lost: false,
  alone: false,
  waiters: new Set()
})

/**
 * @param {ChannelEntry} entry
 * @param {typeof PATIENCE} patience
 * @param {Pick<import('../base/common/clock.js').Clock, 'timer' | 'soon'>} clock
 * @returns {Promise<void>} settled by its waiter, or rejected when it has no connection, or a silent one, for longer
 *   than `patience`
 */
export function wait (entry, patience, clock) {
  return new Promise((resolve, reject) => {
    let received = -1
    /** @type {import('../base/common/clock.js').Timer} */
    let timer
    /** @param {Error} [error] */
    const settle = (error) => {
      timer.stop()
      entry.waiters.delete(waiter)
      if (error === undefined) resolve()
      else reject(error)
    }
    /** @type {Waiter} */
    const waiter = { resolve: () => settle(), reject: settle }
    entry.waiters.add(waiter)

    function look () {
      if (!entry.waiters.has(waiter)) return
      // the server replies to thousands of subscriptions in sequence: as long as bytes arrive, wait for this one
      const now = entry.connection?.received ?? -1
      if (now <= received) settle(new InkcastError('unavailable', 'redis did not confirm a subscription in time'))
      else {
        received = now
        timer = clock.timer(patience.more, lookLater)
      }
    }
    // soon: first read the bytes that have arrived, because this process itself may have been slow
    const lookLater = () => { clock.soon(look) }
    timer = clock.timer(patience.answer, lookLater)
  })
}

/**
 * Entries that may share a command: all of them, or with Redis Cluster those of one hash slot.
 * @param {ChannelEntry[]} entries
 * @param {boolean} single whether there is a single Redis
 * @returns {ChannelEntry[][]}
 */
export const group = (entries, single) => [
  ...entries.filter(({ alone }) => alone).map((entry) => [entry]),
  ...groupBySlot(
    entries.filter(({ alone }) => !alone),
    ({ slot }) => single ? 0 : slot,
    CHANNELS_PER_COMMAND
  )
]

/**
 * @template K, V
 * @param {Map<K, V[]>} lists
 * @param {K} key
 * @param {V} value
 */
export function push (lists, key, value) {
  const list = lists.get(key)
  if (list === undefined) lists.set(key, [value])
  else list.push(value)
}
