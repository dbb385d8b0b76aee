import { isCovered, readSequence, sequenceText } from '../log/bus/origin.js'
import { Backoff, retry } from '../base/common/backoff.js'

/** Interval of writes, ms: that of commits. */
const INTERVAL = 1000
/** Without a mark, records without a log that are older than this are skipped, ms. */
const MAX_AGE = 5 * 60_000

/**
 * @typedef {import('../log/bus/origin.js').Origin} Origin
 *
 * Storage of marks; `createRedisMarks`.
 * @typedef {object} MarkStore
 * @property {(sources: string[]) => Promise<(string | null)[]>} read
 * @property {(marks: [source: string, mark: string, generation: string][]) => Promise<number[]>} write resolves with 0
 *   for each mark that was not written, because Redis is another generation than the mark's, or its losses have not
 *   been checked yet
 */

/**
 * @typedef {object} Mark
 * @property {Pick<import('../log/bus/origin.js').Origin, 'sequence' | 'epoch'>} [at] newest record of its partition
 *   that is done; undefined: unknown
 * @property {boolean} stored
 * @property {string} generation of Redis in which it was reached
 */

/**
 * A mark is the newest offset of a partition that was ever ingested, independent of consumer groups. Records of
 * documents are deduplicated by their logs. Records without a log (kicks, revokes, messages to users and to everyone,
 * ephemeral ones) would be carried out again after a group's offsets were reset or the group was renamed: those below
 * the mark are skipped. docs/internals/decisions/0013-ingest-consumer.md
 */
export class Marks {
  #dependencies
  /** @type {Map<string, Mark>} by source, of assigned partitions */
  #marks = new Map()
  /** Newest records without a log that are known to be carried out, by source. @type {Map<string, Origin>} */
  #floors = new Map()
  /**
   * Records without a log that are carried out although an earlier one is not done, by source: of a batch or two.
   * @type {Map<string, Set<string>>}
   */
  #ahead = new Map()
  /** @type {import('../base/common/clock.js').Timer | undefined} */
  #timer
  #stopped = false

  /**
   * @param {Pick<import('../observe/services.js').Services, 'clock' | 'random' | 'log'> &
   *   { store: MarkStore, interval?: number }} dependencies interval: ms
   */
  constructor (dependencies) {
    const { interval = INTERVAL } = dependencies
    this.#dependencies = { ...dependencies, interval }
  }

  /** @param {string[]} sources */
  async #load (sources) {
    const missing = sources.filter((source) => !this.#marks.has(source))
    if (missing.length === 0) return
    const texts = await this.#dependencies.store.read(missing)
    for (let i = 0; i < missing.length; i++)
      this.#marks.set(missing[i], { at: readSequence(texts[i] ?? ''), stored: true, generation: '' })
  }

  async #save () {
    this.#timer?.stop()
    this.#timer = undefined
    /** @type {[string, string, string][]} */
    const changed = []
    for (const [source, mark] of this.#marks) {
      if (mark.stored || mark.at === undefined) continue
      mark.stored = true
      changed.push([source, sequenceText(mark.at), mark.generation])
    }
    if (changed.length === 0) return
    try {
      await this.#dependencies.store.write(changed)
    } catch (error) {
      this.#dependencies.log.debug({ err: error }, 'the marks of partitions could not be stored')
      for (const [source] of changed) {
        const mark = this.#marks.get(source)
        if (mark !== undefined) mark.stored = false
      }
      this.#schedule()
    }
  }

  #schedule () {
    const { clock, interval } = this.#dependencies
    if (!this.#stopped) this.#timer ??= clock.timer(interval, () => this.#save())
  }

  /**
   * @param {string[]} sources
   * @returns {Promise<(Mark['at'])[]>} known mark of each
   * @throws when the store is unavailable
   */
  async read (sources) {
    await this.#load(sources)
    return sources.map((source) => this.#marks.get(source)?.at)
  }

  /**
   * Resolves when the mark is loaded, if there is one.
   * @param {string} source
   * @param {AbortSignal} signal
   * @throws its reason
   */
  async ready (source, signal) {
    if (this.#marks.has(source)) return
    const { clock, random } = this.#dependencies
    await retry(() => this.#load([source]), { signal, clock, backoff: new Backoff({ min: 20, max: 1000, random }) })
  }

  /** The mark has gone back together with Redis. @param {Origin} origin records without a log up to it are done */
  carriedOut (origin) { this.#floors.set(origin.source, origin) }

  /** @param {string} source @param {Origin[]} origins of records without a log: their partition is read again */
  carriedOutAhead (source, origins) {
    const ahead = this.#ahead.get(source) ?? new Set()
    for (const origin of origins) ahead.add(sequenceText(origin))
    if (ahead.size > 0) this.#ahead.set(source, ahead)
  }

  /** @param {Origin} origin of the newest record that is done */
  #forgetAhead (origin) {
    const ahead = this.#ahead.get(origin.source)
    if (ahead === undefined) return
    for (const text of ahead) {
      const one = readSequence(text)
      if (one !== undefined && isCovered(one, origin)) ahead.delete(text)
    }
    if (ahead.size === 0) this.#ahead.delete(origin.source)
  }

  /**
   * @param {Origin} origin of a record without a log
   * @param {number} timestamp of the record, ms since 1970
   * @returns {boolean} whether it counts as carried out before: it is below the mark, or old if there is none
   */
  passesOver (origin, timestamp) {
    if (isCovered(origin, this.#floors.get(origin.source))) return true
    if (this.#ahead.get(origin.source)?.has(sequenceText(origin))) return true
    const at = this.#marks.get(origin.source)?.at
    return at === undefined ? this.#dependencies.clock.now() - timestamp > MAX_AGE : isCovered(origin, at)
  }

  /**
   * @param {Origin} origin of the newest record that is done
   * @param {object} place
   * @param {number} place.timestamp of the record
   * @param {boolean} place.last whether it is the partition's last record
   * @param {string} place.generation of Redis in which all records up to it are done
   */
  done (origin, { timestamp, last, generation }) {
    this.#forgetAhead(origin)
    const mark = this.#marks.get(origin.source)
    if (mark === undefined || isCovered(origin, mark.at)) return
    // no mark while an old backlog is read for the first time, so that the age decides also after a restart
    if (mark.at === undefined && !last && this.#dependencies.clock.now() - timestamp > MAX_AGE) return
    mark.at = { sequence: origin.sequence, epoch: origin.epoch }
    mark.generation = generation
    mark.stored = false
    this.#schedule()
  }

  /** Forgets marks of reassigned partitions. @param {(source: string) => boolean} isOurs */
  keep (isOurs) {
    this.#save()
    for (const known of [this.#marks, this.#floors, this.#ahead])
      for (const source of known.keys()) if (!isOurs(source)) known.delete(source)
  }

  async stop () {
    this.#stopped = true
    await this.#save()
  }
}
