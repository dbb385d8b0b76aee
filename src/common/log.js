import pino from 'pino'
import pretty from 'pino-pretty'

/** @typedef {import('pino').Logger} Log */

// No secret gets into a log by way of an object that happens to hold one.
const SECRETS = ['token', 'password', 'sid', 'authorization', 'headers']
const redact = { paths: SECRETS.flatMap((name) => [name, `*.${name}`]), censor: '[hidden]' }

/**
 * The process's root log: JSON lines in production, readable lines in development. Never a line per message:
 * what happens per record or connection is a metric, or `debug`.
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
    // PM2 replaces the write of it; pino looks at that itself
    destination: Object.hasOwn(process.stdout, 'write') ? process.stdout : 1
  }))
}
