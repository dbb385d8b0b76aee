import { phoneUrls } from './phone-urls.js'

/**
 * The text after a start in development: the address of the demo, and one command that publishes to it.
 *
 * @param {import('../config/load.js').Config} config
 * @param {{ port: number, apiPort: number }} ports as they were bound
 * @param {Parameters<typeof phoneUrls>[1]} [interfaces] of this machine
 * @returns {string[]} lines
 */
export function banner ({ production, gateway, api, mode }, { port, apiPort }, interfaces) {
  const scheme = gateway.tlsCertFile ? 'https' : 'http'
  const host = reachable(gateway.host)
  const token = needsToken(api) ? ' -H "authorization: Bearer $TOKEN"' : ''
  const curl = `curl -X POST ${apiUrl({ ...api, port: apiPort })}/v1/documents/demo/broadcast -H "content-type: application/json"${token} -d '{"text":"Hello from curl"}'`
  return [
    '',
    `  inkcast is running (${{ embedded: 'embedded: in memory, one process', redis: 'cluster over Redis', kafka: 'cluster over Redis and Kafka' }[mode]})`,
    '',
    production
      ? `  clients   ${scheme}://${host}:${port}`
      : `  demo      ${scheme}://${host}:${port}   (open it in two tabs)`,
    `  publish   ${curl}`,
    ...(production ? [] : [phoneLine(phoneUrls({ host: gateway.host, scheme, port }, interfaces))]),
    ...(production ? [] : [`  api       ${apiUrl({ ...api, port: apiPort })}/docs/`]),
    ''
  ]
}

/** @param {string[]} urls @returns {string} how a phone, or another machine, reaches the demo */
const phoneLine = ([url]) => url === undefined
  ? '  phone     HOST=0.0.0.0 npm start   (now only this machine can connect)'
  : `  phone     ${url}   (in the same network)`

/** @param {{ host: string, port: number, tlsCertFile?: string }} api */
export const apiUrl = ({ host, port, tlsCertFile }) =>
  `${tlsCertFile === undefined ? 'http' : 'https'}://${reachable(host)}:${port}`

/** @param {{ tokens: readonly string[], callersFile?: string }} api @returns {boolean} whether callers need a token */
export const needsToken = ({ tokens, callersFile }) => tokens.length > 0 || callersFile !== undefined

/** @param {string} host an address to listen on @returns {string} one to connect to */
function reachable (host) {
  if (host === '0.0.0.0' || host === '::' || host === '127.0.0.1') return 'localhost'
  return host.includes(':') ? `[${host}]` : host
}
