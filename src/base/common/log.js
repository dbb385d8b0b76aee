import { createRequire } from 'node:module'
import { createErrorSerializer } from './log-error.js'
import { createLogOutput } from './log-output.js'
import { printableJson } from './printable.js'
import { RepeatedLines } from './repeated-lines.js'

const require = createRequire(import.meta.url)
const { pino } = require('pino')

/** @typedef {import('pino').Logger} Log */
/** @typedef {import('./log-level.js').LogLevel} LogLevel */

// objects that are logged may hold secrets: leave these fields out
const SECRETS = ['token', 'password', 'sid', 'authorization', 'headers']
const redact = { paths: SECRETS.flatMap((name) => [name, `*.${name}`]), censor: '[hidden]' }
/** Lines of these levels are limited: those below are for a person who has asked for them. */
const LIMITED = { from: pino.levels.values.info, to: pino.levels.values.error }

/**
 * The root log of the process: JSON lines in production, readable lines in development, written asynchronously
 * (log-output.js). No line per message: events per record or connection are metrics, or logged at `debug`.
 *
 * @param {object} settings
 * @param {LogLevel} settings.level
 * @param {boolean} settings.pretty readable lines instead of JSON
 * @param {string} settings.role `gateway`, `ingest`, `api`, `launcher` or `embedded`
 * @param {number} [settings.slot] which of the role's processes this is, from 0
 * @param {(reason: 'full' | 'repeated', lines: number) => void} [settings.onDrop] lines that are not written
 * @param {import('./clock.js').Clock} settings.clock
 * @returns {Log}
 */
export function createLog ({ level, pretty: readable, role, slot, onDrop = () => {}, clock }) {
  const output = createLogOutput({ onDrop: () => onDrop('full', 1), clock })
  const repeated = new RepeatedLines({ onDrop: () => onDrop('repeated', 1), clock })
  const format = readable ? createFormat(slot) : undefined
  /** @type {Log} */
  const log = pino(
    {
      level,
      base: { pid: process.pid, role, ...(slot === undefined ? {} : { slot }) },
      redact,
      timestamp: pino.stdTimeFunctions.isoTime,
      serializers: { err: createErrorSerializer(() => log.isLevelEnabled('debug')) },
      hooks: {
        logMethod (args, method, number) {
          const write = (/** @type {any[]} */ values) => method.apply(this, /** @type {any} */ (values))
          if (number < LIMITED.from || number > LIMITED.to) write(args)
          else repeated.write(args, number, write)
        }
      }
    },
    /** @type {import('pino').DestinationStream} */ ({
      write (/** @type {string} */ line) { output.write(format === undefined ? line : format(line)) },
      // log.flush
      flush: output.flush,
      // called after a line at level fatal
      flushSync: () => output.flushSync()
    })
  )
  return log
}

/** @param {number | undefined} slot */
function createFormat (slot) {
  // not in production, where each process would keep its code in memory
  const { prettyFactory } = createRequire(import.meta.url)('pino-pretty')
  const pretty = prettyFactory({
    colorize: process.stdout.isTTY,
    translateTime: 'SYS:HH:MM:ss.l',
    ignore: 'pid,hostname,role,slot',
    messageFormat: slot === undefined ? '[{role}] {msg}' : '[{role} {slot}] {msg}',
    singleLine: true
  })
  return (/** @type {string} */ line) => pretty(printableJson(line))
}

/**
 * Ends the process once its lines are written, or after 1 s if nothing reads them.
 * @param {Pick<Log, 'flush'>} log
 * @param {number} code
 */
export function exitAfterLog (log, code) {
  log.flush(() => process.exit(code))
}
