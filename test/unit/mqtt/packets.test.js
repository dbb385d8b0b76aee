import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PacketDecoder, decodeConnect, encodePacket } from '../../../src/transport/mqtt/packets.js'

/** A genuine replacement character: only a search shows that a text with it was valid UTF-8. */
const MARK = '\ufffd'

/** @param {any} packet @param {4 | 5} [version] */
const encode = (packet, version = 5) => encodePacket(packet, version)

/** @param {Buffer} bytes of a packet @returns {{ bytes: Buffer, steps: () => number, searches: () => number }} */
function counted (bytes) {
  let [steps, searches] = [0, 0]
  /** @this {Buffer} @param {[any, any?]} args */
  function indexOf (...args) {
    const at = Buffer.prototype.indexOf.apply(this, args)
    steps += (at === -1 ? this.length : at) - (args[1] ?? 0)
    searches++
    return at
  }
  return { bytes: Object.assign(bytes, { indexOf }), steps: () => steps, searches: () => searches }
}

/** @param {number} count */
const topics = (count) => Array.from({ length: count }, (_, i) => MARK + i)
/** @param {number} count @returns {Record<string, string>} */
const pairs = (count) => Object.fromEntries(topics(count).map((name) => [name, 'value']))

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

test('the check of many topics goes through their packet once', () => {
  for (const version of /** @type {const} */ ([4, 5])) {
    for (const packet of [
      { cmd: 'subscribe', messageId: 1, subscriptions: topics(1000).map((topic) => ({ topic, qos: 0 })) },
      { cmd: 'unsubscribe', messageId: 1, unsubscriptions: topics(1000) }
    ]) {
      const { bytes, steps } = counted(encode(packet, version))
      new PacketDecoder().decode(bytes, version)
      assert.ok(steps() < bytes.length, `${steps()} steps in ${bytes.length} bytes`)
    }
  }
})

test('a topic that is not UTF-8 is found among those with a genuine replacement character', () => {
  const bytes = encode({ cmd: 'unsubscribe', messageId: 1, unsubscriptions: [`${MARK}a`, 'xyzb', `${MARK}c`] })
  const at = bytes.indexOf('xyzb')
  bytes.set([0xff, 0xff, 0xff], at)
  assert.throws(() => new PacketDecoder().decode(bytes, 5), { reason: 0x81 })
})

test('user properties with a replacement character are accepted, up to the number of searches that a packet may cost', () => {
  const connect = { cmd: 'connect', protocolId: 'MQTT', protocolVersion: 5, clean: true, clientId: 'a', keepalive: 0 }
  const publish = { cmd: 'publish', topic: 'doc/a', payload: '1', qos: 0 }
  const will = { topic: 'doc/a', payload: Buffer.from('1'), qos: 0, retain: false }
  for (const [packetWith, most] of /** @type {[(userProperties: object) => object, number][]} */ ([
    [(userProperties) => ({ ...publish, properties: { userProperties } }), 32],
    [(userProperties) => ({ ...connect, properties: { userProperties } }), 32],
    [(userProperties) => ({ ...connect, will: { ...will, properties: { userProperties } } }), 32]
  ])) {
    const decode = (/** @type {Buffer} */ bytes) => {
      const decoder = new PacketDecoder()
      return bytes[0] === 0x10 ? decodeConnect(bytes, decoder) : decoder.decode(bytes, 5)
    }
    decode(encode(packetWith(pairs(most))))
    const { bytes, searches } = counted(encode(packetWith(pairs(1000))))
    assert.throws(() => decode(bytes), { reason: 0x81 })
    assert.ok(searches() <= most, `${searches()} searches`)
    // others are not counted
    decode(encode(packetWith(Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`name ${i}`, 'é'])))))
  }
})
