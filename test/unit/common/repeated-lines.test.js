import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RepeatedLines } from '../../../src/base/common/repeated-lines.js'
import { manualClock } from '../../helpers/manual-clock.js'

const WARN = 40

function setUp () {
  const clock = manualClock()
  /** @type {any[][]} */
  const written = []
  let dropped = 0
  const lines = new RepeatedLines({ clock, onDrop: () => { dropped++ } })
  return {
    written,
    dropped: () => dropped,
    write: (/** @type {any[]} */ ...args) => lines.write(args, WARN, (values) => written.push(values)),
    pass: clock.advance
  }
}

test('of more than 20 lines with the same text in 10 s the rest is counted in one', () => {
  const { written, dropped, write, pass } = setUp()
  for (let number = 1; number <= 100; number++) write({ number }, 'failed')
  assert.equal(written.length, 20)
  assert.equal(dropped(), 80)
  pass(10_000)
  assert.deepEqual(written.slice(20), [[{ number: 100, repeated: 80 }, 'failed']])
  write('failed')
  assert.deepEqual(written.at(-1), ['failed'], 'a new window')
})

test('fields of any kind get the number: none, and an error', () => {
  const { written, write, pass } = setUp()
  const error = new Error('no')
  for (let number = 0; number < 22; number++) {
    write('plain')
    write(error, 'with an error')
  }
  pass(10_000)
  assert.deepEqual(written.slice(40), [[{ repeated: 2 }, 'plain'], [{ err: error, repeated: 2 }, 'with an error']])
})

test('lines that come slower are all written, and other texts do not count', () => {
  const { written, dropped, write, pass } = setUp()
  for (let number = 0; number < 100; number++) {
    write(`text ${number}`)
    write('the same')
    pass(600)
  }
  assert.equal(written.length, 200)
  assert.equal(dropped(), 0)
})

test('a thousand texts are remembered; the count of a forgotten one is written', () => {
  const { written, write } = setUp()
  for (let number = 0; number < 25; number++) write('first')
  for (let number = 0; number < 1000; number++) write(`text ${number}`)
  assert.deepEqual(written.find(([fields]) => typeof fields === 'object'), [{ repeated: 5 }, 'first'])
})
