import assert from 'node:assert/strict'
import { test } from 'node:test'
import { areEmpty } from '../../../src/wire/position.js'

const at = (/** @type {string} */ epoch, offset = 0) => ({ epoch, offset })

test('a document without a record is at the same place in each turn of an epoch', () => {
  for (const [one, other, same] of /** @type {[string, string, boolean][]} */ ([
    ['abcdefgh-0', 'abcdefgh-1', true],
    ['abcdefgh-9', 'abcdefgh-10', true],
    ['abc-efgh-9', 'abc-efgh-9', true],
    ['abcdefgh-0', 'abcdefgi-0', false],
    ['abcdefgh', 'abcdefgh-0', false],
    ['abcdefgh', 'abcdefgh', false],
    ['abcdefg-', 'abcdefg-', false],
    ['abcdefgh1', 'abcdefgh2', false],
    ['', '', false]
  ])) {
    assert.equal(areEmpty(at(one), at(other)), same, `${one} ${other}`)
    assert.equal(areEmpty(at(other), at(one)), same, `${other} ${one}`)
    assert.equal(areEmpty(at(one), at(other, 1)), false)
    assert.equal(areEmpty(at(one, 1), at(other)), false)
  }
})
