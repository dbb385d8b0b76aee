import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createAnnouncer } from '../../../packages/demo/page/js/announcer.js'

/** @param {import('node:test').TestContext} t */
function start (t) {
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'] })
  /** @type {string[]} */
  const said = []
  /** @type {Record<string, string>} */
  const texts = { B7: '' }
  const announcer = createAnnouncer({ say: (text) => said.push(text), textOf: (cell) => texts[cell] ?? '' })
  return { ...announcer, said, texts, tick: (/** @type {number} */ ms) => t.mock.timers.tick(ms) }
}

test('a text that is typed letter by letter is announced once, when it is finished', (t) => {
  const { cell, said, texts, tick } = start(t)
  for (const letter of 'Grace Hopper') {
    texts.B7 += letter
    cell('B7', 'Ada')
    tick(300)
  }
  assert.deepEqual(said, [])
  tick(1500)
  assert.deepEqual(said, ['Ada changed B7 to Grace Hopper.'])
})

test('many changes are announced as their number, at most once in five seconds', (t) => {
  const { cell, comment, said, tick } = start(t)
  for (let second = 0; second < 60; second++) {
    cell(`A${second % 10 + 1}`, second % 2 === 0 ? 'Ada' : 'Grace')
    comment('Ada', 'x')
    tick(1000)
  }
  assert.ok(said.length >= 9 && said.length <= 13, `${said.length} announcements`)
  assert.match(said[2], /^\d cells changed by 2 people\. 2 new comments\.$/)
})

test('an announcement is not cut off by the next one', (t) => {
  const { cell, said, tick } = start(t)
  cell('A1', 'Ada')
  tick(1500)
  cell('A2', 'Ada')
  tick(4900)
  assert.equal(said.length, 1)
  tick(100)
  assert.equal(said.length, 2)
})

test('a comment is read with its author', (t) => {
  const { comment, said, tick } = start(t)
  comment('Ada', 'Which red?')
  tick(1500)
  assert.deepEqual(said, ['Comment of Ada: Which red?'])
})
