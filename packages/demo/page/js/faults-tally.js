/**
 * Compares the numbered records that arrived with those that were acknowledged to their publisher. A record counts as
 * lost if it has not arrived SETTLE after its acknowledgement was known here: until then it is on its way, or the
 * client that reconnects is still catching up.
 *
 * @typedef {object} Published what the publisher says
 * @property {string} run numbers begin at 1 in each
 * @property {number} first those before it went to another document
 * @property {number} sent the last number
 * @property {readonly number[]} open not acknowledged yet
 * @property {readonly number[]} refused given up: they may have arrived or not
 * @property {boolean} running
 */

/** ms */
export const SETTLE = 15_000
/** Lost numbers that are remembered, in case they arrive after all. */
const MAX_LOST = 10_000

export class Tally {
  #run = ''
  /** Numbers of a run that is not known yet: they arrive while the page asks what was published. */
  #early = { run: '', numbers: /** @type {Set<number>} */ (new Set()) }
  /** All numbers up to this one are judged. */
  #done = 0
  /** Later ones that have arrived. @type {Set<number>} */
  #arrived = new Set()
  /** Later ones that were acknowledged and have not arrived; since when. @type {Map<number, number>} */
  #missing = new Map()
  /** Earlier ones that were lost. @type {Set<number>} */
  #lost = new Set()
  /** Earlier ones that have arrived, and later ones that were acknowledged. */
  #judged = 0
  #later = 0
  /** Offset of the last record. @type {number | null} */
  #offset = null
  /** Offsets that were skipped. @type {Set<number>} */
  #skipped = new Set()
  /** Time of the last numbered record, while they are published. @type {number | null} */
  #at = null
  #running = false
  longestPause = 0
  duplicates = 0
  outOfOrder = 0
  resyncs = 0

  /** Acknowledged to the publisher. */
  get published () { return this.#judged + this.#later + this.#lost.size }
  get received () { return this.#judged + this.#later - this.#missing.size }
  get lost () { return this.#lost.size }
  get onTheWay () { return this.#missing.size }
  /** Offsets that are missing. */
  get gaps () { return this.#skipped.size }

  /** Records from now on are counted, and no earlier ones. @param {Published} published */
  begin ({ run, sent }) {
    this.#run = run
    this.#done = sent
    this.#arrived.clear()
    if (this.#early.run === run) for (const number of this.#early.numbers) if (number > sent) this.#arrived.add(number)
    this.#early.numbers.clear()
    this.#missing.clear()
    this.#later = 0
    this.#offset = null
    this.#at = null
  }

  /** Any record of the document. @param {number} offset */
  record (offset) {
    const last = this.#offset
    if (last === null || offset > last) {
      for (let skipped = (last ?? offset) + 1; skipped < offset; skipped++)
        if (this.#skipped.size < MAX_LOST) this.#skipped.add(skipped)
      this.#offset = offset
    } else if (this.#skipped.delete(offset)) this.outOfOrder++
    else this.duplicates++
  }

  /**
   * A numbered record.
   * @param {string} run
   * @param {number} number
   * @param {number} now ms
   */
  numbered (run, number, now) {
    if (run !== this.#run) return this.#remember(run, number)
    if (number > this.#done) this.#arrived.add(number)
    else if (this.#lost.delete(number)) this.#judged++
    if (this.#at !== null) this.longestPause = Math.max(this.longestPause, now - this.#at)
    this.#at = this.#running ? now : null
  }

  /** @param {string} run not the current one @param {number} number */
  #remember (run, number) {
    if (this.#early.run !== run) this.#early = { run, numbers: new Set() }
    if (this.#early.numbers.size < MAX_LOST) this.#early.numbers.add(number)
  }

  /** The document is loaded again: records up to there do not arrive. @param {number} offset */
  resync (offset) {
    this.resyncs++
    this.#offset = offset
  }

  /**
   * @param {Published} published
   * @param {number} now ms
   */
  update (published, now) {
    const { run, first, sent, running } = published
    // the publisher has been started again
    if (run !== this.#run) this.begin(published)
    for (; this.#done < first - 1; this.#done++) {
      this.#arrived.delete(this.#done + 1)
      this.#missing.delete(this.#done + 1)
    }
    this.#running = running
    if (!running) this.#at = null
    const open = new Set(published.open)
    const refused = new Set(published.refused)
    let later = 0
    for (let number = this.#done + 1; number <= sent; number++) {
      if (open.has(number) || refused.has(number)) continue
      later++
      if (this.#arrived.has(number)) this.#missing.delete(number)
      else if (!this.#missing.has(number)) this.#missing.set(number, now)
    }
    this.#later = later
    for (let next = this.#done + 1; next <= sent && this.#judge(next, open, refused, now); next++) this.#done = next
  }

  /**
   * @param {number} number the first one that is not judged
   * @param {Set<number>} open
   * @param {Set<number>} refused
   * @param {number} now
   * @returns {boolean} whether it is known now
   */
  #judge (number, open, refused, now) {
    if (open.has(number)) return false
    if (refused.has(number)) {
      this.#arrived.delete(number)
      return true
    }
    if (this.#arrived.delete(number)) this.#judged++
    else if (now - (this.#missing.get(number) ?? now) >= SETTLE && this.#lost.size < MAX_LOST) this.#lost.add(number)
    else return false
    this.#missing.delete(number)
    this.#later--
    return true
  }
}
