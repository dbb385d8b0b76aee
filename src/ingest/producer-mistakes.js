import { LogLimit } from '../base/common/log-limit.js'
import { isSimilar } from '../base/common/similar.js'
import { HEADER } from '../wire/headers.js'

const KNOWN = new Set(/** @type {string[]} */ (Object.values(HEADER)))
const EXTENSIONS = [...KNOWN].filter((name) => name.startsWith('x-'))
/** Names of headers that are remembered, to compare and report each once. Producers can invent any number. */
const MAX_NAMES = 1000

/**
 * Tells the people who run producers what is wrong with their records: a line for each kind of mistake.
 *
 * @typedef {{ topic: string, partition: number, offset: string }} Place
 */
export class ProducerMistakes {
  /** @type {Map<string, LogLimit>} by error code */
  #limits = new Map()
  /** @type {Set<string>} names of headers that inkcast does not know */
  #seen = new Set()
  #log
  #clock

  /**
   * @param {object} dependencies
   * @param {import('../base/common/log.js').Log} dependencies.log
   * @param {Pick<import('../base/common/clock.js').Clock, 'monotonic'>} dependencies.clock
   */
  constructor ({ log, clock }) {
    this.#log = log
    this.#clock = clock
  }

  /**
   * @param {import('../base/common/errors.js').InkcastError} error of a record that goes to the dead letters
   * @param {Place} place
   */
  refused ({ code, message }, place) {
    let limit = this.#limits.get(code)
    if (limit === undefined) this.#limits.set(code, limit = new LogLimit({ clock: this.#clock }))
    if (limit.due())
      this.#log.warn({ reason: code, ...place }, `${message}: the record goes to the dead-letter topic, as do others like it`)
  }

  /**
   * Warns of a header whose name is like one that inkcast reads. It may be for other services, so the record is
   * delivered.
   * @param {import('../kafka/contract.js').Headers | undefined} headers
   * @param {Place} place
   */
  look (headers, place) {
    for (const name in headers) {
      if (KNOWN.has(name) || this.#seen.has(name) || !name.startsWith('x-')) continue
      if (this.#seen.size >= MAX_NAMES) return
      this.#seen.add(name)
      const meant = EXTENSIONS.find((known) => isSimilar(name, known))
      if (meant !== undefined)
        this.#log.warn({ header: name, ...place }, `inkcast does not read this header: ${meant} is meant?`)
    }
  }
}
