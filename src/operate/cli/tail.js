import { InvalidArgumentError } from 'commander'
import { systemClock } from '../../base/common/clock.js'
import { printableLine } from '../../base/common/printable.js'
import { action, paint, print, printError } from './common/terminal.js'
import { reachable, settingsOf } from './common/settings.js'
import { count, timeOf } from './common/values.js'
import { signToken } from './token.js'

/** Beyond this many characters of a payload a terminal shows `…`; files and pipes get all of it. */
const WIDTH = 2000

/** @param {import('commander').Command} program */
export function addTail (program) {
  program
    .command('tail')
    .description('follow a document as a client does, also across reconnects, until Ctrl-C')
    .argument('<guid>', 'the document')
    .option('-n, --last <number>', 'first show the last records of its log (at most 100)', count)
    .option('--from <epoch:offset>', 'first show everything after this position', position)
    .option('--presence', 'also show who comes and goes; this client is then listed as well')
    .option('--count <number>', 'end after this many records', count)
    .option('--json', 'one JSON object per line')
    .option('--url <url>', 'URL of the gateway; default: from HOST, PORT and TLS_FILES')
    .option('--token <token>', 'JWT; default: if AUTH_JWT_SECRET is set, a new token that may read this document')
    .addHelpText('after', `
Examples:
  inkcast tail minutes
  inkcast tail minutes --last 20
  inkcast tail minutes --json --count 1 | jq .payload
  inkcast tail minutes --url https://gateway.example.com --token "$TOKEN"`)
    .action(action((guid, options, command) => tail(guid, options, settingsOf(command.optsWithGlobals()))))
}

/** @param {string} text */
function position (text) {
  const [, epoch, offset] = /^(.+):(\d+)$/.exec(text) ?? []
  if (epoch === undefined) throw new InvalidArgumentError('It is epoch:offset, as in a record\'s meta.')
  return { epoch, offset: Number(offset) }
}

/**
 * @param {string} guid
 * @param {{ last?: number, from?: { epoch: string, offset: number }, presence?: boolean, count?: number, json?:
 *   boolean, url?: string, token?: string }} options
 * @param {import('../../config/load.js').Config} config
 * @returns {Promise<number>} exit code
 */
async function tail (guid, options, { auth, gateway }) {
  const { connect } = await import('../../../client/index.js')
  const scheme = gateway.tls === undefined ? 'http' : 'https'
  const token = options.token ??
    (auth.secret === undefined ? undefined : () => signToken('inkcast-tail', { document: [`${guid}:read`] }, auth))
  const client = connect(options.url ?? `${scheme}://${reachable(gateway.host)}:${gateway.port}`, {
    token, socket: { path: gateway.socketPath }
  })
  client.on('state', (state, reason) => {
    if (state === 'closed') return
    printError(paint('dim', `${state}${reason === null || reason === undefined ? '' : `: ${reason.message}`}`))
  })
  const end = () => client.close()
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, end)

  const show = options.json ? showJson : showLine
  let left = options.count ?? Infinity
  /** The newest record of the log that was shown. */
  let last = 0
  try {
    const doc = await client.open(guid, {
      ...(options.from === undefined ? {} : { position: options.from }),
      ...(options.presence ? { presence: true } : {})
    })
    if (options.presence) doc.on('presence', ({ joined, left: gone }) => {
      for (const member of joined) show({ event: 'presence:joined', payload: member, meta: {} })
      for (const member of gone) show({ event: 'presence:left', payload: member, meta: {} })
    })
    if (options.last !== undefined) {
      const { records } = await doc.history({ limit: Math.min(100, options.last) })
      for (const { event, payload, meta } of /** @type {any[]} */ (records)) {
        if (left-- <= 0) break
        last = meta.offset
        show({ event, payload, meta: { epoch: doc.position?.epoch, ...meta } })
      }
    }
    if (left <= 0) return 0
    for await (const { event, payload, meta } of /** @type {AsyncIterable<any>} */ (doc)) {
      if (meta?.offset !== undefined && meta.offset <= last) continue
      if (event === 'resync') {
        last = 0
        printError(paint('yellow', `records are missing: the log no longer has them (${payload.reason})`))
        continue
      }
      show({ event, payload, meta: { epoch: doc.position?.epoch, ...meta } })
      if (--left <= 0) break
    }
    return 0
  } catch (error) {
    // the end that was asked for
    if (client.state === 'closed') return 0
    printError(`inkcast: ${error instanceof Error ? error.message : error}`)
    return 1
  } finally {
    end()
  }
}

/** @typedef {{ event: string, payload: unknown, meta: Record<string, any> }} Shown */

/** @param {Shown} record */
const showJson = ({ event, payload, meta }) => print(JSON.stringify({ event, payload, meta }, binary))

/** @param {Shown} record */
function showLine ({ event, payload, meta }) {
  const text = printableLine(JSON.stringify(payload, binary) ?? '')
  print([
    paint('dim', timeOf(meta.ts ?? systemClock.now())),
    paint('yellow', (meta.offset === undefined ? '-' : `#${meta.offset}`).padEnd(6)),
    paint('cyan', printableLine(event)),
    process.stdout.isTTY && text.length > WIDTH ? `${text.slice(0, WIDTH)}…` : text
  ].join('  '))
}

/** @param {string} _key @param {any} value binary data as base64 */
const binary = (_key, value) => value?.type === 'Buffer' ? { base64: Buffer.from(value.data).toString('base64') } : value
