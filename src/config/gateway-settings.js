import { isIP } from 'node:net'
import { createSecureContext } from 'node:tls'
import * as v from 'valibot'
import { string } from '../base/common/schema.js'
import {
  block, described, integer, listOf, listeners, longText, milliseconds, origins, pemFiles, port, socketPath, text
} from './setting.js'
import { DEFAULT_SOCKET_PATH } from './socket-path.js'

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

/** @param {string} groups @returns {boolean} whether the OpenSSL of this Node.js knows all of them */
function areGroups (groups) {
  try {
    createSecureContext({ ecdhCurve: groups })
    return true
  } catch {
    return false
  }
}

/** Names of networks, as Express has them for its setting `trust proxy`. */
const NETWORKS = new Map(Object.entries({
  loopback: ['127.0.0.0/8', '::1'],
  linklocal: ['169.254.0.0/16', 'fe80::/10'],
  uniquelocal: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7']
}))

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
    derived: ({ cores, hasRedis }) => String(hasRedis ? cores : Math.min(Math.max(cores, 2), 4)),
    defaultText: 'number of cores; without `REDIS_URL` from 2 to 4',
    describe:
      'Number of gateway workers that `cluster.js` starts. With `1` and without `REDIS_URL` everything runs in one process ' +
      '(docs/concepts.md).'
  },
  ALLOWED_ORIGINS: {
    as: 'allowedOrigins',
    type: origins(),
    default: '',
    describe:
      'Origins whose pages may connect, comma separated (`https://app.example.com`), or `*` for any. `https://*.example.com` stands for ' +
      'all names below `example.com`, at any depth, and not for `example.com` itself; scheme and port must be equal. Upper case, the ' +
      'default port and a slash at the end make no difference. Default: only the gateway\'s own origin; in development also all origins ' +
      'on loopback (`http://localhost:5173`).'
  },
  SOCKET_PATH: {
    as: 'socketPath',
    type: socketPath(),
    default: DEFAULT_SOCKET_PATH,
    describe:
      'Path at which clients connect, as `/realtime/`; slashes at its ends make no difference. All gateways have the same one, clients ' +
      'name it with their option `path` (`socket: { path }` of inkcast-client), and proxies pass it on (docs/deployment.md).'
  },
  LISTENERS: {
    as: 'listeners',
    type: listeners(),
    default: '',
    describe:
      'Listeners besides that of Socket.IO at `PORT`, comma separated (docs/deployment.md). `ws:/websocket/handshake` lets clients ' +
      'without a Socket.IO library open a plain WebSocket at this path of `PORT` (docs/websocket.md); `ws://0.0.0.0:3101/devices` has a ' +
      'port of its own, `wss://` with TLS. `mqtt://0.0.0.0:1883` and `mqtts://0.0.0.0:8883` are for MQTT, `mqtt+ws:/mqtt` for MQTT over ' +
      'WebSocket (docs/devices.md). `socketio://0.0.0.0:3100` is Socket.IO at another port. `?tier=name` after an entry is the tier of ' +
      '`NETWORK` for its connections whose users have none.'
  },
  TLS_FILES: {
    as: 'tls',
    type: pemFiles('cert,key'),
    describe:
      'PEM files with which the gateway terminates TLS, as `cert:<path>,key:<path>`: the certificate chain and its private key ' +
      '(docs/tls.md).'
  },
  TLS_GROUPS: {
    as: 'tlsGroups',
    type: described(
      'names, separated by colons',
      v.pipe(
        string(),
        v.regex(/^[\w-]+(:[\w-]+)*$/, 'must be names of groups, separated by colons'),
        v.check(areGroups, `must be groups that Node.js ${process.version} knows`)
      )
    ),
    describe:
      'Groups of the key exchange at the gateway in the order of preference, as `X25519:P-256`. Default: those of Node.js. Since ' +
      'version 24 they include the post-quantum `X25519MLKEM768`, which takes 9 KB more per connection (docs/tls.md).'
  },
  TLS_TICKET_SECRET: {
    as: 'tlsTicketSecret',
    type: longText(32),
    secret: true,
    describe:
      'Secret from which the keys of TLS session tickets are derived. Set the same one on all machines, so that clients can resume TLS ' +
      'sessions at each of them. Default: a random secret per machine, which all its workers share.'
  },
  TRUSTED_PROXIES: {
    as: 'trustedProxies',
    type: v.pipe(
      listOf(
        (entry) => NETWORKS.has(entry) || isNetwork(entry),
        `each must be an address, a network as 10.0.0.0/8, or one of ${[...NETWORKS.keys()].join(', ')}`
      ),
      v.transform((entries) => entries.flatMap((entry) => NETWORKS.get(entry) ?? [entry]))
    ),
    default: '',
    describe:
      'Addresses and networks of trusted proxies, comma separated, for `MAX_CONNECTIONS_PER_ADDRESS`. Private networks may have the ' +
      'names of Express: `loopback`, `linklocal`, `uniquelocal`. The last address in `X-Forwarded-For` that is not one of them counts ' +
      'as the client\'s address. Default: the header is ignored, and clients with a private or loopback address do not count.'
  },
  PEER_HOST: {
    as: 'peerHost',
    type: text(),
    describe:
      'Address under which workers of other machines reach the workers of this machine. Long polling over several machines needs it, ' +
      'unless the load balancer has sticky sessions. Not set: machines do not forward requests to each other.'
  },
  PEER_PORT: {
    as: 'peerPort',
    type: port(),
    default: '0',
    describe:
      'First port of `PEER_HOST`. Each gateway worker needs two ports: the second one is for its successor during a reload. 0: any free ' +
      'ports.'
  },
  PEER_TLS_FILES: {
    as: 'peerTls',
    type: pemFiles('cert,key,ca'),
    describe:
      'PEM files of this machine for requests between machines, as `cert:<path>,key:<path>,ca:<path>`. With them, machines forward ' +
      'requests over TLS and authenticate each other. The certificate must name `PEER_HOST`, and be valid for servers and for ' +
      'clients. `ca`: the authorities that issue the certificates of the machines, and no other certificates.'
  },
  DRAIN_TIMEOUT: {
    as: 'drainTimeout',
    type: milliseconds(0, 3_600_000),
    default: '30000',
    describe: 'Maximum time to stop after SIGTERM, ms. The launcher kills processes that still run 3 s after this time. A process ' +
      'without a launcher ends by itself 1 s after it.'
  }
})
