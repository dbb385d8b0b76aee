import { EventEmitter } from 'node:events'
import { LogLimit } from '../common/log-limit.js'
import { decodeMsgpack } from '../wire/msgpack.js'

/**
 * Handles messages of `@socket.io/redis-emitter`, and of Socket.IO servers with the classic Redis adapter, for the
 * clients of this worker. Each worker receives all of them. Requests that expect an answer get none.
 * https://github.com/socketio/socket.io-redis-emitter (the format)
 */

/** Emits to listeners of the server; Namespace#emit would send to clients. */
const { emit: emitLocally } = new EventEmitter()

/** Types of requests. */
const REMOTE_JOIN = 2
const REMOTE_LEAVE = 3
const REMOTE_DISCONNECT = 4
const SERVER_SIDE_EMIT = 6

/**
 * @param {string} key EMITTER_KEY
 * @returns {string[]} prefixes of the channels
 */
export const emitterChannels = (key) => [`${key}#`, `${key}-request#`]

/**
 * @param {object} dependencies
 * @param {string} dependencies.key EMITTER_KEY
 * @param {import('socket.io').Server} dependencies.io
 * @param {import('../common/log.js').Log} dependencies.log
 * @returns {(channel: string, payload: Buffer) => void} never throws
 */
export function createEmitterMessages ({ key, io, log }) {
  const logLimit = new LogLimit()
  // `io.of` would create a namespace that does not exist.
  const namespaces = new Map([['/', io.of('/')]])
  io.on('new_namespace', (namespace) => namespaces.set(namespace.name, namespace))
  const requests = `${key}-request#`

  /**
   * @param {import('socket.io').Namespace} namespace
   * @param {{ rooms?: string[], except?: string[], flags?: { volatile?: boolean, compress?: boolean } }} [options]
   */
  function target (namespace, { rooms = [], except = [], flags = {} } = {}) {
    const sockets = namespace.local.to(rooms).except(except)
    const compressed = flags.compress === undefined ? sockets : sockets.compress(flags.compress)
    return flags.volatile ? compressed.volatile : compressed
  }

  /** @param {Buffer} payload */
  function emit (payload) {
    const [, packet, options] = /** @type {any} */ (decodeMsgpack(payload))
    const namespace = namespaces.get(packet.nsp ?? '/')
    if (namespace !== undefined) target(namespace, options).emit(.../** @type {[string]} */ (packet.data))
  }

  /** @param {import('socket.io').Namespace} namespace @param {any} request */
  function handle (namespace, { type, opts, rooms, close, data }) {
    if (type === REMOTE_JOIN) target(namespace, opts).socketsJoin(rooms)
    else if (type === REMOTE_LEAVE) target(namespace, opts).socketsLeave(rooms)
    else if (type === REMOTE_DISCONNECT) target(namespace, opts).disconnectSockets(close)
    else if (type === SERVER_SIDE_EMIT) emitLocally.call(namespace, .../** @type {[string]} */ (data))
  }

  return (channel, payload) => {
    try {
      if (!channel.startsWith(requests)) return emit(payload)
      const namespace = namespaces.get(channel.slice(requests.length).replace(/#.*$/s, ''))
      if (namespace !== undefined) handle(namespace, JSON.parse(payload.toString()))
    } catch (error) {
      if (logLimit.due()) log.warn({ err: error, channel }, 'a message for Socket.IO rooms cannot be read')
    }
  }
}
