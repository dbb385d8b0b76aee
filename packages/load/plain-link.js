import { decode, encode } from '@msgpack/msgpack'
import { EVENT, recordOf } from './packets.js'
import { askedOf, hear } from './socketio-link.js'
import { openWebSocket } from './websocket.js'

/** The end of a message with a request for an acknowledgement. */
const ACK = /,"ack":(\d+)\}$/
const HEAD = Buffer.from(`{"event":"${EVENT}","payload":`)

/**
 * The plain WebSocket protocol (docs/websocket.md), in JSON or msgpack.
 * @param {import('./link.js').Wish} wish
 * @param {import('./link.js').Events} events
 * @returns {import('./link.js').Link}
 */
export function openPlain ({ target, source, id, token, msgpack, documents, positionOf }, events) {
  let silent = false
  const { interval, timeout } = target.heartbeat ?? NO_HEARTBEAT
  const transport = openWebSocket({
    ...target,
    query: `?id=${encodeURIComponent(id)}&auth=message`,
    headers: `Sec-WebSocket-Protocol: inkcast.${msgpack ? 'msgpack' : 'json'}\r\n`
  }, source, {
    onConnect: () => send({ event: 'gateway:connect', payload: { token, documents: askedOf(documents, positionOf) } }),
    onMessage (content, binary) {
      const packet = binary ? readMsgpack(content) : readJson(content)
      if (packet.kind === 'connected') events.onConnected(interval + timeout)
      else hear(packet, events, fail)
    },
    onEnd: events.onEnd,
    answers: () => !silent
  })

  /** @param {object} message */
  const send = (message) =>
    transport.send(msgpack ? Buffer.from(encode(message, { ignoreUndefined: true })) : JSON.stringify(message))

  /** @param {string} reason */
  function fail (reason) {
    transport.close()
    events.onEnd(reason)
  }

  return {
    acknowledge (ack) { send({ ack }) },
    emit (event, payload) { send({ event, payload }) },
    silence () { silent = true },
    close () { transport.close() }
  }
}

/** Of a target that says nothing about its heartbeat, ms. */
export const NO_HEARTBEAT = { interval: 25_000, timeout: 20_000 }

/** @param {Buffer} content @returns {import('./packets.js').Packet} */
function readJson (content) {
  if (content.subarray(0, HEAD.length).equals(HEAD)) {
    const record = recordOf(content, HEAD.length, ACK)
    if (record !== undefined) return { kind: 'record', record }
  }
  return packetOf(JSON.parse(content.toString()))
}

/** @param {Buffer} content @returns {import('./packets.js').Packet} */
function readMsgpack (content) {
  const message = /** @type {any} */ (decode(content))
  const { event, payload, meta, ack } = message
  if (event !== EVENT || typeof payload?.run !== 'string') return packetOf(message)
  const { run, n: number, at, doc: document } = payload
  return { kind: 'record', record: { run, number, at, document, offset: meta?.offset, ack } }
}

/** @param {any} message @returns {import('./packets.js').Packet} */
function packetOf ({ event, payload }) {
  if (event === 'gateway:connected') return { kind: 'connected' }
  return event === undefined ? { kind: 'other' } : { kind: 'event', event, data: payload }
}
