import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Delivery } from '../../../src/documents/delivery/delivery.js'
import { formsOf } from '../../../src/gateway/mqtt/record-forms.js'

/** @param {object} [more] @param {number} [offset] */
const delivery = (more, offset = 5) => new Delivery(/** @type {any} */ ({
  operator: 'broadcast', guid: 'a', event: 'message', contentType: 'application/json', value: Buffer.from('1'), except: [], ...more
}), offset)

test('receivers share a packet for each version and quality, and with quality 1 its id and the record in flight', () => {
  const record = delivery()
  const forms = formsOf(record)
  assert.equal(formsOf(record), forms)
  assert.equal(forms.topic, 'doc/a')
  const all = [forms.form(4, 0), forms.form(4, 1), forms.form(5, 0), forms.form(5, 1)]
  assert.equal(new Set(all.map(({ packet }) => packet.bytes.toString('hex'))).size, 4)
  assert.equal(forms.form(5, 1), all[3])
  const { id } = /** @type {import('../../../src/gateway/mqtt/in-flight.js').Record} */ (forms.record)
  assert.deepEqual(all.map(({ packet }) => packet.id), [0, id, 0, id])
  assert.deepEqual(forms.record, { id, guid: 'a', offset: 5, ackId: undefined })
  assert.equal(formsOf(delivery({}, 6)).record?.id, id % 65_535 + 1, 'the next record of the log has the next id')
})

test('a record that no log keeps has no place among those in flight', () => {
  const { record, topic } = formsOf(delivery({ ephemeral: true, from: 'ada', event: 'typing' }, 0))
  assert.deepEqual([record, topic], [undefined, 'doc/a/signal/typing'])
})

test('a record of a user\'s log has its offset there', () => {
  const { record, topic } = formsOf(new Delivery(/** @type {any} */ ({
    operator: 'users', keep: true, event: 'message', contentType: 'application/json', value: Buffer.from('1'), except: []
  }), 7, null, undefined, 'e'))
  assert.deepEqual([topic, record?.guid, record?.offset], ['user', undefined, 7])
})
