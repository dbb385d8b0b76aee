import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { checkState } from '../../../src/people/presence/state-check.js'
import { randomValue, seededRandom } from '../../helpers/random.js'

/** @param {object} state @param {number} maxBytes */
const codeOf = (state, maxBytes) => {
  try {
    checkState(state, maxBytes)
    return 'ok'
  } catch (error) {
    return /** @type {any} */ (error).code
  }
}

describe('a presence state', () => {
  test('may have up to the allowed number of bytes of JSON, with any content', () => {
    const random = seededRandom(5)
    const states = [
      {},
      { a: [] },
      { a: [[], {}, [1, 2]], b: { c: null } },
      { ä: '€😀', '"': '\n' },
      { a: undefined, b: [undefined] },
      JSON.parse('{"__proto__":{"a":1}}')
    ]
    for (let i = 0; i < 150; i++)
      states.push({ value: randomValue(random, { depth: 3 }), more: { value: randomValue(random, { depth: 2 }) } })
    let checked = 0
    for (const state of states) {
      if (codeOf(state, Infinity) === 'bad_request') continue
      const bytes = Buffer.byteLength(JSON.stringify(state))
      assert.deepEqual(
        [codeOf(state, bytes), codeOf(state, bytes - 1)],
        ['ok', 'state_too_large'],
        JSON.stringify(state)
      )
      checked++
    }
    assert.ok(checked > 50)
  })

  test('that is too large is not read beyond the limit', () => {
    const unseen = { get value () { return assert.fail('this was read') } }
    const many = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`field ${i}`, i]))
    for (const large of ['x'.repeat(100), Array(100).fill(1), Array(60).fill([]), many, { ['x'.repeat(100)]: 1 }]) {
      assert.equal(codeOf({ large, unseen }, 100), 'state_too_large')
      assert.equal(codeOf({ list: [[large], unseen] }, 100), 'state_too_large')
    }
  })

  test('is refused if it contains binary, or is nested deeper than the stack allows', () => {
    for (const bytes of [Buffer.from('x'), new ArrayBuffer(1)])
      assert.equal(codeOf({ in: [{ bytes }] }, 100), 'bad_request')
    const deep = JSON.parse(`{"deep":${'['.repeat(50_000)}${']'.repeat(50_000)}}`)
    assert.equal(codeOf(deep, 2 ** 20), 'bad_request')
    assert.equal(codeOf(deep, 2048), 'state_too_large')
  })
})
