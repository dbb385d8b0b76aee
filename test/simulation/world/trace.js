/**
 * The events of a world. The hash of two runs of a seed is the same, or something in it is not decided by the seed.
 *
 * For people it also keeps lines of text, and the story: plain data for a diagram (../diagram).
 *
 * @typedef {object} StoryProcess
 * @property {string} name
 * @property {string} machine
 * @property {number} begin ms
 * @property {number | null} end ms; null: it lives
 *
 * @typedef {{ type: 'turn', at: number, process: string, text: string }} TurnEvent
 * @typedef {{ type: 'message', at: number, until: number | null, from: string, to: string, kind: string, bytes: number,
 *   text: string }} MessageEvent until: its arrival; null: it is lost. kind: bytes, connect, end or reset
 * @typedef {{ type: 'fault' | 'note' | 'violation' | 'start' | 'end' | 'pause' | 'resume', at: number,
 *   process: string | null, text: string }} MarkEvent process null: of the whole world
 * @typedef {TurnEvent | MessageEvent | MarkEvent} StoryEvent at: ms
 *
 * @typedef {object} Story
 * @property {StoryProcess[]} processes
 * @property {StoryEvent[]} events by time; messages by the time at which they leave
 * @property {number} dropped events before and after these that are not kept
 */
import { preview } from './preview.js'

/** Events and lines that are kept: the newest ones until a violation, then half as many that follow it. */
const MAX_KEPT = 120_000

/** @typedef {{ name: string }} Named */

export class Trace {
  #hash = 0x811c9dc5
  #keeps
  /** @type {Kept<string>} */
  #lines = new Kept()
  /** @type {Kept<StoryEvent>} */
  #events = new Kept()
  /** @type {Map<string, StoryProcess>} */
  #processes = new Map()

  /** @param {boolean} keeps whether it keeps lines and events, for people */
  constructor (keeps) { this.#keeps = keeps }

  get hash () { return (this.#hash >>> 0).toString(16).padStart(8, '0') }

  /** @returns {string[]} */
  get lines () { return this.#lines.all }

  /** @returns {Story} */
  get story () {
    return { processes: [...this.#processes.values()], events: this.#events.all, dropped: this.#events.dropped }
  }

  /** @param {number} time @param {Named & { pid: number } | null} process @param {string} kind */
  turn (time, process, kind) {
    this.#mix(time * 1000)
    this.#mix(process?.pid ?? 0)
    for (let i = 0; i < kind.length; i++) this.#mix(kind.charCodeAt(i))
    if (!this.#keeps) return
    this.#lines.add(`${time.toFixed(3)} ${process?.name ?? '-'} ${kind}`)
    if (process !== null) this.#events.add({ type: 'turn', at: time, process: process.name, text: kind })
  }

  /** @param {number} time @param {string} text @param {Named | null} [process] */
  note (time, text, process = null) { this.#mark('note', time, text, process) }

  /** @param {number} time @param {string} text @param {Named | null} [process] that it concerns */
  fault (time, text, process = null) { this.#mark('fault', time, text, process) }

  /** @param {number} time @param {string} sentence @param {Named | null} [process] */
  violation (time, sentence, process = null) {
    this.#mark('violation', time, sentence, process)
    this.#lines.close()
    this.#events.close()
  }

  /** @param {number} time @param {{ name: string, machine: { name: string } }} process */
  started (time, process) {
    if (!this.#keeps) return
    this.#processes.set(process.name, { name: process.name, machine: process.machine.name, begin: time, end: null })
    this.#mark('start', time, 'starts', process)
  }

  /** @param {number} time @param {Named} process @param {number | null} code null: it was killed */
  ended (time, process, code) {
    const kept = this.#processes.get(process.name)
    if (kept !== undefined) kept.end = time
    this.#mark('end', time, code === null ? 'killed' : `ends with ${code}`, process)
  }

  /** @param {number} time @param {Named} process @param {'pause' | 'resume'} type */
  held (time, process, type) { this.#mark(type, time, type === 'pause' ? 'is stopped' : 'continues', process) }

  /**
   * A message leaves.
   * @param {number} time
   * @param {Named} from
   * @param {Named} to
   * @param {Buffer | 'connect' | 'end' | 'reset'} what
   * @returns {MessageEvent | undefined} for `arrived`; undefined: events are not kept
   */
  sent (time, from, to, what) {
    if (!this.#keeps) return
    const isBytes = typeof what !== 'string'
    /** @type {MessageEvent} */
    const event = {
      type: 'message', at: time, until: null, from: from.name, to: to.name, kind: isBytes ? 'bytes' : what,
      bytes: isBytes ? what.length : 0, text: isBytes ? preview(what) : what
    }
    this.#events.add(event)
    return event
  }

  /** Bytes that arrive. @param {Buffer} bytes */
  bytes (bytes) {
    this.#mix(bytes.length)
    // in a local variable: V8 writes a field in each turn of the loop
    let hash = this.#hash
    for (let i = 0; i < bytes.length; i++) hash = Math.imul(hash ^ bytes[i], 0x01000193)
    this.#hash = hash
  }

  /** @param {MarkEvent['type']} type @param {number} time @param {string} text @param {Named | null} process */
  #mark (type, time, text, process) {
    if (!this.#keeps) return
    const name = process?.name ?? null
    this.#lines.add(`${time.toFixed(3)} * ${type === 'note' ? '' : `${type.toUpperCase()} `}${name === null ? '' : `${name} `}${text}`)
    this.#events.add({ type, at: time, process: name, text })
  }

  /** @param {number} word */
  #mix (word) { this.#hash = Math.imul(this.#hash ^ (word | 0), 0x01000193) }
}

/** The newest things until it closes, and some that follow. @template T */
class Kept {
  /** @type {T[]} */
  #all = []
  #left = Infinity
  dropped = 0

  get all () { return this.#all }

  /** @param {T} thing */
  add (thing) {
    if (this.#left-- <= 0) {
      this.dropped++
      return
    }
    this.#all.push(thing)
    // in blocks, so that dropping costs little
    if (this.#all.length >= 1.5 * MAX_KEPT && this.#left === Infinity)
      this.dropped += this.#all.splice(0, MAX_KEPT / 2).length
  }

  /** From now on only some more are kept. */
  close () { this.#left = Math.min(this.#left, MAX_KEPT / 2) }
}
