import { isIP } from 'node:net'
import { z } from 'zod'
import { block, integer, list, milliseconds, port, text, url } from './setting.js'

const production =
  (/** @type {string} */ value, /** @type {string} */ otherwise) => (/** @type {{ production: boolean }} */ context) =>
    context.production ? value : otherwise

/** @param {string} entry */
function isNetwork (entry) {
  const [address, prefix, more] = entry.split('/')
  const family = isIP(address)
  return (
    family !== 0 &&
    more === undefined &&
    (prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= (family === 4 ? 32 : 128)))
  )
}

export const gateway = block('Gateway', {
  HOST: {
    as: 'host',
    type: text(),
    derived: production('0.0.0.0', '127.0.0.1'),
    defaultText: '`127.0.0.1`; `0.0.0.0` in production',
    describe: 'Address that clients connect to.'
  },
  PORT: { as: 'port', type: port(), default: '3000', describe: 'Port that clients connect to.' },
  WORKERS: {
    as: 'workers',
    type: integer(1, 1024),
    derived: ({ cores }) => String(cores),
    defaultText: 'number of cores',
    describe: 'Number of gateway workers that `cluster.js` starts.'
  },
  ALLOWED_ORIGINS: {
    as: 'allowedOrigins',
    type: list(),
    default: '',
    describe:
      'Origins whose pages may connect, comma separated (`https://app.example.com`), `*` for any. Default: pages of the gateway\'s own origin; in development also pages of this machine (`http://localhost:5173`).'
  },
  TLS_CERT_FILE: {
    as: 'tlsCertFile',
    type: text(),
    describe: 'PEM certificate chain; with `TLS_KEY_FILE` the gateway terminates TLS.'
  },
  TLS_KEY_FILE: { as: 'tlsKeyFile', type: text(), describe: 'PEM private key of `TLS_CERT_FILE`.' },
  TRUSTED_PROXIES: {
    as: 'trustedProxies',
    type: list().pipe(z.array(z.string().refine(isNetwork, 'each must be an address or a network, as 10.0.0.0/8'))),
    default: '',
    describe:
      'Addresses and networks of trusted proxies, comma separated, for `MAX_CONNECTIONS_PER_ADDRESS`: the client\'s address is the last one in `X-Forwarded-For` that is not a proxy. Default: the header is ignored.'
  },
  PEER_HOST: {
    as: 'peerHost',
    type: text(),
    describe:
      'Address under which workers of other machines reach the workers of this one, for long polling behind a load balancer without sticky sessions. Not set: machines do not forward requests to each other.'
  },
  PEER_PORT: {
    as: 'peerPort',
    type: port(),
    default: '0',
    describe:
      'First port of `PEER_HOST`; two ports per gateway worker, the second for its replacement during a reload. 0: any free ports.'
  },
  DEMO_DOCUMENTS_URL: {
    as: 'demoDocumentsUrl',
    type: url('http:', 'https:'),
    default: 'http://localhost:4000',
    describe:
      'URL of the service in `examples/document-service`, from which the demo page gets its documents with Kafka. In development only.'
  },
  DRAIN_TIMEOUT: {
    as: 'drainTimeout',
    type: milliseconds(0, 3_600_000),
    default: '30000',
    describe: 'Maximum time for a process to stop on SIGTERM, ms.'
  }
})
