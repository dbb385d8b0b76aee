import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Delivery } from '../../../src/documents/delivery/delivery.js'
import { senderId } from '../../../src/gateway/sender.js'
import { Tabs } from '../../../src/gateway/tabs.js'

const ADA = { uid: 'ada', anonymous: false }

test('a record names the tabs that it excludes, by their ids or by the ids of senders, and no other client', () => {
  const tabs = new Tabs(ADA)
  for (const client of ['one', 'two', 'three']) tabs.add(client)
  const except = ['one', senderId(ADA, 'two'), 'other', senderId({ ...ADA, uid: 'bob' }, 'three')]
  assert.deepEqual(tabs.metaOf(except), { except: ['one', 'two'] })
  assert.deepEqual([tabs.metaOf([]), tabs.metaOf(['other'])], [{}, {}])
})

test('the tab that opened a document longest ago is forgotten when there are more than a hundred', () => {
  const tabs = new Tabs(ADA)
  for (let n = 0; n < 100; n++) tabs.add(`tab ${n}`)
  tabs.add('tab 0')
  tabs.add('tab 100')
  assert.deepEqual(tabs.metaOf(['tab 0', 'tab 1', 'tab 100']), { except: ['tab 0', 'tab 100'] })
})

test('only a connection with an excluded tab gets the ids; others share the encoded record', () => {
  const publication = /** @type {any} */ ({
    operator: 'broadcast', guid: 'doc', event: 'message', except: ['one'], traceId: 'trace', timestamp: 1,
    contentType: 'application/json', value: Buffer.from('1')
  })
  const delivery = new Delivery(publication, 7)
  const [mine, others] = [new Tabs(ADA), new Tabs(ADA)]
  mine.add('one')
  others.add('two')
  assert.equal(delivery.forTabs(others), delivery)
  assert.match(String(delivery.forTabs(mine).messages('json')[0].data), /"offset":7.*"except":\["one"\]/)
  assert.doesNotMatch(String(delivery.messages('json')[0].data), /except/)
})
