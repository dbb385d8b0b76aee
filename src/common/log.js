import pino from 'pino'
import pretty from 'pino-pretty'

/** @typedef {import('pino').Logger} Log */

// objects that are logged may hold secrets: leave these fields out
const SECRETS = ['token', 'password', 'sid', 'authorization', 'headers']
const redact = { paths: SECRETS.flatMap((name) => [name, `*.${name}`]), censor: '[hidden]' }

/**
 * The root log of the process: JSON lines in production, readable lines in development. No line per message: events per
 * record or connection are metrics, or logged at `debug`.
 *
 * @param {object} settings
 * @param {string} settings.level pino's levels or `silent`
 * @param {boolean} settings.pretty readable lines instead of JSON
 * @param {string} settings.role `gateway`, `ingest`, `api`, `launcher` or `embedded`
 * @param {number} [settings.slot] which of the role's processes this is, from 0
 * @returns {Log}
 */
export function createLog ({ level, pretty: readable, role, slot }) {
  const base = { pid: process.pid, role, ...(slot === undefined ? {} : { slot }) }
  const options = { level, base, redact, timestamp: pino.stdTimeFunctions.isoTime }
  if (!readable) return pino(options)
  return pino(options, pretty({
    colorize: process.stdout.isTTY,
    translateTime: 'SYS:HH:MM:ss.l',
    ignore: 'pid,hostname,role,slot',
    messageFormat: slot === undefined ? '[{role}] {msg}' : '[{role} {slot}] {msg}',
    singleLine: true,
    sync: true,
    // PM2 replaces process.stdout.write; pino checks for that itself
    destination: Object.hasOwn(process.stdout, 'write') ? process.stdout : 1
  }))
}
