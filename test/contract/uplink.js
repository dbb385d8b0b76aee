import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, test } from 'node:test'

/**
 * The contract of every uplink. An implementation's test calls this with a function that opens one.
 *
 * @typedef {import('../../src/log/publish/uplink.js').UplinkRecord} UplinkRecord
 *
 * @typedef {object} Arrived a client's message at the receiver
 * @property {string} guid
 * @property {string} event
 * @property {string} traceId
 * @property {string} [traceparent]
 * @property {string} contentType
 * @property {Buffer} value
 *
 * @typedef {object} OpenUplink
 * @property {import('../../src/log/publish/uplink.js').Uplink} uplink started
 * @property {(count: number) => Promise<Arrived[]>} messages at least `count` of them, those of one guid in order
 *
 * @param {string} name
 * @param {(t: import('node:test').TestContext) => Promise<OpenUplink>} open stopped after the test
 */
export function uplinkContract (name, open) {
  const fresh = () => `doc-${randomBytes(6).toString('hex')}`
  /** @param {Partial<UplinkRecord>} more @returns {UplinkRecord} */
  const message = (more) => ({
    operator: 'message',
    uid: 'ada',
    sid: 'AAxxxxxxxxxxxxxxxxxx',
    guid: 'doc',
    event: 'edit',
    traceId: 'trace',
    timestamp: 1_700_000_000_000,
    contentType: 'application/json',
    value: Buffer.from('{"a":"ü"}'),
    ...more
  })

  describe(`uplink contract: ${name}`, () => {
    test('the receiver has a message when send resolves, with the same bytes as value', async (t) => {
      const { uplink, messages } = await open(t)
      const guid = fresh()
      await uplink.send(message({ guid, traceId: 'one' }))
      const packed = Buffer.from([0x81, 0xa1, 0x61, 0x01])
      await uplink.send(message({ guid, traceId: 'two', contentType: 'application/msgpack', value: packed }))
      const arrived = (await messages(2)).filter((each) => each.guid === guid)
      assert.deepEqual(
        arrived.map(({ event, traceId, contentType, value }) => [event, traceId, contentType, value.toString('hex')]),
        [
          ['edit', 'one', 'application/json', Buffer.from('{"a":"ü"}').toString('hex')],
          ['edit', 'two', 'application/msgpack', packed.toString('hex')]
        ]
      )
    })

    test('a queued edit is stored once, and a repeated or earlier one is a duplicate', async (t) => {
      const { uplink, messages } = await open(t)
      const guid = fresh()
      const sent = []
      for (const number of [1, 2, 2, 1, 4, 3]) {
        const value = Buffer.from(String(number))
        sent.push(await uplink.send(message({ guid, value, queue: { id: 'a queue of a tab', number } })))
      }
      await uplink.send(message({ guid, value: Buffer.from('10'), queue: { id: 'another queue', number: 1 } }))
      assert.deepEqual(sent.map((result) => result?.duplicate), [false, false, true, true, false, true])
      const arrived = (await messages(4)).filter((each) => each.guid === guid)
      assert.deepEqual(arrived.map(({ value }) => Number(value)), [1, 2, 4, 10])
    })

    test('concurrent messages of one document keep their order', async (t) => {
      const { uplink, messages } = await open(t)
      const guids = [fresh(), fresh()]
      await Promise.all(
        Array.from({ length: 40 }, (_, i) =>
          uplink.send(message({ guid: guids[i % 2], value: Buffer.from(String(i)) }))
        )
      )
      const arrived = await messages(40)
      for (const [which, guid] of guids.entries()) {
        assert.deepEqual(
          arrived.filter((each) => each.guid === guid).map(({ value }) => Number(value)),
          Array.from({ length: 20 }, (_, i) => 2 * i + which)
        )
      }
    })

    test('the receiver has the traceparent of a traced message', async (t) => {
      const { uplink, messages } = await open(t)
      const guid = fresh()
      const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`
      await uplink.send(message({ guid, traceparent }))
      const [arrived] = (await messages(1)).filter((each) => each.guid === guid)
      assert.equal(arrived.traceparent, traceparent)
    })

    test('a receipt is accepted', async (t) => {
      const { uplink } = await open(t)
      await uplink.send(message({ operator: 'receipt', sid: undefined, value: Buffer.from('{"delivered":1}') }))
    })
  })
}
