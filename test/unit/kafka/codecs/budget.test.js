import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fetchResponses } from '../../../../src/kafka/kafkajs/fetch-protocol.js'
import { createBudget } from '../../../../src/kafka/codecs/budget.js'

/** A decompression that the test completes. */
function manual () {
  const calls = { count: 0, resolve: (/** @type {Buffer} */ _plain) => {}, reject: (/** @type {Error} */ _error) => {} }
  return {
    calls,
    decompress: (/** @type {Buffer} */ _source) => {
      calls.count++
      return new Promise((/** @type {(plain: Buffer) => void} */ resolve, reject) =>
        Object.assign(calls, { resolve, reject })
      )
    }
  }
}

/** @param {string} text */
const batch = (text) => Buffer.from(text)

test('a slow batch is left for the next response, by which it is done', async () => {
  const { calls, decompress } = manual()
  assert.equal(await createBudget(1).decompress(decompress, batch('slow')), undefined)
  assert.equal(await createBudget(1).decompress(decompress, batch('slow')), undefined)
  calls.resolve(Buffer.from('plain'))
  assert.equal(String(await createBudget(1).decompress(decompress, batch('slow'))), 'plain')
  assert.equal(calls.count, 1)
})

test('the error of a slow batch is left for the next response too, after which it is retried', async () => {
  const { calls, decompress } = manual()
  assert.equal(await createBudget(1).decompress(decompress, batch('bad')), undefined)
  calls.reject(new Error('corrupt'))
  await assert.rejects(createBudget(1).decompress(decompress, batch('bad')), /corrupt/)
  assert.equal(await createBudget(1).decompress(decompress, batch('bad')), undefined)
  assert.equal(calls.count, 2)
  calls.resolve(Buffer.alloc(0))
  await createBudget(1).decompress(decompress, batch('bad'))
})

test('all batches of a response share its time limit, and finished ones need none', async () => {
  const { calls, decompress } = manual()
  const budget = createBudget(20)
  const names = ['a', 'b', 'c']
  for (const name of names) assert.equal(await budget.decompress(decompress, batch(name)), undefined)
  assert.equal(String(await budget.decompress(async () => Buffer.from('ready'), batch('d'))), 'ready')
  assert.equal(calls.count, 3)
})

test('at most 16 run at once; others are not started', async () => {
  const budget = createBudget(0)
  /** @type {ReturnType<typeof manual>[]} */
  const all = []
  for (let i = 0; i < 20; i++) {
    const one = manual()
    all.push(one)
    assert.equal(await budget.decompress(one.decompress, batch(`many ${i}`)), undefined)
  }
  const begun = all.filter(({ calls }) => calls.count === 1)
  assert.ok(begun.length <= 16 && begun.length >= 13, `${begun.length}, besides those of the previous test`)
  begun.forEach(({ calls }) => calls.resolve(Buffer.alloc(0)))
  await Promise.all(all.map(({ decompress }, i) => createBudget(0).decompress(decompress, batch(`many ${i}`))))
})

test('a response leaves out partitions whose batch is not ready, and has the others', async () => {
  const partition = (/** @type {number} */ number, /** @type {string} */ records) => {
    const bytes = Buffer.alloc(42 + records.length)
    bytes.writeInt32BE(number, 0)
    bytes.writeInt32BE(-1, 30)
    bytes.writeInt32BE(-1, 34)
    bytes.writeInt32BE(records.length, 38)
    bytes.write(records, 42)
    return bytes
  }
  const head = Buffer.alloc(14 + 3 + 4)
  head.writeInt32BE(1, 10)
  head.writeInt16BE(1, 14)
  head.write('t', 16)
  head.writeInt32BE(3, 17)
  const decode = fetchResponses(async (payload, at, end) => {
    const text = payload.toString('latin1', at + 4, end)
    return text === 'slow' ? undefined : [{ text }]
  })
  const {
    responses: [{ partitions }]
  } = await decode(Buffer.concat([head, partition(0, 'first'), partition(1, 'slow'), partition(2, 'last')]))
  assert.deepEqual(
    partitions.map(({ partition, messages }) => [partition, /** @type {any} */ (messages)[0].text]),
    [
      [0, 'first'],
      [2, 'last']
    ]
  )
})
