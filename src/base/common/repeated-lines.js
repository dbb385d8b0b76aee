/** Lines with the same text that are written within WINDOW. */
const BURST = 20
/** ms */
const WINDOW = 10_000
/** Texts that are remembered; the oldest is forgotten. */
const MAX_TEXTS = 1000

/** @typedef {(args: any[]) => void} Write */

/** @typedef {{ args: any[], write: Write, count: number, timer: import('./clock.js').Timer }} Held */

/**
 * @typedef {object} Text
 * @property {number} since start of its window
 * @property {number} lines in this window
 * @property {Held | undefined} held the newest line that was not written
 */

/**
 * Limits repeated lines: of more than 20 with the same text and level in 10 s the rest is counted, and the last one is
 * written at the end of the 10 s, with their number as `repeated`. Where one line a minute is enough, use LogLimit.
 */
export class RepeatedLines {
  /** @type {Map<string, Text>} */
  #texts = new Map()
  #clock
  #onDrop

  /**
   * @param {object} options
   * @param {Pick<import('./clock.js').Clock, 'monotonic' | 'timer'>} options.clock
   * @param {() => void} [options.onDrop] called for each line that is only counted
   */
  constructor ({ clock, onDrop = () => {} }) {
    this.#clock = clock
    this.#onDrop = onDrop
  }

  /**
   * @param {any[]} args of a log call: `(message)` or `(fields, message)`
   * @param {number} level
   * @param {Write} write called at once, or later with the arguments of the last of several lines
   */
  write (args, level, write) {
    const message = typeof args[0] === 'string' ? args[0] : args[1]
    if (typeof message !== 'string') return write(args)
    const key = `${level} ${message}`
    const text = this.#texts.get(key)
    const now = this.#clock.monotonic()
    if (text === undefined || (now - text.since >= WINDOW && text.held === undefined)) {
      this.#texts.delete(key)
      this.#texts.set(key, { since: now, lines: 1, held: undefined })
      this.#forgetOldest()
      return write(args)
    }
    if (++text.lines <= BURST) return write(args)
    this.#onDrop()
    if (text.held === undefined) {
      const timer = this.#clock.timer(Math.max(0, text.since + WINDOW - now), () => this.#end(key, text))
      text.held = { args, write, count: 1, timer: timer.unref() }
    } else Object.assign(text.held, { args, write, count: text.held.count + 1 })
  }

  /** @param {string} key @param {Text} text */
  #end (key, { held }) {
    this.#texts.delete(key)
    if (held === undefined) return
    const [first, ...rest] = held.args
    const repeated = { repeated: held.count }
    held.write(typeof first === 'string' ? [repeated, first, ...rest] : [{ ...fieldsOf(first), ...repeated }, ...rest])
  }

  #forgetOldest () {
    if (this.#texts.size <= MAX_TEXTS) return
    const [key, text] = /** @type {[string, Text]} */ (this.#texts.entries().next().value)
    text.held?.timer.stop()
    this.#end(key, text)
  }
}

/** @param {unknown} fields @returns {object} */
const fieldsOf = (fields) => fields instanceof Error ? { err: fields } : Object(fields)
