import { EventEmitter } from 'node:events'
import { LogLimit } from '../../base/common/log-limit.js'
import { decodeMsgpack } from '../../wire/msgpack.js'

/**
 * Handles messages of `@socket.io/redis-emitter`, and of Socket.IO servers with the classic Redis adapter, for the
 * clients of this worker. Each worker receives all of them. Requests that expect an answer get none.
 * https://github.com/socketio/socket.io-redis-emitter (the format)
 */

/** Emits to listeners of the server; Namespace#emit would send to clients. */
const { emit: emitLocally } = new EventEmitter()

/** First byte of a JSON object. Requests in msgpack are broadcasts that expect acknowledgements. */
const BRACE = 0x7b

/** Types of requests. */
const REMOTE_JOIN = 2
const REMOTE_LEAVE = 3
const REMOTE_DISCONNECT = 4
const SERVER_SIDE_EMIT = 6

/** @typedef {import('socket.io').Namespace} Namespace */

/**
 * @param {string} key EMITTER_KEY
 * @returns {string[]} prefixes of the channels
 */
export const emitterChannels = (key) => [`${key}#`, `${key}-request#`]

/** @param {unknown} value @returns {any[]} @throws {TypeError} */
function listOf (value) {
  if (!Array.isArray(value)) throw new TypeError('the message has no list where one is expected')
  return value
}

/** @param {Namespace} namespace @param {string} room a number also stands for a room that is a number */
const hasRoom = ({ adapter: { rooms } }, room) => rooms.has(room) || rooms.has(/** @type {any} */ (Number(room)))

/**
 * @param {Namespace} namespace
 * @param {object} options
 * @param {string[]} options.rooms required: without it a message would be for all clients
 * @param {string[]} [options.except]
 * @param {{ volatile?: boolean, compress?: boolean }} [options.flags]
 */
function target (namespace, { rooms, except = [], flags = {} }) {
  const sockets = namespace.local.to(listOf(rooms)).except(listOf(except))
  const compressed = flags.compress === undefined ? sockets : sockets.compress(flags.compress)
  return flags.volatile ? compressed.volatile : compressed
}

/** @param {Namespace} namespace @param {Buffer} payload */
function emit (namespace, payload) {
  const [, { data }, options] = /** @type {any} */ (decodeMsgpack(payload))
  target(namespace, options).emit(.../** @type {[string]} */ (listOf(data)))
}

/**
 * Requests of old versions, without `opts`, are for one socket and expect an answer.
 * @param {Namespace} namespace
 * @param {any} request
 * @returns {boolean} false: not handled
 */
function handle (namespace, { type, opts, rooms, close, data, requestId }) {
  if (type === SERVER_SIDE_EMIT) {
    const answer = requestId === undefined ? [] : [() => {}]
    emitLocally.call(namespace, .../** @type {[string]} */ ([...listOf(data), ...answer]))
  } else if (opts === undefined) return false
  else if (type === REMOTE_JOIN) target(namespace, opts).socketsJoin(listOf(rooms))
  else if (type === REMOTE_LEAVE) target(namespace, opts).socketsLeave(listOf(rooms))
  else if (type === REMOTE_DISCONNECT) target(namespace, opts).disconnectSockets(Boolean(close))
  else return false
  return true
}

/**
 * @param {object} dependencies
 * @param {string} dependencies.key EMITTER_KEY
 * @param {import('socket.io').Server} dependencies.io
 * @param {Pick<import('../../observe/metrics/metrics.js').Metrics, 'emitter_messages'>} dependencies.metrics
 * @param {import('../../base/common/log.js').Log} dependencies.log
 * @param {import('../../base/common/clock.js').Clock} dependencies.clock
 * @returns {(channel: string, payload: Buffer) => void} never throws
 */
export function createEmitterMessages ({ key, io, metrics, log, clock }) {
  const logLimit = new LogLimit({ clock })
  const requests = `${key}-request#`

  /** @param {string} channel @param {Buffer} payload @returns {boolean} false: not for this worker */
  function receive (channel, payload) {
    const isRequest = channel.startsWith(requests)
    const [, name, room] = /^([^#]*)#(.*?)#?$/s.exec(channel.slice(isRequest ? requests.length : key.length + 1)) ?? []
    // `io.of` would create a namespace that does not exist
    const namespace = io._nsps.get(name)
    if (namespace === undefined) return false
    if (isRequest) return payload[0] === BRACE && handle(namespace, JSON.parse(payload.toString()))
    if (room !== '' && !hasRoom(namespace, room)) return false
    emit(namespace, payload)
    return true
  }

  return (channel, payload) => {
    let result = 'failed'
    try {
      result = receive(channel, payload) ? 'handled' : 'ignored'
    } catch (error) {
      if (logLimit.due()) log.warn({ err: error, channel }, 'a message for Socket.IO rooms cannot be read')
    }
    metrics.emitter_messages.inc({ result })
  }
}
