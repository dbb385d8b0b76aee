import assert from 'node:assert/strict'
import { readdirSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { lock } from '../../../packages/yjs-server/directory.js'
import { waitFor } from '../../helpers/wait.js'
import { makeDirectory, removeDirectory } from '../../services/directory.js'

/** @param {import('node:test').TestContext} t */
function directoryOf (t) {
  const directory = makeDirectory('lock')
  t.after(() => removeDirectory(directory))
  return directory
}

/** @param {string} directory @param {number} ms */
const age = (directory, ms) => {
  const at = new Date(Date.now() - ms)
  utimesSync(join(directory, 'lock'), at, at)
}

test('two containers, where both are process 1, have one directory one after the other', async (t) => {
  const directory = directoryOf(t)
  const unlock = await lock(directory, { host: 'a', pid: 1 })
  await assert.rejects(lock(directory, { host: 'b', pid: 1 }), /^Error: a 1 \S+ stores documents/)
  await unlock()
  await (await lock(directory, { host: 'b', pid: 1 }))()
  assert.deepEqual(readdirSync(directory), [])
})

test('a lock of another machine without a sign of life is free, and its owner does not give the next one back', async (t) => {
  const directory = directoryOf(t)
  const late = await lock(directory, { host: 'a', pid: 1 })
  age(directory, 60_000)
  const unlock = await lock(directory, { host: 'b', pid: 1 })
  await late()
  await assert.rejects(lock(directory, { host: 'c', pid: 1 }), /^Error: b 1 /)
  await unlock()
})

test('a process that was stopped until another one has its directory hears of it', async (t) => {
  const directory = directoryOf(t)
  let isLost = false
  await lock(directory, { host: 'a', pid: 1, refresh: 10, onLost: () => { isLost = true } })
  const unlock = await lock(directory, { host: 'a', pid: 1, refresh: 10, onLost: () => assert.fail('it has it') })
  await waitFor(() => isLost)
  await unlock()
  assert.deepEqual(readdirSync(directory), [])
})

test('a process that was killed left a lock that is free at once on its machine, with the same id or another one', async (t) => {
  const directory = directoryOf(t)
  await lock(directory, { host: 'a', pid: 1 })
  const unlock = await lock(directory, { host: 'a', pid: 1 })
  await unlock()
  writeFileSync(join(directory, 'lock'), '999999999')
  await (await lock(directory))()
})

test('a live process of this machine keeps its lock', async (t) => {
  const directory = directoryOf(t)
  await lock(directory, { host: 'a', pid: process.ppid })
  age(directory, 60_000)
  await assert.rejects(lock(directory, { host: 'a', pid: process.pid }), /stores documents/)
})

test('of many starts on a stale lock one gets it', async (t) => {
  const directory = directoryOf(t)
  await lock(directory, { host: 'gone', pid: 1 })
  age(directory, 60_000)
  const starts = await Promise.allSettled(Array.from({ length: 20 }, (_, i) => lock(directory, { host: `h${i}`, pid: 1 })))
  assert.equal(starts.filter(({ status }) => status === 'fulfilled').length, 1)
})
