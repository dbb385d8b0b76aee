import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import mqttPacket from 'mqtt-packet'
import { PacketDecoder, plainPuback } from '../../../src/transport/mqtt/packets.js'
import { ownPacket, publishPacket, userProperties } from '../../../src/wire/mqtt-message.js'
import { documentTopic, readTopic, signalTopic } from '../../../src/wire/mqtt-topic.js'

describe('topics', () => {
  test('every guid and event has one topic, which is read as it was', () => {
    for (const guid of ['a', 'a/b', '50%', 'a+b#', '%2F', 'ü ', '$SYS', '/']) {
      assert.deepEqual(readTopic(documentTopic(guid)), { kind: 'document', guid })
      assert.deepEqual(readTopic(signalTopic(guid, 'x/y')), { kind: 'signal', guid, event: 'x/y' })
      assert.ok(!/[+#]/.test(documentTopic(guid)))
    }
    assert.deepEqual(readTopic('user'), { kind: 'user' })
    assert.deepEqual(readTopic('gateway'), { kind: 'gateway' })
  })

  test('others are none, also a second way to write one', () => {
    for (const topic of ['', 'doc', 'doc/', 'docs/a', '/doc/a', 'doc/a/', 'doc/a/b', 'doc/a/signal', 'doc/a/signal/', 'doc/a/signal/b/c',
      'doc/%41', 'doc/%2f', 'doc/%', 'doc/+', 'doc/#', 'user/a', 'User'])
      assert.equal(readTopic(topic), null, topic)
  })

  test('a guid and an event have the length of other doors, and no control characters', () => {
    const [longest, longer] = ['/'.repeat(256), 'ü'.repeat(129)]
    assert.deepEqual(readTopic(signalTopic(longest, longest)), { kind: 'signal', guid: longest, event: longest })
    for (const topic of [documentTopic(longer), signalTopic('a', longer), signalTopic('a\n', 'x'), signalTopic('a', 'x\u0001')])
      assert.equal(readTopic(topic), null, topic)
  })
})

test('[MQTT5-1.5.5-1] a record is the PUBLISH that mqtt-packet would write, for each version, quality and size', () => {
  for (const version of /** @type {const} */ ([4, 5])) {
    for (const qos of /** @type {const} */ ([0, 1])) {
      for (const size of [0, 1, 100, 130, 16_383, 16_400, 2_100_000]) {
        const payload = Buffer.alloc(size, 'x')
        const pairs = { 'x-event': 'ünïcode', 'x-offset': '12', 'x-trace-id': undefined }
        const packet = publishPacket('doc/a', payload, 3 * qos, version === 5 ? userProperties(pairs) : undefined)
        const wanted = mqttPacket.generate({
          cmd: 'publish', topic: 'doc/a', payload, qos, dup: qos === 1, retain: true, messageId: qos === 1 ? 77 : undefined,
          properties: { userProperties: { 'x-event': 'ünïcode', 'x-offset': '12' } }
        }, { protocolVersion: version })
        const own = ownPacket(packet, qos === 1 ? 77 : 0, { retain: true, again: qos === 1 })
        assert.ok(own.equals(wanted), `version ${version}, quality ${qos}, ${size} bytes`)
      }
    }
  }
})

test('bytes that are no packet are refused with a reason code, and do not disturb the next packet', () => {
  const decoder = new PacketDecoder()
  const ping = Buffer.from([0xc0, 0])
  for (let seed = 1; seed < 3000; seed++) {
    const type = (seed * 7) % 256
    const body = Buffer.from(Array.from({ length: seed % 23 }, (_, i) => (seed * (i + 3) * 2654435761 >>> 13) % 256))
    for (const version of /** @type {const} */ ([4, 5])) {
      try {
        decoder.decode(Buffer.concat([Buffer.from([type, body.length]), body]), version)
      } catch (error) {
        assert.ok([0x81, 0x82].includes(/** @type {any} */ (error).reason), String(/** @type {any} */ (error).stack))
      }
      assert.equal(decoder.decode(ping, version).cmd, 'pingreq')
    }
  }
})

test('a plain PUBACK is read where it is in a chunk, as mqtt-packet reads it, and every other packet is left to mqtt-packet', () => {
  const plain = [[0x40, 2, 1, 2], [0x40, 3, 255, 255, 0], [0x40, 4, 0, 1, 0, 0]]
  const others = [
    [0x40, 2, 0, 0], [0x41, 2, 1, 2], [0x40, 3, 1, 2, 0x80], [0x40, 4, 1, 2, 0, 1], [0x40, 1, 1],
    [0x40, 5, 1, 2, 0, 0, 0], [0x50, 2, 1, 2], [0xc0, 0], [0xe0, 0]
  ]
  const decoder = new PacketDecoder()
  for (const bytes of [...plain, ...others]) {
    // neighbors that look like the rest of it
    const chunk = Buffer.from([0x40, 2, ...bytes, 0, 1, 0])
    const wanted = plain.includes(bytes) ? /** @type {any} */ (decoder.decode(Buffer.from(bytes), 5)).messageId : 0
    assert.equal(plainPuback(chunk, 2, 2 + bytes.length), wanted, bytes.join())
  }
})
