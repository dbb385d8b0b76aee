import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { asyncStorageStore } from '../../../client/react-native/async-storage.js'
import { storeContract } from '../../helpers/outbox-store.js'
import { asyncStorage } from '../../helpers/phone.js'

describe('the store in AsyncStorage', () => {
  for (const [name, run] of Object.entries(storeContract))
    test(name, () => run(asyncStorageStore(asyncStorage(new Map())), assert.deepEqual))

  test('keeps edits over a restart, also those that look like its own format', async () => {
    const stored = new Map([['of the app', 'not ours']])
    const data = [{ $inkcast: 'date', of: 1 }, { $inkcast: 'bytes' }, new Uint8Array(0), [new Date(5), null]]
    await asyncStorageStore(asyncStorage(stored)).add('k', 'q', { seq: 1, data })
    assert.deepEqual((await asyncStorageStore(asyncStorage(stored)).load('k')).get('q'), [{ seq: 1, data }])
    await asyncStorageStore(asyncStorage(stored)).remove('k', 'q', 1)
    assert.deepEqual([...stored.keys()], ['of the app'])
  })

  test('leaves out an edit that is removed while it is read', async () => {
    const stored = new Map()
    const storage = asyncStorage(stored)
    const store = asyncStorageStore({ ...storage, getItem: async (key) => key.endsWith(' 1') ? null : storage.getItem(key) })
    for (const seq of [1, 2]) await store.add('k', 'q', { seq, data: seq })
    assert.deepEqual((await store.load('k')).get('q'), [{ seq: 2, data: 2 }])
  })
})
