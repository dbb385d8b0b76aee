import { parseArgs } from 'node:util'

/** Text, or a whole number with its least and greatest value. */
const OPTIONS = /** @type {const} */ ({
  directory: { default: 'yjs-documents', help: 'where the documents are stored' },
  host: { default: '127.0.0.1', help: 'address that the gateway calls' },
  port: { default: '4100', help: 'its port', range: [0, 65_535] },
  api: { default: 'http://localhost:3001', help: 'the HTTP api of inkcast' },
  hook: { default: undefined, help: 'a module that may refuse updates' },
  keep: { default: '100', help: 'records that stay in the gateway\'s log, for pages that reconnect', range: [0, 1e6] },
  interval: { default: '1000', help: 'time between two cuts of the log of a document that changes, ms', range: [10, 60_000] },
  'max-document': { default: '32', help: 'size of a document, MB: above it, updates are refused', range: [1, 4096] },
  'max-open': { default: '1000', help: 'documents in memory: above it, the one used longest ago leaves', range: [1, 1e5] },
  'max-memory': { default: '256', help: 'files of the documents in memory, MB: the same rule', range: [1, 65_536] }
})

export const HELP = `Stores the Yjs documents of inkcast in a directory, and serves them through the gateway.

  npx inkcast-yjs-server [options]

${Object.entries(OPTIONS).map(([name, option]) => {
  const shown = option.default === undefined ? '' : ` (${option.default})`
  return `  --${name.padEnd(14)} ${option.help}${shown}`
}).join('\n')}
  --${'help'.padEnd(14)} this text

  INKCAST_API_TOKEN  token of this service as a caller of the api (docs/callers.md), if the api needs one
  UPLINK_SECRETS     secret of the gateway's requests; without it, one is made and kept in the directory

docs/yjs.md describes the rest.`

const MB = 1024 * 1024

/**
 * @param {string[]} args
 * @param {NodeJS.ProcessEnv} env
 * @returns {null | ReturnType<typeof settingsOf>} null: help is asked for
 * @throws {Error} with one line that says what is wrong
 */
export function readSettings (args, env) {
  const type = /** @type {const} */ ('string')
  const options = Object.fromEntries(Object.keys(OPTIONS).map((name) => [name, { type }]))
  const { values } = parseArgs({ args, options: { ...options, help: { type: 'boolean' } } })
  if (values.help) return null
  return settingsOf(/** @type {Record<string, string>} */ (values), env)
}

/** @param {Record<string, string>} values @param {NodeJS.ProcessEnv} env */
function settingsOf (values, env) {
  const text = (/** @type {keyof typeof OPTIONS} */ name) => values[name] ?? OPTIONS[name].default
  const number = (/** @type {'port' | 'keep' | 'interval' | 'max-document' | 'max-open' | 'max-memory'} */ name) => {
    const [least, most] = OPTIONS[name].range
    const value = Number(text(name))
    if (!Number.isInteger(value) || value < least || value > most)
      throw new Error(`--${name}: ${text(name)} is no whole number from ${least} to ${most}`)
    return value
  }
  const api = String(text('api'))
  if (!URL.canParse(api)) throw new Error(`--api: ${api} is no URL`)
  return {
    directory: String(text('directory')),
    host: String(text('host')),
    port: number('port'),
    hook: text('hook'),
    api: { url: api, token: env.INKCAST_API_TOKEN || undefined },
    secret: env.UPLINK_SECRETS?.split(',')[0].trim() || undefined,
    documents: {
      keep: number('keep'), interval: number('interval'), maxBytes: number('max-document') * MB,
      maxOpen: number('max-open'), maxOpenBytes: number('max-memory') * MB
    }
  }
}
