import { throwInkcastError } from '../../redis/errors.js'
import { slotIn } from '../../redis/hash-slot.js'

/**
 * Which connection has each device, over all workers (devices.lua). A device is an id of a user; claims of the same
 * device have an order, that of Redis, and the latest one has the device.
 *
 * @typedef {object} Claim
 * @property {number} at time of the latest claim, ms since 1970 and a number that grows
 * @property {string[]} others connections that had the device, or the one that has it in place of the one that renews
 * @property {boolean} again the one that renews should claim: the worker of the latest claim has died
 * @property {boolean} isDisputed the one that renews should claim if it is the later one: Redis does not know it
 */

/** How long Redis keeps a device after its last renewal or its end, s. */
const KEPT = 3600
/** Answers to a renewal (devices.lua). */
const AGAIN = '?'
const DISPUTED = '!'
/** Devices in one call, at most. */
const BATCH = 200

class Batch {
  /** @type {string[]} */
  keys = []
  /** Three for each of them. @type {(string | number)[]} */
  args = []
  /** @type {(call: Promise<string[]>) => void} */
  resolve = () => {}
  /** @type {Promise<string[]>} */
  done = new Promise((resolve) => { this.resolve = resolve })
}

export class RedisDevices {
  /** Calls of this turn of the event loop, by hash slot. @type {Map<number, Batch>} */
  #batches = new Map()
  #redis
  #clock

  /**
   * @param {object} dependencies
   * @param {import('../../redis/client.js').RedisConnection} dependencies.redis
   * @param {Pick<import('../../base/common/clock.js').Clock, 'soon'>} dependencies.clock
   */
  constructor ({ redis, clock }) {
    this.#redis = redis
    this.#clock = clock
  }

  get ready () { return this.#redis.ready }

  /** @param {string} uid @param {string} device @param {string} sid @returns {Promise<Claim>} */
  claim (uid, device, sid) { return this.#call('+', uid, device, sid, 0) }

  /** @param {string} uid @param {string} device @param {string} sid @param {number} at @returns {Promise<Claim>} */
  renew (uid, device, sid, at) { return this.#call('=', uid, device, sid, at) }

  /** @param {string} uid @param {string} device @param {string} sid @param {number} at @returns {Promise<Claim>} */
  end (uid, device, sid, at) { return this.#call('-', uid, device, sid, at) }

  /**
   * @param {'+' | '=' | '-'} op
   * @param {string} uid
   * @param {string} device
   * @param {string} sid
   * @param {number} at
   * @returns {Promise<Claim>} rejects with a retryable InkcastError; the call may have been executed nevertheless
   */
  #call (op, uid, device, sid, at) {
    const key = this.#redis.keys.userDevice(uid, device)
    const slot = slotIn(this.#redis, key)
    let batch = this.#batches.get(slot)
    if (batch === undefined) {
      if (this.#batches.size === 0) this.#clock.soon(() => this.#flush())
      this.#batches.set(slot, batch = new Batch())
    }
    const place = 2 * (batch.keys.push(key) - 1)
    batch.args.push(op, sid, at)
    if (batch.keys.length === BATCH) {
      this.#batches.delete(slot)
      this.#send(batch)
    }
    return batch.done.then((answer) => {
      const others = answer[place + 1]
      const again = others === AGAIN
      const isDisputed = others.startsWith(DISPUTED)
      const ids = isDisputed ? others.slice(DISPUTED.length) : others
      return { at: Number(answer[place]), others: again || ids === '' ? [] : ids.split(' '), again, isDisputed }
    })
  }

  #flush () {
    for (const batch of this.#batches.values()) this.#send(batch)
    this.#batches.clear()
  }

  /** @param {Batch} batch */
  #send ({ keys, args, resolve }) {
    resolve(this.#redis.scripts.devices(keys, [KEPT, ...args]).catch(throwInkcastError))
  }
}
