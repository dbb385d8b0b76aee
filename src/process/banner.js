/**
 * The text after a start in development: the address of the demo, and one command that publishes to it.
 *
 * @param {import('../config/load.js').Config} config
 * @param {{ port: number, apiPort: number }} ports as they were bound
 * @returns {string[]} lines
 */
export function banner ({ production, gateway, api, mode }, { port, apiPort }) {
  const scheme = gateway.tlsCertFile ? 'https' : 'http'
  const host = reachable(gateway.host)
  const token = api.tokens.length > 0 ? ' -H "authorization: Bearer $TOKEN"' : ''
  const curl = `curl -X POST ${apiUrl({ ...api, port: apiPort })}/v1/documents/demo/broadcast -H "content-type: application/json"${token} -d '{"text":"Hello from curl"}'`
  return [
    '',
    `  inkcast is running (${{ embedded: 'embedded: in memory, one process', redis: 'cluster over Redis', kafka: 'cluster over Redis and Kafka' }[mode]})`,
    '',
    production
      ? `  clients   ${scheme}://${host}:${port}`
      : `  demo      ${scheme}://${host}:${port}   (open it in two tabs)`,
    `  publish   ${curl}`,
    ''
  ]
}

/** @param {{ host: string, port: number }} api */
export const apiUrl = ({ host, port }) => `http://${reachable(host)}:${port}`

/** @param {string} host an address to listen on @returns {string} one to connect to */
function reachable (host) {
  if (host === '0.0.0.0' || host === '::' || host === '127.0.0.1') return 'localhost'
  return host.includes(':') ? `[${host}]` : host
}
