import assert from 'node:assert/strict'
import * as fs from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { Store } from '../../../packages/yjs-server/store.js'

/** @param {import('node:test').TestContext} t @param {any} [disk] in place of node:fs/promises */
async function start (t, disk) {
  const directory = await fs.mkdtemp(join(tmpdir(), 'inkcast-yjs-'))
  t.after(() => fs.rm(directory, { recursive: true }))
  const store = new Store(directory, disk)
  await store.start()
  return { directory, store }
}

/** @param {string} text */
const frame = (text) => ({ kind: 1, payload: Buffer.from(text) })

/** @param {Store} store */
async function textsOf (store) {
  const { frames, damaged } = await store.open('minutes')
  return { texts: frames.map(({ payload }) => Buffer.from(payload).toString()), damaged }
}

/** A disk that is full after a number of bytes. */
function smallDisk () {
  let room = Infinity
  return {
    fs: {
      ...fs,
      /** @param {string} path @param {string} flags @param {number} [mode] */
      async open (path, flags, mode) {
        const handle = await fs.open(path, flags, mode)
        const write = handle.write.bind(handle)
        handle.write = /** @type {any} */ (async (/** @type {Buffer} */ bytes, /** @type {number} */ at,
          /** @type {number} */ length, /** @type {number} */ position) => {
          if (room === 0) throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' })
          const taken = Math.min(length, room)
          room -= taken
          return write(bytes, at, taken, position)
        })
        return handle
      }
    },
    /** @param {number} bytes */
    leave (bytes) { room = bytes }
  }
}

describe('the file of a document', () => {
  test('that ends within a write has everything before it, at whichever byte it ends', async (t) => {
    const { directory, store } = await start(t)
    const { file } = await store.open('minutes')
    const ends = []
    for (const text of ['one', 'two', 'three']) {
      await file.append([frame(text)])
      ends.push(file.length)
    }
    const [path] = (await fs.readdir(directory)).map((name) => join(directory, name))
    const whole = await fs.readFile(path)
    for (let length = ends[0]; length < whole.length; length++) {
      await fs.writeFile(path, whole.subarray(0, length))
      const expected = ['one', 'two', 'three'].slice(0, ends.filter((end) => end <= length).length)
      assert.deepEqual(await textsOf(store), { texts: expected, damaged: false }, `${length} bytes`)
    }
    // garbage after the cut, and a write over it
    await fs.writeFile(path, Buffer.concat([whole.subarray(0, ends[1] + 5), Buffer.alloc(50, 0xff)]))
    const again = await store.open('minutes')
    await again.file.append([frame('3')])
    assert.deepEqual(await textsOf(store), { texts: ['one', 'two', '3'], damaged: false })
  })

  test('with a wrong byte in its middle keeps the rest, says so, and has a copy beside it', async (t) => {
    const { directory, store } = await start(t)
    const { file } = await store.open('minutes')
    await file.append([frame('one')])
    const at = file.length + 14
    await file.append([frame('two')])
    await file.append([frame('three')])
    const [name] = await fs.readdir(directory)
    const content = await fs.readFile(join(directory, name))
    content[at] ^= 1
    await fs.writeFile(join(directory, name), content)
    assert.deepEqual(await textsOf(store), { texts: ['one', 'three'], damaged: true })
    assert.deepEqual(await fs.readFile(join(directory, `${name}.damaged`)), content)
  })

  test('is the old one if a snapshot was not finished', async (t) => {
    const { directory, store } = await start(t)
    const { file } = await store.open('minutes')
    await file.append([frame('one')])
    const [name] = await fs.readdir(directory)
    await fs.writeFile(join(directory, `${name}.new`), 'half a snapsh')
    assert.deepEqual((await textsOf(store)).texts, ['one'])
    await (await store.open('minutes')).file.replace([frame('one and more')])
    assert.deepEqual((await textsOf(store)).texts, ['one and more'])
    assert.deepEqual(await fs.readdir(directory), [name])
  })

  test('on a full disk keeps what it had, and takes more when there is room', async (t) => {
    const disk = smallDisk()
    const { directory, store } = await start(t, disk.fs)
    const { file } = await store.open('minutes')
    await file.append([frame('one')])
    disk.leave(7)
    await assert.rejects(file.append([frame('a longer text')]), { code: 'ENOSPC' })
    assert.deepEqual((await textsOf(store)).texts, ['one'])
    disk.leave(5)
    await assert.rejects(file.replace([frame('a snapshot')]), { code: 'ENOSPC' })
    assert.equal((await fs.readdir(directory)).length, 1, 'no half snapshot takes room')
    disk.leave(Infinity)
    await file.append([frame('two')])
    assert.deepEqual(await textsOf(store), { texts: ['one', 'two'], damaged: false })
  })
})
