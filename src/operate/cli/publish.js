import { text as readAll } from 'node:stream/consumers'
import { systemRandom } from '../../base/common/random.js'
import { apiUrl } from '../roles/banner.js'
import { HEADER, newTraceId } from '../../wire/headers.js'
import { formatTraceparent } from '../../wire/traceparent.js'
import { action, CommandError, print, printError } from './common/terminal.js'
import { request } from './common/http.js'
import { reachable, settingsOf } from './common/settings.js'

/** @param {import('commander').Command} program */
export function addPublish (program) {
  program
    .command('publish')
    .description('publish a value to a document, a user or everyone, through the api')
    .argument('[guid]', 'the document; not with --user or --everyone')
    .argument('[value]', 'JSON, or text, which is published as a JSON string; `-` or no value: read from standard input')
    .option('--user <uid>', 'publish to all connections of a user')
    .option('--everyone', 'publish to every connection')
    .option('-e, --event <name>', 'name of the event; default: message')
    .option('-k, --key <key>', 'key of the record: the log keeps only the newest record of each key')
    .option('--trace', 'trace the record: print a new `traceparent`, and publish the record with it')
    .option('--ephemeral', 'deliver only, keep nothing in the log')
    .option('--url <url>', 'URL of the api; default: from API_HOST and API_PORT')
    .option('--token <token>', 'token of a caller; default: the first one in API_TOKENS')
    .addHelpText('after', `
Examples:
  inkcast publish minutes '{"text":"hello"}'
  inkcast publish minutes --event slide --key slide '{"number":3}'
  inkcast publish --user ada 'Your report is ready'
  inkcast publish minutes '{"text":"hello"}' --trace
  cat edit.json | inkcast publish minutes -`)
    .action(action(async (first, second, options, command) =>
      publish(first, second, options, command.optsWithGlobals())))
}

/**
 * @param {string | undefined} first
 * @param {string | undefined} second
 * @param {{ user?: string, everyone?: boolean, event?: string, key?: string, ephemeral?: boolean, trace?: boolean,
 *   url?: string, token?: string }} options
 * @param {import('./common/settings.js').GlobalOptions} global
 */
async function publish (first, second, options, global) {
  const { user, everyone } = options
  const toDocument = user === undefined && !everyone
  if (toDocument && first === undefined) throw new CommandError('name the document, or use --user or --everyone')
  if (!toDocument && second !== undefined) throw new CommandError('a document cannot be combined with --user or --everyone')
  const value = toDocument ? second : first
  const path = user !== undefined
    ? `/v1/users/${encodeURIComponent(user)}/send`
    : everyone ? '/v1/broadcast' : `/v1/documents/${encodeURIComponent(/** @type {string} */ (first))}/broadcast`
  const { api } = settingsOf(global)
  const traceparent = options.trace ? newTraceparent() : undefined
  const { text } = await request((options.url ?? apiUrl({ ...api, host: reachable(api.host) })) + path, {
    what: 'the api',
    method: 'POST',
    token: options.token ?? api.tokens[0]?.replace(/^[^:]*:/, ''),
    headers: {
      [HEADER.contentType]: 'application/json',
      ...(options.event === undefined ? {} : { [HEADER.event]: options.event }),
      ...(options.key === undefined ? {} : { [HEADER.key]: options.key }),
      ...(options.ephemeral ? { [HEADER.ephemeral]: 'true' } : {}),
      ...(traceparent === undefined ? {} : { [HEADER.traceparent]: traceparent })
    },
    body: asJson(value === undefined || value === '-' ? await readAll(process.stdin) : value)
  })
  print(text)
  if (traceparent !== undefined) printError(`traceparent: ${traceparent}`)
}

/** @returns {string} of a new trace, sampled */
const newTraceparent = () =>
  formatTraceparent({ traceId: newTraceId(systemRandom), spanId: systemRandom.bytes(8).toString('hex') })

/** @param {string} text @returns {string} the same bytes if it is JSON, since numbers may be longer than ours */
function asJson (text) {
  try {
    JSON.parse(text)
    return text
  } catch {
    return JSON.stringify(text.replace(/\n$/, ''))
  }
}
