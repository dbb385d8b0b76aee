import { Emitter } from './emitter.js'

/**
 * An entry of the log for developers: a change, a refusal, a gap or a wait. It has no payload and no token.
 *
 * @typedef {object} LogEntry
 * @property {number} at ms since 1970
 * @property {string} what in plain words: `connected`, `load failed` …
 * @property {string} [guid] id of the document, if the entry is about one
 * @property {string | number | boolean | object} [detail] more about it, such as a code or a position
 */

/** @typedef {(entry: LogEntry) => void} LogSink */
/** @typedef {(what: string, guid?: string, detail?: LogEntry['detail']) => void} Log */

/** The only event of a log. */
const ENTRY = ''

/**
 * A log whose sinks can be added later.
 * @param {true | LogSink | undefined} option `true`: the console
 */
export function createLog (option) {
  const sinks = new Emitter()
  /** @param {LogSink} sink @returns {() => void} removes it */
  const add = (sink) => sinks.on(ENTRY, sink)
  if (option)
    add(option === true ? ({ what, guid = '', detail = '' }) => console.debug('inkcast', what, guid, detail) : option)
  return {
    /** @type {Log} */
    log (what, guid, detail) {
      if (!sinks.has(ENTRY)) return
      sinks.emit(ENTRY, {
        // eslint-disable-next-line no-restricted-syntax -- the time of day, for people
        at: Date.now(),
        what,
        ...(guid !== undefined && { guid }),
        ...(detail !== undefined && { detail })
      })
    },
    add
  }
}
