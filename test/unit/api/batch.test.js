import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadSync } from '@grpc/proto-loader'
import { systemRandom } from '../../../src/base/common/random.js'
import { itemFrom } from '../../../src/services/api/grpc/messages.js'
import { PROTO } from '../../../src/services/api/grpc/rpcs.js'
import { batchOperations, entryOf } from '../../../src/services/api/operations/batch.js'
import { ITEM_FIELDS } from '../../../src/wire/item.js'

const [{ body }] = /** @type {any[]} */ (batchOperations)
const described = Object.keys(body.schema.properties.publications.items.properties)
const {
  'inkcast.v1.Gateway': { PublishBatch: definition }, 'inkcast.v1.Publication': message
} = /** @type {any} */ (loadSync(PROTO, { longs: Number }))

test('the description of a batch has every field that a publication may have', () => {
  assert.deepEqual(described.toSorted(), [...ITEM_FIELDS].sort())
})

test('over gRPC a publication has every field of a batch, with its bytes in value', () => {
  const fields = message.type.field.map((/** @type {{ name: string }} */ { name }) =>
    name.replace(/_([a-z])/g, (_, /** @type {string} */ letter) => letter.toUpperCase()))
  assert.deepEqual(fields.sort(), [...ITEM_FIELDS].filter((name) => name !== 'valueBase64').sort())
})

test('a publication for the log of a user arrives over gRPC with keep and key', () => {
  const bytes = definition.requestSerialize({
    publications: [{ operator: 'user', uid: 'ada', keep: true, key: 'unread', value: Buffer.from('2') }]
  })
  const [item] = definition.requestDeserialize(bytes).publications.map(itemFrom)
  const { publication } = entryOf(item, { caller: 'shop', now: 1, random: systemRandom, admit: (one) => one, refused () {} })
  assert.ok(!(publication instanceof Error), String(publication))
  assert.deepEqual(
    [publication.operator, publication.uid, publication.keep, publication.key, publication.value.toString()],
    ['user', 'ada', true, 'unread', '2']
  )
})
