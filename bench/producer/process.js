/**
 * Publishes records, in a process of its own whose CPU time is in no figure. It takes commands from its parent
 * (producer.js) and ends with it.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { serve } from '../../packages/load/child.js'
import { now, valueOf } from '../message.js'
import { openFloor } from './floor.js'
import { openKafka } from './kafka.js'

/** Records per call: a batch for the broker of at most half a megabyte. */
const CHUNK = 1000

/**
 * @typedef {{ document: number, sequence: number, value: Buffer }} OutgoingRecord
 * @typedef {(records: OutgoingRecord[]) => Promise<void>} Publish
 * @typedef {{ brokers: string, topic: string } | { port: number }} Destination Kafka or the floor
 */

/** Number of the last record of each document. @type {Map<number, number>} */
const sequences = new Map()
/** @type {Publish} */
let publish = () => Promise.reject(new Error('not connected'))

const commands = {
  /** @param {Destination} destination */
  async connect (destination) {
    publish = 'port' in destination ? await openFloor(destination.port) : await openKafka(destination)
  },

  /**
   * @param {import('../job.js').Job} job
   * @returns {Promise<{ lateMs: number }>} maximum delay of a record
   */
  async produce ({ base, documents, records, perSecond }) {
    /** @param {number} from @param {number} to */
    const take = (from, to) => publish(Array.from({ length: to - from }, (_, i) => {
      const document = base + (from + i) % documents
      const sequence = (sequences.get(document) ?? 0) + 1
      sequences.set(document, sequence)
      return { document, sequence, value: valueOf(document, sequence, now()) }
    }))

    if (perSecond === 0) {
      for (let from = 0; from < records; from += CHUNK) await take(from, Math.min(records, from + CHUNK))
      return { lateMs: 0 }
    }
    let lateMs = 0
    /** @type {Promise<void>[]} */
    const sent = []
    const begin = performance.now()
    const dueAt = (/** @type {number} */ record) => begin + record * 1000 / perSecond
    for (let done = 0; done < records;) {
      await delay(Math.max(0, dueAt(done) - performance.now()))
      const time = performance.now()
      const due = Math.min(records, Math.floor((time - begin) * perSecond / 1000) + 1)
      if (due <= done) continue
      lateMs = Math.max(lateMs, time - dueAt(done))
      sent.push(take(done, due))
      done = due
    }
    await Promise.all(sent)
    return { lateMs: Math.round(lateMs * 10) / 10 }
  }
}

/** @typedef {typeof commands} Commands */

serve(commands)
