import { packetCodec } from './packets.js'
import { openPolling } from './polling.js'
import { openWebSocket } from './websocket.js'

/** @typedef {import('./link.js').Events} Events */

const [OPEN, END, PING, MESSAGE] = Buffer.from('0124')

/**
 * Socket.IO over WebSocket or long polling (docs/protocol.md).
 * @param {import('./link.js').Wish} wish
 * @param {Events} events
 * @returns {import('./link.js').Link}
 */
export function openSocketio ({ target, source, token, msgpack, polling, documents, positionOf }, events) {
  const codec = packetCodec(msgpack)
  let silent = false
  let patience = 0
  const transport = (polling ? openPolling : openWebSocket)(target, source, {
    onMessage (content, binary) {
      if (!binary && content[0] !== MESSAGE) return engine(content)
      const packet = codec.read(content, binary)
      if (packet.kind === 'connected') events.onConnected(patience)
      else if (packet.kind === 'refused') fail(`refused: ${packet.reason}`)
      else if (packet.kind === 'disconnected') fail('disconnected by the server')
      else hear(packet, events, fail)
    },
    onEnd: events.onEnd
  })

  /** @param {string} reason */
  function fail (reason) {
    transport.close()
    events.onEnd(reason)
  }

  /** @param {Buffer} content */
  function engine (content) {
    if (content[0] === PING) {
      if (!silent) transport.send('3')
    } else if (content[0] === OPEN) {
      const { pingInterval, pingTimeout } = JSON.parse(content.toString('utf8', 1))
      patience = pingInterval + pingTimeout
      transport.send(codec.connect({ token, documents: askedOf(documents, positionOf) }))
    } else if (content[0] === END) fail('closed by the server')
  }

  return {
    acknowledge (ack) { transport.send(codec.ack(ack)) },
    emit (event, data) { transport.send(codec.event(event, data)) },
    silence () { silent = true },
    close () { transport.close() }
  }
}

/**
 * @param {string[]} documents
 * @param {import('./link.js').Wish['positionOf']} positionOf
 * @returns {Record<string, import('./link.js').Position | null>} `documents` of the handshake
 */
export const askedOf = (documents, positionOf) =>
  Object.fromEntries(documents.map((guid) => [guid, positionOf(guid) ?? null]))

/**
 * Tells a client about a record, or an event of the gateway.
 * @param {import('./packets.js').Packet} packet
 * @param {Events} events
 * @param {(reason: string) => void} fail
 */
export function hear (packet, events, fail) {
  if (packet.kind === 'record') return events.onRecord(packet.record)
  if (packet.kind !== 'event') return
  const { event, data } = packet
  if (event === 'doc:joined') {
    events.onPosition(data.guid, data.position)
    events.onJoined(data.guid)
  } else if (event === 'doc:resync') events.onPosition(data.guid, data.position)
  else if (event === 'doc:refused') fail(`join refused: ${data.error?.code}`)
  else if (event === 'gateway:disconnect') fail(`disconnected: ${data.code}`)
}
