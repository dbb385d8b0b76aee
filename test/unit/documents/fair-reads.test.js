import assert from 'node:assert/strict'
import { test } from 'node:test'
import { InkcastError } from '../../../src/base/common/errors.js'
import { FairReads } from '../../../src/documents/fair-reads.js'

const settled = () => new Promise((resolve) => { setImmediate(resolve) })

/** A bus whose reads end when the test says so. */
function start () {
  const reads = new FairReads()
  /** @type {{ guid: string, end: () => void, fail: (error: Error) => void }[]} */
  const reading = []
  let most = 0
  /** @type {any} */
  const bus = {
    history: (/** @type {string} */ guid) => new Promise((resolve, reject) => {
      const one = {
        guid,
        end () { reading.splice(reading.indexOf(one), 1); resolve(guid) },
        fail (/** @type {Error} */ error) { reading.splice(reading.indexOf(one), 1); reject(error) }
      }
      reading.push(one)
      most = Math.max(most, reading.length)
    })
  }
  return {
    reading,
    most: () => most,
    read: (/** @type {string} */ who, /** @type {string} */ guid) =>
      /** @type {Promise<any>} */ (reads.of(bus, who).history(guid, { epoch: 'e', offset: 0 }, 1))
  }
}

for (const many of [1, 4, 5, 100, 1000]) {
  test(`of ${many} reads at most four are in progress, and all end`, async () => {
    const { read, reading, most } = start()
    const all = Promise.all(Array.from({ length: many }, (_, i) => read('a', `${i}`)))
    for (let ended = 0; ended < many; ended++) {
      await settled()
      reading[ended % reading.length].end()
    }
    assert.deepEqual(await all, Array.from({ length: many }, (_, i) => `${i}`))
    assert.equal(most(), Math.min(many, 4))
  })
}

test('who asks for one read waits for one of each other at most, however many these have', async () => {
  const { read, reading } = start()
  for (let i = 0; i < 500; i++) read('busy', `busy-${i}`)
  for (let i = 0; i < 100; i++) read('other', `other-${i}`)
  await settled()
  let done = false
  read('one', 'one').then(() => { done = true })
  let ended = 0
  for (; !done; ended++) {
    await settled()
    reading[0].end()
    await settled()
  }
  // the four in progress, one of each other, and its own among four
  assert.ok(ended <= 4 + 2 + 4, `${ended} reads`)
})

test('more reads of one reader than may wait are refused, and there is room again when some have ended', async () => {
  const { read, reading } = start()
  for (let i = 0; i < 1004; i++) read('a', `${i}`)
  await assert.rejects(read('a', 'late'), { code: 'unavailable' })
  await settled()
  reading[0].end()
  await settled()
  const late = read('a', 'late')
  await assert.rejects(read('a', 'later'), { code: 'unavailable' })
  for (let left = 1004; left > 0; left--) {
    await settled()
    reading[0].end()
  }
  assert.equal(await late, 'late')
})

for (const [busy, others] of [[1, 1], [1, 400], [2, 100], [7, 50], [500, 10]]) {
  test(`${others} readers are read while ${busy} have filled the list, which grows no more`, async () => {
    const { read, reading, most } = start()
    /** @type {string[]} */
    const refused = []
    const attempt = (/** @type {string} */ who, /** @type {string} */ guid) =>
      read(who, guid).catch(({ code }) => { refused.push(`${who} ${code}`) })
    const all = Array.from({ length: 1004 }, (_, i) => attempt(`busy-${i % busy}`, `${i}`))
    await settled()
    const ofOthers = Array.from({ length: others }, (_, i) => attempt(`other-${i}`, `other-${i}`))
    await settled()
    assert.equal(refused.length, others)
    assert.ok(refused.every((line) => /^busy-\d+ unavailable$/.test(line)), refused.find((line) => !line.startsWith('busy')))
    // none with the most is spared: each has lost about as many as the next one
    const counts = Array.from({ length: busy }, (_, i) => refused.filter((line) => line === `busy-${i} unavailable`).length)
    assert.ok(Math.max(...counts) - Math.min(...counts) <= 2, `${counts}`)
    let ended = 0
    for (; reading.length > 0; ended++) {
      reading[0].end()
      await settled()
    }
    assert.deepEqual(await Promise.all(ofOthers), Array.from({ length: others }, (_, i) => `other-${i}`))
    await Promise.all(all)
    assert.deepEqual([ended, most()], [1004, 4])
  })
}

test('a read that fails for another reason ends no other', async () => {
  const { read, reading } = start()
  const all = Array.from({ length: 20 }, (_, i) => read(`${i % 3}`, `${i}`).catch((error) => error.message))
  await settled()
  reading[0].fail(new Error('its value is damaged'))
  for (let left = 19; left > 0; left--) {
    await settled()
    reading[0].end()
  }
  assert.deepEqual(await Promise.all(all), ['its value is damaged', ...Array.from({ length: 19 }, (_, i) => `${i + 1}`)])
})

test('a read without an answer of Redis ends those that wait with its error, and later ones are read', async () => {
  const { read, reading } = start()
  const waiting = Array.from({ length: 20 }, (_, i) => read(`${i % 3}`, `${i}`).catch((error) => error.message))
  await settled()
  reading[0].fail(new InkcastError('unavailable', 'no answer'))
  assert.deepEqual((await Promise.all([waiting[0], ...waiting.slice(4)])), Array(17).fill('no answer'))
  for (const { end } of [...reading]) end()
  assert.deepEqual(await Promise.all(waiting.slice(1, 4)), ['1', '2', '3'])
  const next = Array.from({ length: 5 }, (_, i) => read('a', `next-${i}`))
  for (let i = 0; i < 5; i++) {
    await settled()
    reading[0].end()
  }
  assert.equal((await Promise.all(next)).length, 5)
})
