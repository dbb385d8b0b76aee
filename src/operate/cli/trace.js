import { systemClock } from '../../base/common/clock.js'
import { createAdmin, withAdminOptions } from './common/admin.js'
import { action, paint, print } from './common/terminal.js'
import { count, seconds, timeOf } from './common/values.js'

/** Before a feed that has ended is asked for again, ms. */
const PAUSE = 1000
/** W3C trace context: 32 hexadecimal digits. */
const TRACE_ID = /^[0-9a-f]{32}$/
/** Hops that mean trouble: shown in another color. */
const TROUBLE = new Set([
  'refused', 'dead_letter', 'dropped', 'behind', 'gap', 'resync', 'closing', 'left_out', 'queued'
])

/** @param {import('commander').Command} program */
export function addTrace (program) {
  withAdminOptions(program.command('trace'))
    .description('watch where the records of a document, a user or a trace go, live, on all machines, until Ctrl-C')
    .argument('<id>', '32 hexadecimal digits: a trace id. Any other id: the document and the user with this id')
    .option('--document', 'the id is that of a document')
    .option('--user', 'the id is that of a user')
    .option('--trace', 'the id is a trace id')
    .option('--count <number>', 'end after this many events', count)
    .option('--for <time>', 'end after this time: 30s, 5m', seconds)
    .option('--json', 'one JSON object per line, as GET /inspect sends it (docs/status.md)')
    .addHelpText('after', `
Examples:
  inkcast trace minutes
  inkcast trace ada --user
  inkcast trace 4bf92f3577b34da6a3ce929d0e0e4736 --for 30s
  inkcast trace minutes --json --count 20 | jq -r .hop`)
    .action(action((id, options, command) => trace(id, { ...options, ...command.optsWithGlobals() })))
}

/**
 * @typedef {{ document?: boolean, user?: boolean, trace?: boolean, count?: number, for?: number, json?: boolean } &
 *   import('./common/admin.js').AdminOptions} TraceOptions
 */

/**
 * @param {string} id
 * @param {TraceOptions} options
 */
async function trace (id, options) {
  const { follow } = createAdmin(options)
  const stopping = new AbortController()
  const stop = () => stopping.abort()
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, stop)
  const timer = options.for === undefined ? undefined : systemClock.timer(options.for * 1000, stop)
  let left = options.count ?? Infinity
  /** @param {InspectEvent} event */
  const onEvent = (event) => {
    if (event.hop === 'alive' || left <= 0) return
    print(options.json ? JSON.stringify(event) : lineOf(event))
    if (event.hop !== 'watching' && --left <= 0) stop()
  }

  /** @param {string} kind parameter of /inspect */
  async function watch (kind) {
    const query = new URLSearchParams({ [kind]: id })
    while (!stopping.signal.aborted) {
      await follow(`/inspect?${query}`, onEvent, stopping.signal)
      // its process has ended
      await systemClock.sleep(PAUSE, stopping.signal).catch(() => {})
    }
  }
  try {
    await Promise.all(kindsOf(id, options).map(watch))
  } finally {
    timer?.stop()
    stop()
  }
}

/** @param {string} id @param {TraceOptions} options @returns {string[]} parameters of /inspect */
function kindsOf (id, { document, user, trace: isTrace }) {
  const named = [...(document ? ['guid'] : []), ...(user ? ['uid'] : []), ...(isTrace ? ['trace'] : [])]
  if (named.length > 0) return named
  return TRACE_ID.test(id) ? ['trace'] : ['guid', 'uid']
}

/**
 * A line of GET /inspect; `alive` keeps a silent connection open.
 * @typedef {Omit<import('../../watch/inspect/contract.js').InspectEvent, 'hop'> & { hop:
 *   import('../../watch/inspect/contract.js').Hop |
 *   'alive', process: string, host: string }} InspectEvent
 */

/** @param {InspectEvent} seen @returns {string} */
function lineOf (seen) {
  const { at, process: name, host, hop, offset, event, ms, count: number, clients = [], reason, uid, traceId } = seen
  return [
    paint('dim', timeOf(at)),
    `${host} ${name}`.padEnd(20),
    paint(TROUBLE.has(hop) ? 'yellow' : 'cyan', hop.padEnd(12)),
    (offset === undefined ? '' : `#${offset}`).padEnd(6),
    event ?? '',
    ms === undefined ? '' : `${ms} ms`,
    number === undefined ? '' : countOf(number, clients),
    uid === undefined ? '' : `user ${uid}`,
    reason === undefined ? '' : paint('yellow', reason),
    traceId === undefined ? '' : paint('dim', traceId)
  ].filter((part) => part !== '').join('  ').trimEnd()
}

/**
 * @param {number} number of clients, records or events
 * @param {readonly { uid: string }[]} clients the first of them
 */
const countOf = (number, clients) =>
  clients.length === 0
    ? String(number)
    : `${number} client${number === 1 ? '' : 's'}: ${clients.map(({ uid }) => uid).join(', ')}`
