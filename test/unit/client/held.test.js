import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { clientTime } from '../../helpers/client-time.js'
import { openDoc, scriptedClient, settle } from '../../helpers/scripted-socket.js'

const at = (/** @type {number} */ offset, epoch = 'e') => ({ epoch, offset })

/** Node 20 has no Promise.withResolvers. */
function deferred () {
  let resolve = () => {}
  let reject = (/** @type {Error} */ _error) => {}
  /** @type {Promise<void>} */
  const promise = new Promise((...functions) => { [resolve, reject] = functions })
  return { promise, resolve, reject }
}

/**
 * Catches unhandled rejections, which would fail the test, until its end.
 * @param {import('node:test').TestContext} t
 */
function catchUnhandled (t) {
  const listeners = process.listeners('unhandledRejection')
  /** @type {unknown[]} */
  const caught = []
  process.removeAllListeners('unhandledRejection')
  process.on('unhandledRejection', (error) => { caught.push(error) })
  t.after(() => {
    process.removeAllListeners('unhandledRejection')
    for (const listener of listeners) process.on('unhandledRejection', listener)
  })
  return caught
}

describe('records that arrive while resync listeners reload', () => {
  test('are queued until all of them are settled, also if one fails', async (t) => {
    const unhandled = catchUnhandled(t)
    const time = clientTime(t)
    const { client, socket } = scriptedClient(t)
    const doc = await openDoc({ client, socket }, at(5))
    /** @type {any[]} */
    const seen = []
    doc.on('message', (payload) => { seen.push(payload) })
    doc.on('resync', ({ reason }) => { seen.push(`resync ${reason}`) })
    time.advance(1)
    const [failing, slow, last] = [deferred(), deferred(), deferred()]
    for (const { promise } of [failing, slow, last]) doc.on('resync', () => promise)
    socket.tells('doc:resync', { guid: 'doc', position: at(9), reason: 'trimmed' })
    socket.tells('message', 'ten', { guid: 'doc', offset: 10 })
    failing.reject(new Error('the first'))
    await settle()
    assert.deepEqual(seen, ['resync trimmed'])
    slow.resolve()
    await settle()
    assert.deepEqual(seen, ['resync trimmed'])
    last.reject(new Error('the last'))
    await settle()
    assert.deepEqual(seen, ['resync trimmed', 'ten'])
    assert.deepEqual(
      unhandled.map((error) => /** @type {Error} */ (error).message),
      ['the first', 'the last'],
      'the page gets each of them'
    )
  })
})

describe('a record that waits for a listener', () => {
  test('has its own position, independent of the client\'s current one, also if it arrived before the epoch was known', async (t) => {
    const time = clientTime(t)
    for (const position of [null, at(5)]) {
      const { client, socket } = scriptedClient(t)
      const opening = client.open('doc', { position })
      socket.accepts()
      socket.tells('message', 'six', { guid: 'doc', offset: 6 })
      socket.tells('message', 'signal', { guid: 'doc' })
      socket.tells('doc:joined', { guid: 'doc', position: at(6), recovered: true })
      const doc = await opening
      socket.tells('message', 'seven', { guid: 'doc', offset: 7 })
      socket.tells('doc:resync', { guid: 'doc', position: at(2, 'f'), reason: 'epoch' })
      socket.tells('message', 'three', { guid: 'doc', offset: 3 })
      /** @type {any[]} */
      const seen = []
      doc.on('message', (payload, { epoch, offset }) => { seen.push([payload, epoch, offset]) })
      doc.on('resync', ({ position }) => { seen.push(position) })
      time.advance(1)
      assert.deepEqual(seen, [
        ['six', 'e', 6],
        ['signal', undefined, undefined],
        ['seven', 'e', 7],
        at(2, 'f'),
        ['three', 'f', 3]
      ])
    }
  })
})

describe('the stored position across a reload of the page', () => {
  test('is not ahead of queued records, nor of a pending resync', async (t) => {
    const time = clientTime(t)
    /** @type {Map<string, string>} */
    const kept = new Map()
    const offset = () => JSON.parse([...kept.values()][0] ?? 'null')?.offset
    const storage = {
      getItem: (/** @type {string} */ key) => kept.get(key) ?? null,
      setItem (/** @type {string} */ key, /** @type {string} */ value) { kept.set(key, value) },
      removeItem (/** @type {string} */ key) { kept.delete(key) }
    }
    const { client, socket } = scriptedClient(t, { storage })
    const doc = await openDoc({ client, socket }, at(5))
    socket.tells('message', 'six', { guid: 'doc', offset: 6 })
    assert.equal(offset(), undefined, 'there is no listener yet')
    doc.on('message', () => {})
    time.advance(1)
    assert.equal(offset(), 6)
    const load = deferred()
    doc.on('resync', () => load.promise)
    socket.tells('doc:resync', { guid: 'doc', position: at(9), reason: 'trimmed' })
    socket.tells('message', 'ten', { guid: 'doc', offset: 10 })
    assert.equal(offset(), 6, 'it loads')
    load.resolve()
    await settle()
    assert.equal(offset(), 10)
    const other = await client.open('doc')
    socket.tells('message', 'eleven', { guid: 'doc', offset: 11 })
    assert.equal(offset(), 10, 'the other one has no listener yet')
    other.on('message', () => {})
    time.advance(1)
    assert.equal(offset(), 11)
    doc.close()
    other.close()
    assert.equal(kept.size, 0)
  })
})
