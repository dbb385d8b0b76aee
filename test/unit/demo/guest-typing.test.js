import assert from 'node:assert/strict'
import { test } from 'node:test'
import { typeText } from '../../../packages/demo/page/js/guest-typing.js'

const TEXT = 'Choose a playlist'

/**
 * @param {number} goesAfter letters
 * @param {boolean} isVisitors
 * @returns {Promise<string[]>} texts of the cell
 */
async function typed (goesAfter, isVisitors) {
  /** @type {string[]} */
  const texts = []
  await typeText(TEXT, {
    put: async (text) => { texts.push(text) },
    pause: async () => {},
    mustGo: () => texts.length >= goesAfter,
    isVisitors: () => isVisitors
  })
  return texts
}

test('a text is typed letter by letter', async () => {
  assert.deepEqual(await typed(Infinity, false), Array.from(TEXT, (_, i) => TEXT.slice(0, i + 1)))
})

test(`a guest that has to go after any of ${TEXT.length} letters leaves a whole text, or none`, async () => {
  assert.deepEqual(await typed(0, false), [])
  for (let letters = 1; letters <= TEXT.length; letters++) {
    const texts = await typed(letters, false)
    assert.equal(texts.at(-1), TEXT, `after ${letters}`)
    assert.equal(texts.length, Math.min(letters + 1, TEXT.length))
  }
})

test('a guest writes nothing more in the cell of a visitor', async () => {
  for (let letters = 1; letters < TEXT.length; letters++) assert.equal((await typed(letters, true)).length, letters)
})
