import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Patterns, matches } from '../../../../src/services/api/callers/pattern.js'
import { seededRandom } from '../../../helpers/random.js'

test('a pattern is an id in which * stands for any characters', () => {
  for (const [pattern, yes, no] of /** @type {[string, string[], string[]][]} */ ([
    ['notes', ['notes'], ['', 'note', 'notes/1', 'Notes']],
    ['*', ['', 'a', 'notes/1', '*'], []],
    ['notes/*', ['notes/', 'notes/1', 'notes/a/b'], ['notes', 'note/1', 'x/notes/1']],
    ['*/draft', ['/draft', 'a/draft', 'draft/draft'], ['draft', 'a/draft/1']],
    ['a*b*c', ['abc', 'aXbYc', 'abbcc', 'abcbc'], ['ab', 'acb', 'abcX', 'Xabc']],
    ['a**b', ['ab', 'aXb'], ['a', 'b']],
    ['a.c', ['a.c'], ['abc']],
    ['[ab]?', ['[ab]?'], ['a', 'ab']],
    ['(a+)+$*', ['(a+)+$', '(a+)+$x'], ['aaaa']],
    ['ключ/*', ['ключ/1'], ['ключ']]
  ])) {
    const patterns = new Patterns([pattern])
    for (const id of yes) assert.deepEqual([matches(pattern, id), patterns.match(id)], [true, true], `${pattern} ${id}`)
    for (const id of no) assert.deepEqual([matches(pattern, id), patterns.match(id)], [false, false], `${pattern} ${id}`)
  }
})

test('it agrees with a regular expression', () => {
  const random = seededRandom(18)
  const below = (/** @type {number} */ limit) => Math.floor(random() * limit)
  const pick = (/** @type {string} */ letters, /** @type {number} */ most) =>
    Array.from({ length: below(most + 1) }, () => letters[below(letters.length)]).join('')
  for (let i = 0; i < 20_000; i++) {
    const pattern = pick('ab*', 6)
    const id = pick('ab', 8)
    const expected = new RegExp(`^${pattern.replaceAll('*', '.*')}$`).test(id)
    assert.equal(matches(pattern, id), expected, `${pattern} ${id}`)
  }
})

test('the worst pattern comes to an end: it takes some 65,000 steps, and backtracking over all stars would never end', () => {
  const pattern = '*a'.repeat(128)
  for (let i = 0; i < 100; i++) assert.equal(matches(pattern, `${'a'.repeat(255)}b`), false)
})

test('a list matches where one of its patterns does, and covers a prefix where all ids with it match', () => {
  const patterns = new Patterns(['minutes', 'notes/*', 'a*z'])
  for (const id of ['minutes', 'notes/1', 'abcz']) assert.equal(patterns.match(id), true, id)
  for (const id of ['minute', 'minutes2', 'note/1', 'abc']) assert.equal(patterns.match(id), false, id)
  assert.equal(new Patterns([]).match(''), false)
  for (const prefix of ['notes/', 'notes/2026']) assert.equal(patterns.covers(prefix), true, prefix)
  for (const prefix of ['', 'notes', 'minutes', 'a']) assert.equal(patterns.covers(prefix), false, prefix)
  assert.deepEqual([patterns.all, new Patterns(['x', '*']).all, new Patterns(['*']).covers('')], [false, true, true])
})
