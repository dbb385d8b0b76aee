#!/usr/bin/env node
/**
 * Plays random sequences of commands and scripts on the built-in store and on a real redis-server, under one clock, and
 * compares every reply, every push and the key space:
 *
 *   node test/differential/run.js --sequences 100000 --seed 1
 *
 * Options: --most <n> ends after that number of differences (default 1); --self compares Redis with another Redis.
 * Exit code: 0 all sequences are equal, 1 not all.
 */
import { parseArgs } from 'node:util'
import { differ } from './differ.js'
import { startReal } from './real.js'

const { values } = parseArgs({
  options: {
    sequences: { type: 'string', default: '3000' },
    seed: { type: 'string', default: '1' },
    most: { type: 'string', default: '1' },
    self: { type: 'boolean', default: false }
  }
})
/** @type {(() => unknown)[]} */
const stops = []
const scope = { after: (/** @type {() => unknown} */ stop) => { stops.unshift(stop) } }
const TELL = 10_000

const begin = performance.now()
let told = begin
/** @type {number} */
let found
try {
  const real = await startReal(scope)
  const { startStore } = values.self ? { startStore: startReal } : await import('./built-in.js')
  found = await differ(real, await startStore(scope), {
    seed: Number(values.seed),
    sequences: Number(values.sequences),
    most: Number(values.most),
    onDifference: console.log,
    onPlayed (played, steps) {
      const now = performance.now()
      if (now - told < TELL && played < Number(values.sequences)) return
      told = now
      const seconds = (now - begin) / 1000
      console.log(`${played} sequences, ${steps} steps in ${seconds.toFixed(0)} s: ${(played / seconds).toFixed(0)} sequences/s, ` +
        `${(seconds / steps * 1e6).toFixed(0)} us per step`)
    }
  })
} finally {
  for (const stop of stops) await stop()
}
console.log(found === 0 ? `equal: seeds ${values.seed} to ${Number(values.seed) + Number(values.sequences) - 1}` : `${found} differ`)
process.exit(found === 0 ? 0 : 1)
