import { problemOfSocketPath } from './socket-path.js'

/**
 * Listeners besides Socket.IO's at HOST and PORT, as LISTENERS has them: `ws:/path` shares PORT, and
 * `ws://0.0.0.0:3101/path` has a port of its own.
 *
 * @typedef {object} Listener
 * @property {'socketio' | 'ws' | 'mqtt'} protocol
 * @property {'tcp' | 'websocket'} over what carries the protocol; Socket.IO's begins with HTTP as WebSockets do
 * @property {boolean} tls with the certificate of TLS_FILES; of a shared port false: that one decides
 * @property {string} [host] absent: it shares PORT
 * @property {number} [port] absent: it shares PORT
 * @property {string} [path] of its WebSockets
 * @property {string} [tier] of NETWORK: the heartbeat of its connections whose users have none
 * @property {string} name as it is written; the label `listener` of metrics and events
 */

/** The name of Socket.IO's listener at PORT. */
export const MAIN = 'socketio'

/** How many there may be: each has a socket in every worker, and a value of a label. */
const MAX = 16

/**
 * By the part before the colon.
 * @type {Record<string, Pick<Listener, 'protocol' | 'over' | 'tls'> & { form: string }>}
 */
const SCHEMES = {
  socketio: { protocol: 'socketio', over: 'websocket', tls: false, form: 'socketio://0.0.0.0:3100' },
  socketios: { protocol: 'socketio', over: 'websocket', tls: true, form: 'socketios://0.0.0.0:3443' },
  ws: { protocol: 'ws', over: 'websocket', tls: false, form: 'ws:/websocket/handshake or ws://0.0.0.0:3101/websocket/handshake' },
  wss: { protocol: 'ws', over: 'websocket', tls: true, form: 'wss://0.0.0.0:3444/websocket/handshake' },
  mqtt: { protocol: 'mqtt', over: 'tcp', tls: false, form: 'mqtt://0.0.0.0:1883' },
  mqtts: { protocol: 'mqtt', over: 'tcp', tls: true, form: 'mqtts://0.0.0.0:8883' },
  'mqtt+ws': { protocol: 'mqtt', over: 'websocket', tls: false, form: 'mqtt+ws:/mqtt or mqtt+ws://0.0.0.0:9001/mqtt' },
  'mqtt+wss': { protocol: 'mqtt', over: 'websocket', tls: true, form: 'mqtt+wss://0.0.0.0:9443/mqtt' }
}

const FORM = /^([a-z+]+):(?:\/\/(\[[\da-f:.]+\]|[\w.-]+):(\d{1,5}))?(\/(?:[^/?][^?]*)?)?(?:\?tier=([^?&]{1,64}))?$/i

/** @param {string} entry @returns {Listener | undefined} undefined: it has not the form of one */
function read (entry) {
  const [, scheme, host, port, path, tier] = FORM.exec(entry) ?? []
  if (scheme === undefined || !Object.hasOwn(SCHEMES, scheme)) return undefined
  const { protocol, over, tls } = SCHEMES[scheme]
  return {
    protocol, over, tls,
    // a slash alone is that of a URL without a path
    ...(path !== undefined && path !== '/' && { path: path.replace(/\/$/, '') }),
    ...(host !== undefined && { host: host.replace(/^\[|\]$/g, ''), port: Number(port) }),
    ...(tier !== undefined && { tier }),
    name: entry
  }
}

/** @param {string} entry @returns {string | undefined} what is wrong; undefined: nothing */
export function problemOfListener (entry) {
  const problem = problemOf(entry)
  return problem === undefined ? undefined : `${entry}: ${problem}`
}

/** @param {string} entry @returns {string | undefined} */
function problemOf (entry) {
  const [scheme] = entry.split(':', 1)
  if (!Object.hasOwn(SCHEMES, scheme)) return `must begin with one of ${Object.keys(SCHEMES).join(', ')}, as ws:/websocket/handshake`
  const form = `must have the form ${SCHEMES[scheme].form}, with or without ?tier=name after it`
  const listener = read(entry)
  if (listener === undefined) return form
  const { protocol, over, tls, port, path } = listener
  const hasPath = protocol !== 'socketio' && over === 'websocket'
  if (port === undefined && tls && hasPath) return `${form}: PORT has TLS if TLS_FILES is set`
  if (hasPath !== (path !== undefined) || (port === undefined && !hasPath)) return form
  if (port !== undefined && port > 65_535) return 'the port must be at most 65535'
  return path === undefined ? undefined : problemOfSocketPath(path)
}

/** @param {string} entry without a problem */
export const listenerOf = (entry) => /** @type {Listener} */ (read(entry))

/** @param {string} [text] of the setting, also a wrong one @returns {number} listeners with ports of their own */
export const ownPortsIn = (text = '') => text.split('://').length - 1

/**
 * Checks listeners against each other and other settings.
 * @param {{ listeners?: readonly Listener[], host?: string, port?: number, socketPath?: string, tls?: object }} gateway
 *   without those that could not be read
 * @param {readonly { name: string }[]} [tiers] of NETWORK
 * @returns {string[]} problems
 */
export function listenerProblems ({ listeners = [], host, port, socketPath, tls }, tiers) {
  if (listeners.length > MAX) return [`LISTENERS: must have at most ${MAX} entries`]
  const problems = []
  for (const [index, one] of listeners.entries()) {
    const before = listeners.slice(0, index)
    const problem = problemBeside(one, before, { host, port }) ??
      problemBesideSocketPath(one, socketPath) ??
      (one.tls && tls === undefined ? 'needs TLS_FILES' : undefined) ??
      problemOfTier(one, tiers)
    if (problem !== undefined) problems.push(`LISTENERS: ${one.name}: ${problem}`)
  }
  return problems
}

/**
 * @param {Listener} one
 * @param {Listener[]} before
 * @param {{ host?: string, port?: number }} main
 * @returns {string | undefined}
 */
function problemBeside (one, before, main) {
  if (one.port === undefined) {
    return before.some(({ port, path }) => port === undefined && path === one.path)
      ? `another listener has the path ${one.path}`
      : undefined
  }
  if (before.some(({ name }) => name === one.name)) return 'is there twice'
  // any free port
  if (one.port === 0) return undefined
  if (isSamePort(one, main))
    return `has the port of PORT: ${one.path === undefined ? 'give it another one' : `write ${sharedSchemeOf(one)}:${one.path}`}`
  return before.some((other) => isSamePort(one, other)) ? `another listener has the port ${one.port}` : undefined
}

/** @param {Listener} listener @param {readonly { name: string }[]} [tiers] @returns {string | undefined} */
const problemOfTier = ({ tier }, tiers) =>
  tier !== undefined && tiers !== undefined && !tiers.some(({ name }) => name === tier)
    ? `NETWORK has no tier ${tier}`
    : undefined

/** @param {Listener} listener @param {string} [socketPath] with a slash at its end @returns {string | undefined} */
const problemBesideSocketPath = ({ path }, socketPath) =>
  path !== undefined && socketPath !== undefined && `${path}/`.startsWith(socketPath)
    ? `is at SOCKET_PATH, ${socketPath}: give it another path`
    : undefined

/** @param {{ host?: string, port?: number }} one @param {{ host?: string, port?: number }} other */
const isSamePort = (one, other) =>
  one.port === other.port && (one.host === other.host || [one.host, other.host].some((host) => host === '0.0.0.0' || host === '::'))

/** @param {Listener} listener a WebSocket's */
const sharedSchemeOf = ({ protocol }) => protocol === 'ws' ? 'ws' : `${protocol}+ws`
