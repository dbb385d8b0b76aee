import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { readOptions, withoutOptions } from '../../simulation/run/options.js'

/** @param {...string} args */
const read = (...args) => readOptions(args, { now: 1_000_000, cores: 3 })

describe('arguments of npm run simulate', () => {
  test('one seed is one world', () => {
    const options = read('--seed', '4711', '--scenario', 'calm')
    assert.deepEqual(options?.seeds, [{ from: 4711, to: 4711 }])
    assert.equal(options?.scenario, 'calm')
    assert.equal(options?.named, false)
  })

  for (const [text, seeds] of /** @type {[string, { from: number, to: number }[]][]} */ ([
    ['1..5000', [{ from: 1, to: 5000 }]],
    ['7', [{ from: 7, to: 7 }]],
    ['1..30,900..910,4294967295', [{ from: 1, to: 30 }, { from: 900, to: 910 }, { from: 4294967295, to: 4294967295 }]]
  ])) {
    test(`seeds ${text}`, () => {
      assert.deepEqual(read('--seeds', text)?.seeds, seeds)
      assert.equal(read('--seeds', text)?.named, true)
    })
  }

  test('without seeds the first ones run, in one process per core', () => {
    assert.deepEqual(read()?.seeds, [{ from: 1, to: 100 }])
    assert.equal(read()?.processes, 3)
    assert.equal(read('--processes', '1')?.processes, 1)
  })

  test('minutes without seeds begin with a seed that the time decides', () => {
    const options = read('--minutes', '0.5')
    assert.equal(options?.minutes, 0.5)
    assert.deepEqual(options?.seeds, [{ from: 1000, to: 2 ** 32 - 1 }])
  })

  test('what is left out of a world is an option, and can be written as one', () => {
    const text = '--without-faults 0..2,5 --clients 2 --documents 1 --records 3 --duration 4000'
    const without = { faults: [0, 1, 2, 5], clients: 2, documents: 1, records: 3, duration: 4000 }
    assert.deepEqual(read('--seed', '1', ...text.split(' '))?.without, without)
    assert.equal(withoutOptions(without), text)
    assert.equal(withoutOptions({ faults: [] }), '')
    assert.deepEqual(read('--seeds', '1..3', '--duration', '4000')?.without, { duration: 4000 })
  })

  test('switches', () => {
    assert.equal(read('--help'), undefined)
    const options = read('--keep-going', '--no-shrink', '--save', '--page', 'a.html')
    assert.deepEqual([options?.keepGoing, options?.shrink, options?.save, options?.page], [true, false, true, 'a.html'])
    assert.equal(read('--seed', '1', '--lines')?.lines, true)
  })

  for (const args of [
    '--seed x', '--seed -1', '--seed 4294967296', '--seeds 5..1', '--seeds 1..2..3', '--seeds 1..', '--minutes 0', '--minutes much',
    '--processes 0', '--seed 1 --seeds 1..2', '--seed 1 --minutes 1', '--seeds 1..2 --clients 1', '--lines', '--seed 1 --clients many',
    '--seed 1 --without-faults 1..100000', '--unknown', 'word'
  ]) {
    test(`refused: ${args}`, () => assert.throws(() => read(...args.split(' '))))
  }
})
