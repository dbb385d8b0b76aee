import { publication } from '../contract/bus-fixture.js'

/**
 * The log of one document, and a bus that delivers nothing by itself: the test decides what arrives live, late or not
 * at all.
 */
export class ScriptedBus {
  epoch = 'one'
  /** @type {import('../../src/log/bus/contract.js').BusRecord[]} records still in the log */
  records = []
  /** @type {string[]} operations in call order */
  calls = []
  #offset = 0
  /** Offset of the last record dropped from the start. */
  #base = 0
  /** @type {Map<string, (() => void)[]>} */
  #held = new Map()
  /** @type {Map<string, number>} */
  #failing = new Map()

  /**
   * Appends a record that is not delivered.
   * @param {Partial<import('../../src/wire/publication.js').Publication>} [fields]
   */
  append (fields) {
    const record = {
      epoch: this.epoch,
      offset: ++this.#offset,
      publication: publication({ guid: 'doc', ...fields }),
      ingestedAt: 0
    }
    this.records.push(record)
    return record
  }

  /** @param {number} count */
  appendMany (count) { return Array.from({ length: count }, () => this.append()) }

  /** @param {number} count of records to drop from the start of the log */
  trim (count) { this.#base = this.records.splice(0, count).at(-1)?.offset ?? this.#base }

  /** Removes records as if newer ones of their keys had replaced them. @param {number[]} offsets */
  replace (offsets) { this.records = this.records.filter(({ offset }) => !offsets.includes(offset)) }

  /** Loses the log and starts another one. @param {string} epoch */
  lose (epoch) {
    this.epoch = epoch
    this.#offset = 0
    this.#base = 0
    this.records = []
  }

  /** Loses the last records of the log; their offsets are used again. @param {number} count */
  rollBack (count) {
    this.records.splice(-count)
    this.#offset -= count
  }

  get end () { return { epoch: this.epoch, offset: this.#offset } }

  /**
   * Blocks calls of an operation from now on.
   * @param {string} operation
   * @returns {{ waiting: () => number, release: () => void }} release unblocks pending and later calls
   */
  hold (operation) {
    /** @type {(() => void)[]} */
    const waiting = []
    this.#held.set(operation, waiting)
    return {
      waiting: () => waiting.length,
      release: () => {
        this.#held.delete(operation)
        for (const resolve of waiting.splice(0)) resolve()
      }
    }
  }

  /** @param {string} operation @param {number} times number of failures */
  fail (operation, times) { this.#failing.set(operation, times) }

  /** @param {string} operation @param {string} [detail] */
  async #call (operation, detail = '') {
    this.calls.push(operation + detail)
    const failures = this.#failing.get(operation) ?? 0
    if (failures > 0) {
      this.#failing.set(operation, failures - 1)
      throw new Error(`${operation} fails`)
    }
  }

  /** @param {string} operation */
  async #wait (operation) {
    const held = this.#held.get(operation)
    if (held !== undefined) await new Promise((resolve) => { held.push(() => resolve(undefined)) })
  }

  async subscribe () {
    await this.#call('subscribe')
    const end = this.end
    await this.#wait('subscribe')
    return end
  }

  async unsubscribe () {
    await this.#call('unsubscribe')
  }

  /**
   * Reads the log at the time of the call; the response may be delayed.
   * @param {string} _guid
   * @param {import('../../src/wire/position.js').Position} since
   * @param {number} limit
   */
  async history (_guid, since, limit) {
    await this.#call('history', ` ${since.offset}`)
    const position = this.end
    /** @type {import('../../src/log/bus/contract.js').History} */
    let answer
    if (since.epoch !== this.epoch || since.offset > this.#offset) answer = { position, records: [], gap: 'epoch' }
    else if (since.offset < this.#base) answer = { position, records: [], gap: 'trimmed' }
    else {
      const records = this.records.filter(({ offset }) => offset > since.offset).slice(0, limit)
      answer = { position, records, gap: null }
    }
    await this.#wait('history')
    return answer
  }

  /** @param {string} _guid @param {number} count @param {number} limit */
  async newest (_guid, count, limit) {
    await this.#call('newest', ` ${count}`)
    /** @type {import('../../src/log/bus/contract.js').History} */
    const answer = { position: this.end, records: this.records.slice(-count).slice(0, limit), gap: null }
    await this.#wait('newest')
    return answer
  }

  /** @param {string[]} guids @returns {Promise<(import('../../src/wire/position.js').Position | undefined)[]>} */
  async positions (guids) {
    await this.#call('positions')
    const ends = guids.map(() => this.end)
    await this.#wait('positions')
    return ends
  }
}

/** A member that records its deliveries. */
export class FakeMember {
  /** @type {number[]} */
  offsets = []
  /** @type {{ offset: number, epoch: string, reason: string }[]} */
  resyncs = []
  /** Offsets of positions from which it had to continue. @type {number[]} */
  positions = []
  /** @type {Promise<void> | undefined} */
  full
  /** Documents that are behind. */
  behind = 0

  /** @param {string} [id] @param {string} [client] */
  constructor (id = 'member', client) {
    this.id = id
    this.client = client
    this.sender = `sender of ${id}`
  }

  /** @param {import('../../src/log/bus/contract.js').BusRecord} record @returns {false | void} */
  deliver ({ offset }) {
    if (this.full !== undefined) return false
    this.offsets.push(offset)
  }

  fellBehind () { this.behind++ }

  caughtUp () { this.behind-- }

  /** Stops accepting records. @returns {() => void} accepts them again */
  fill () {
    let drain = () => {}
    this.full = new Promise((resolve) => { drain = resolve })
    return () => {
      this.full = undefined
      drain()
    }
  }

  drained () { return this.full }

  /** @param {string} _guid @param {import('../../src/wire/position.js').Position} position */
  passedOver (_guid, { offset }) { this.positions.push(offset) }

  /** @param {string} _guid @param {import('../../src/wire/position.js').Position} position @param {string} reason */
  resync (_guid, { epoch, offset }, reason) { this.resyncs.push({ epoch, offset, reason }) }
}
