import { launcherContext, needsStore } from '../../config/load.js'
import { folderOf, REFERENCE } from '../../base/process/installed.js'
import { phoneUrls } from '../../base/process/phone-urls.js'

/**
 * The text after a start: in development the address of the demo, and one command that publishes to it.
 *
 * @param {import('../../config/load.js').Config} config
 * @param {{ port: number, apiPort: number }} ports as they were bound
 * @param {object} [surroundings] for tests
 * @param {Parameters<typeof phoneUrls>[1]} [surroundings.interfaces] of this machine
 * @param {string} [surroundings.script] see LauncherContext
 * @param {boolean} [surroundings.hasReference] the api has the page `/docs/`
 * @returns {string[]} lines
 */
export function banner (
  config,
  { port, apiPort },
  { interfaces, script = launcherContext().script, hasReference = folderOf(REFERENCE) !== undefined } = {}
) {
  const { production, gateway, api, admin, auth } = config
  const hasDemo = !production && folderOf('inkcast-demo') !== undefined
  const scheme = gateway.tls ? 'https' : 'http'
  const host = reachable(gateway.host)
  const token = needsToken(api) ? ' -H "authorization: Bearer $TOKEN"' : ''
  const phones = phoneUrls({ host: gateway.host, scheme, port }, interfaces)
  const curl = `curl -X POST ${apiUrl({ ...api, port: apiPort })}/v1/documents/demo/broadcast -H "content-type: ` +
    `application/json"${token} -d '{"text":"Hello from curl"}'`
  return [
    '',
    `  inkcast is running (${whatRuns(config)})`,
    '',
    hasDemo
      ? `  demo      ${scheme}://${host}:${port}   ` +
      `(${auth.allowAnonymous || auth.secret !== undefined ? 'open it in two tabs' : 'it asks for a token'})`
      : `  clients   ${scheme}://${host}:${port}`,
    `  publish   ${curl}`,
    ...(hasDemo ? [phoneLine(phones, gateway.port, script)] : []),
    ...(production ? [] : [`  api       ${apiUrl({ ...api, port: apiPort })}/${hasReference ? 'docs/' : 'openapi.json'}`]),
    ...(api.grpcPort === undefined ? [] : [`  gRPC      ${reachable(api.host)}:${api.grpcPort}`]),
    ...(admin.port > 0 ? [`  status    ${apiUrl(admin)}`] : []),
    ''
  ]
}

/** @param {Pick<import('../../config/load.js').Config, 'gateway' | 'redis' | 'mode'>} config */
function whatRuns ({ gateway: { workers }, redis, mode }) {
  if (mode === 'embedded') return 'one process, everything in memory'
  if (needsStore({ redis, mode })) return `a cluster of ${workers} workers; its store is in memory, for development`
  return mode === 'kafka' ? 'cluster over Redis and Kafka' : 'cluster over Redis'
}

/** How a person has started inkcast, by the script that npm runs. @type {Record<string, string>} */
const COMMANDS = { start: 'npm start', npx: 'npx inkcast' }

/**
 * @param {string[]} urls
 * @param {number} port of the setting
 * @param {string | undefined} script
 * @returns {string} how a phone, or another machine, reaches the demo
 */
const phoneLine = ([url], port, script = '') => url === undefined
  ? `  phone     HOST=0.0.0.0 ${port === 3000 ? '' : `PORT=${port} `}${COMMANDS[script] ?? 'node cluster.js'}   (now only this machine ` +
  'can connect)'
  : `  phone     ${url}   (in the same network)`

/** @param {{ host: string, port: number, tls?: object }} api */
export const apiUrl = ({ host, port, tls }) =>
  `${tls === undefined ? 'http' : 'https'}://${reachable(host)}:${port}`

/** @param {{ tokens: readonly string[], callersFile?: string }} api @returns {boolean} whether callers need a token */
export const needsToken = ({ tokens, callersFile }) => tokens.length > 0 || callersFile !== undefined

/** @param {string} host an address to listen on @returns {string} one to connect to */
function reachable (host) {
  if (host === '0.0.0.0' || host === '::' || host === '127.0.0.1') return 'localhost'
  return host.includes(':') ? `[${host}]` : host
}
