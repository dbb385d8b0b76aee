import { InkcastError } from '../common/errors.js'
import { ANSWER_TIMEOUT } from './options.js'
import { groupBySlot, hashSlot } from './hash-slot.js'

/**
 * What is known of one sharded channel, and small tools for many of them.
 *
 * @typedef {object} Entry
 * @property {string} channel
 * @property {number} slot
 * @property {(payload: Buffer) => void} onMessage
 * @property {boolean} wanted
 * @property {SubscriberConnection | null} connection where its SSUBSCRIBE was sent
 * @property {object | null} batch the sending it belongs to; a confirmation of another one is out of date
 * @property {boolean} live confirmed
 * @property {boolean} lost was live and has not been since
 * @property {boolean} alone a command that named it was refused: name it in a command of its own
 * @property {Set<Waiter>} waiters
 *
 * @typedef {{ resolve: () => void, reject: (error: Error) => void }} Waiter
 *
 * @typedef {import('./subscriber-connection.js').SubscriberConnection} SubscriberConnection
 */

/** Channels named in one command: a reply is due for each, and one command should not hold up the others for long. */
const CHANNELS_PER_COMMAND = 500
/**
 * How long a confirmation may take, and, once it is late, the next sign of life, ms.
 * @type {Readonly<{ answer: number, more: number }>}
 */
export const PATIENCE = Object.freeze({ answer: ANSWER_TIMEOUT, more: 1000 })

/** @param {string} channel @param {(payload: Buffer) => void} onMessage @returns {Entry} */
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
 * @param {Entry} entry
 * @param {typeof PATIENCE} patience
 * @returns {Promise<void>} settled by its waiter, or when its connection is away, or silent, for longer than an answer
 *   may take
 */
export function wait (entry, patience) {
  return new Promise((resolve, reject) => {
    let received = -1
    /** @type {NodeJS.Timeout} */
    let timer
    /** @param {Error} [error] */
    const settle = (error) => {
      clearTimeout(timer)
      entry.waiters.delete(waiter)
      if (error === undefined) resolve()
      else reject(error)
    }
    /** @type {Waiter} */
    const waiter = { resolve: () => settle(), reject: settle }
    entry.waiters.add(waiter)

    function look () {
      if (!entry.waiters.has(waiter)) return
      // thousands that were asked for at once are answered one after the other: as long as answers come, ours may
      const now = entry.connection?.received ?? -1
      if (now <= received) settle(new InkcastError('unavailable', 'redis did not confirm a subscription in time'))
      else {
        received = now
        timer = setTimeout(lookLater, patience.more)
      }
    }
    // after what has arrived has been read: this process may have been the slow one
    const lookLater = () => setImmediate(look)
    timer = setTimeout(lookLater, patience.answer)
  })
}

/**
 * Entries that may share a command: all of them, or with Redis Cluster those of one hash slot.
 * @param {Entry[]} entries
 * @param {boolean} single whether there is a single Redis
 * @returns {Entry[][]}
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
