import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)
const { pino } = require('pino')

/** Bytes queued for standard output; further lines are dropped and counted. */
const MAX_WAITING = 8 * 1024 * 1024
/** After this time lines count as written, ms. */
const MAX_WRITING = 5000
/** After this time without progress, a process that ends no longer waits for what reads its output, ms. */
const MAX_FLUSH = 1000

/**
 * Standard output, written asynchronously: a terminal, pipe or file that is slow or stuck never holds up the event
 * loop. The lines that are queued at the end of the process are written then.
 *
 * @param {object} options
 * @param {() => void} [options.onDrop] called for each line that is dropped, because too many wait
 * @param {number} [options.maxWaiting] bytes
 * @param {number} [options.fd]
 * @param {Pick<import('./clock.js').Clock, 'timer' | 'soon'>} options.clock
 * @returns {{ write: (line: string) => void, flush: (done: () => void) => void, flushSync: () => void }} `flush`: done
 *   when all lines are written, or when nothing has read any for 1 s. `flushSync` passes a write that is under way in
 *   another thread, which mixes lines if what reads is slow: only for the end of a process that has failed.
 */
export function createLogOutput ({ onDrop = () => {}, maxWaiting = MAX_WAITING, fd = 1, clock }) {
  // PM2 has replaced it: standard output itself leads nowhere
  if (fd === 1 && Object.hasOwn(process.stdout, 'write')) return createReplacedOutput({ onDrop, maxWaiting, clock })
  /** @type {ReturnType<typeof pino.destination> | undefined} opened by the first line */
  let destination
  /**
   * Lines of this turn: a process that is killed after a fatal line must not have left one of them to another thread.
   * @type {string[]}
   */
  let lines = []
  /** Characters that are not written yet, those of this turn with them. */
  let waiting = 0
  let ended = false
  function open () {
    const opened = pino.destination({ dest: fd, sync: false })
    opened.on('drain', () => { waiting = lengthOf(lines) })
    // a full disk, say; the lines wait within their bound and are tried again with the next one
    opened.on('error', () => {})
    process.on('exit', flushSync)
    return opened
  }
  function flushTurn () {
    const turn = lines
    lines = []
    for (const line of turn) destination?.write(line)
  }
  function flushSync () {
    if (destination === undefined || ended) return
    const turn = lines
    lines = []
    try {
      destination.flushSync()
      if (turn.length > 0) pino.destination({ dest: fd, sync: true }).write(turn.join(''))
      waiting = 0
    } catch {
      // nothing reads standard output any more
    }
  }
  return {
    write (line) {
      if (ended) return
      if (waiting + line.length > maxWaiting) return onDrop()
      destination ??= open()
      if (lines.length === 0) clock.soon(flushTurn)
      lines.push(line)
      waiting += line.length
    },
    flush (done) {
      if (waiting === 0 || destination === undefined) return done()
      const written = destination
      const giveUp = () => {
        written.off('write', onWrite)
        // or the end of the process would write them, and wait without a bound
        ended = true
        written.destroy()
        done()
      }
      let timer = clock.timer(MAX_FLUSH, giveUp)
      function onWrite () {
        timer.stop()
        timer = clock.timer(MAX_FLUSH, giveUp)
      }
      written.on('write', onWrite)
      flushTurn()
      written.once('drain', () => {
        written.off('write', onWrite)
        timer.stop()
        done()
      })
    },
    flushSync
  }
}

/** @param {string[]} lines */
function lengthOf (lines) {
  return lines.reduce((sum, line) => sum + line.length, 0)
}

/**
 * The `write` of PM2, which sends its text to the daemon and writes it to a file, both asynchronously and without a
 * bound: the lines of a turn go there together, and no more than `maxWaiting` bytes.
 * @param {{ onDrop: () => void, maxWaiting: number, clock: Pick<import('./clock.js').Clock, 'timer' | 'soon'> }}
 *   options
 */
function createReplacedOutput ({ onDrop, maxWaiting, clock }) {
  /** Lines of this turn. */
  let lines = ''
  /** Characters of earlier turns that are not written yet. */
  let writing = 0
  function flush () {
    const text = lines
    lines = ''
    if (text === '') return
    writing += text.length
    let done = false
    const written = () => {
      timer.stop()
      if (!done) writing -= text.length
      done = true
    }
    // with some of its settings PM2 never says when
    const timer = clock.timer(MAX_WRITING, written).unref()
    process.stdout.write(text, 'utf8', written)
  }
  process.on('exit', flush)
  return {
    /** @param {string} line */
    write (line) {
      if (lines.length + writing + line.length > maxWaiting) return onDrop()
      if (lines === '') clock.soon(flush)
      lines += line
    },
    /** @param {() => void} done */
    flush (done) {
      flush()
      done()
    },
    flushSync: flush
  }
}
