import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createKeys } from '../../../src/redis/keys.js'
import { hashSlot, tagsOf } from '../../../src/redis/hash-slot.js'
import { SCRIPTS } from '../../../src/redis/scripts.js'

const {
  documentChannel, documentLog, documentMeta, emptyEpoch, everyoneChannel: EVERYONE_CHANNEL, userWorkers,
  workerChannel
} = createKeys()

const GUIDS = [
  'a',
  'b',
  '}',
  '{',
  '{}',
  '}{',
  'a}',
  'a}:log',
  'a}:meta',
  '{d:a}',
  'a:b',
  '文書',
  '😀',
  ' ',
  'x'.repeat(256),
  '}:log',
  '{}:log',
  'a}b{c}'
]

describe('keys', () => {
  test('keys of one document are in one hash slot', () => {
    for (const guid of GUIDS) {
      assert.equal(hashSlot(documentLog(guid)), hashSlot(documentChannel(guid)), guid)
      assert.equal(hashSlot(documentMeta(guid)), hashSlot(documentChannel(guid)), guid)
    }
  })

  test('all names are distinct, with any braces and colons in a guid or uid', () => {
    const names = GUIDS.flatMap((id) => [documentLog(id), documentMeta(id), documentChannel(id), userWorkers(id)])
    names.push(EVERYONE_CHANNEL, workerChannel(0), workerChannel(1), workerChannel(11))
    assert.equal(new Set(names).size, names.length)
  })

  test('have the names of the contract', () => {
    assert.equal(documentChannel('g'), 'inkcast:{d:g}')
    assert.equal(workerChannel(7), 'inkcast:{w:7}')
    assert.equal(userWorkers('u'), 'inkcast:{u:u}:workers')
  })

  test('with another prefix they are the same behind it, in the same hash slots, also those that scripts make', () => {
    /** @param {any} keys @returns {string[]} */
    const namesOf = (keys) => Object.values(keys)
      .flatMap((value) => typeof value === 'function' ? value('1.2', '3', '4') : value)
      .flatMap((value) => typeof value === 'object' ? Object.values(value) : value)
    const [usual, other] = [namesOf(createKeys()), namesOf(createKeys('shop:eu'))]
    assert.ok(usual.length > 50)
    assert.deepEqual(other, usual.map((name) => name.replace('inkcast:', 'shop:eu:')))
    for (const [i, name] of usual.entries()) if (name.includes('{')) assert.equal(hashSlot(other[i]), hashSlot(name), name)
    for (const { name, lua } of SCRIPTS) assert.doesNotMatch(lua, /['"]inkcast/, name)
  })

  test('documents are spread over the hash slots', () => {
    const slots = new Set(Array.from({ length: 1000 }, (_, i) => hashSlot(documentChannel(`document-${i}`)) >> 10))
    assert.equal(slots.size, 16)
  })
})

describe('slots', () => {
  test('each has a tag', () => {
    const tagOf = tagsOf('n:')
    for (let slot = 0; slot < 16_384; slot++) assert.equal(hashSlot(emptyEpoch(tagOf(slot))), slot)
  })

  test('are those of the cluster specification', () => {
    // 0x31C3 is the check value of CRC16 XMODEM; the others come from CLUSTER KEYSLOT
    for (const [key, slot] of /** @type {[string, number][]} */ ([
      ['123456789', 0x31c3],
      ['', 0],
      ['a', 15495],
      ['{a}b', 15495],
      ['b{a}', 15495],
      ['{}b', 6680],
      ['x{y}z{w}', 12222],
      ['a{b', 13340],
      ['文書{日}', 13986],
      ['{{a}}', 10276],
      ['😀', 2959]
    ])) {
      assert.equal(hashSlot(key), slot & 16383, key)
    }
  })
})
