import '../../../simulation/world/patched-time.js'
import '../../../simulation/world/patched-net.js'
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import crypto from 'node:crypto'
import { EventEmitter } from 'node:events'
import fs from 'node:fs'
import fsPromises from 'node:fs/promises'
import { describe, test } from 'node:test'
import { Worker } from 'node:worker_threads'
import zlib from 'node:zlib'
import { real } from '../../../simulation/world/real.js'
import { World } from '../../../simulation/world/world.js'

const FILE = '/etc/hostname'

/**
 * Runs something in a turn of a process. What is real may come back in any of the turns that follow, so there are some
 * for as long as it takes.
 * @param {() => unknown} run
 * @param {(world: World) => boolean} [isOver]
 */
async function inWorld (run, isOver = () => false) {
  const world = new World(1, { checked: true })
  const process = world.process('one', { name: 'm1', step: 0 })
  process.enter('run', run)
  process.enter('turns', () => setInterval(() => {}, 1))
  const deadline = real.performanceNow() + 5000
  await world.run(Infinity, () =>
    isOver(world) || (world.time > 50 && (isOver === notYet || real.performanceNow() > deadline)))
  return world
}
const notYet = () => false
/** With the place; the loader of modules shows none. Work of the tests before has other sentences. */
const SEEN = /\bone (begins work|began work|uses a file)[^]*(checks\.test\.js|esm\/load|utf8\.js)/
const seen = (/** @type {World} */ { violations }) => violations.find((text) => SEEN.test(text))

describe('a world that is checked', () => {
  test('takes what is done at once, or is the world\'s own, for no work beside it', async () => {
    const { violations } = await inWorld(async () => {
      zlib.inflateSync(zlib.deflateSync('text'))
      crypto.randomBytes(4)
      crypto.randomFill(Buffer.alloc(4), () => {})
      crypto.createHash('sha256').update('a').digest()
      setTimeout(() => setImmediate(() => process.nextTick(() => queueMicrotask(() => {}))), 2)
      await new Promise((resolve) => { setTimeout(resolve, 3) })
      fs.readFileSync(new URL(import.meta.url))
    }, notYet)
    assert.deepEqual(violations, [])
  })

  for (const [name, run] of /** @type {[string, () => unknown][]} */ ([
    ['a real timer', () => real.setTimeout(() => {}, 1)],
    ['a real interval', () => real.clearInterval(real.setInterval(() => {}, 1))],
    ['a real immediate', () => real.setImmediate(() => {})],
    ['a callback of the thread pool for compression', () => zlib.gzip('text', () => {})],
    ['a callback of the thread pool for a key', () => crypto.pbkdf2('a', 'b', 1, 8, 'sha256', () => {})],
    ['WebCrypto', () => crypto.webcrypto.subtle.digest('SHA-256', Buffer.from('a'))],
    ['a process', () => execFile(process.execPath, ['--version'], () => {})],
    ['a thread', () => new Worker('', { eval: true })],
    ['a message channel', () => new MessageChannel().port1.close()],
    ['a file that is read', () => fs.readFile(FILE, () => {})],
    ['a file that is read by a promise', () => fsPromises.readFile(FILE)],
    ['a file that is read at once', () => fs.readFileSync(FILE)],
    ['a file that is written', () => fs.writeFileSync('/dev/null', '')],
    // a later Node reads it at once
    ...process.version.startsWith('v20.')
      ? [['a module that is loaded', () => import('../../../../client/common/utf8.js')]]
      : []
  ])) {
    test(`sees ${name}`, async () => {
      const { violations } = await inWorld(run, (world) => seen(world) !== undefined)
      assert.ok(violations.some((text) => SEEN.test(text)), violations.join('\n'))
    })
  }

  /** @type {[string, (one: Turn, two: Turn) => void][]} */
  const SHARED = [
    ['a promise of another one that is awaited', (one, two) => {
      /** @type {(value?: unknown) => void} */
      let resolve = () => {}
      one(async () => { await new Promise((done) => { resolve = done }) })
      two(() => resolve())
    }],
    ['a callback behind a promise of another one', (one, two) => {
      const { promise, resolve } = Promise.withResolvers?.() ?? deferred()
      one(() => { promise.then(() => {}) })
      two(() => resolve(undefined))
    }],
    ['an iteration over events of another one', (one, two) => {
      const events = new EventEmitter()
      one(async () => {
        await /** @type {any} */ (EventEmitter).on(events, 'data').next()
      })
      two(() => events.emit('data'))
    }]
  ]
  for (const [name, share] of SHARED) {
    test(`sees ${name}`, async () => {
      const world = new World(1, { checked: true })
      let at = 0
      const [one, two] = ['one', 'two'].map((name) => {
        const process = world.process(name, { name: 'm1', step: 0 })
        return (/** @type {() => unknown} */ run) => process.enter('turn', run, at++)
      })
      share(one, two)
      await world.run(10)
      const sentences = world.violations.join('\n\n')
      assert.match(sentences, /what one has begun continues in a turn of two: PROMISE\n[^]*checks\.test\.js/)
    })
  }

  test('sees timers, immediates, servers and connections of no process, without being asked to check', async () => {
    const world = new World(1)
    world.schedule(1, 'timer', () => { setTimeout(() => {}, 1) }, null)
    world.schedule(2, 'immediate', () => { setImmediate(() => {}) }, null)
    await world.run(10)
    assert.deepEqual(world.violations, ['1.0 ms: a timer of nobody', '2.0 ms: an immediate of nobody'])
  })

  test('has the same trace as one that is not', async () => {
    const hashes = new Set()
    for (const checked of [false, true, false]) {
      const world = new World(7, { checked })
      const one = world.process('one', { name: 'm1', step: 0 })
      one.enter('start', async () => {
        for (let i = 0; i < 50; i++) {
          await new Promise((resolve) => { setTimeout(resolve, 10 * Math.random()) })
          if (Math.random() < 0.5) setImmediate(() => crypto.randomUUID())
        }
      })
      await world.run(1000)
      hashes.add(world.trace.hash)
    }
    assert.equal(hashes.size, 1)
  })
})

/** @typedef {(run: () => unknown) => void} Turn */

function deferred () {
  /** @type {(value: any) => void} */
  let resolve = () => {}
  return { promise: new Promise((done) => { resolve = done }), resolve }
}
