import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PacketDecoder, decodeConnect, encodePacket } from '../../../src/transport/mqtt/packets.js'

/** @param {any} packet @param {4 | 5} [version] */
const encode = (packet, version = 5) => encodePacket(packet, version)

test('a second CONNECT changes nothing for the packets that follow, of any client', () => {
  const decoder = new PacketDecoder()
  const connect = encode({ cmd: 'connect', protocolId: 'MQTT', protocolVersion: 5, clean: true, clientId: 'a', keepalive: 0 })
  const publish = encode({
    cmd: 'publish', topic: 'doc/a', payload: '1', qos: 1, messageId: 1, properties: { contentType: 'application/json' }
  })
  decodeConnect(connect, decoder)
  for (let i = 0; i < 2; i++) {
    const { payload, properties } = /** @type {any} */ (decoder.decode(publish, 5))
    assert.deepEqual([String(payload), { ...properties }], ['1', { contentType: 'application/json' }])
    assert.equal(decoder.decode(connect, 5).cmd, 'connect')
  }
})
