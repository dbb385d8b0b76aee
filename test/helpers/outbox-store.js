/**
 * The contract of a store of the outbox; also run in browsers, over IndexedDB.
 * @type {Record<string, (store: import('../../client/outbox/contract.js').Store, equal: (a: any, b: any) => void) =>
 *   Promise<void>>}
 */
export const storeContract = {
  async 'returns edits by queue, in order' (store, equal) {
    await store.add('k', 'b', { seq: 2, event: 'edit', data: { text: 'ü' } })
    await store.add('k', 'a', { seq: 10, data: 10 })
    await store.add('k', 'a', { seq: 9, data: 9 })
    const found = await store.load('k')
    equal([...found.keys()].sort(), ['a', 'b'])
    equal(found.get('a'), [{ seq: 9, data: 9 }, { seq: 10, data: 10 }])
    equal(found.get('b'), [{ seq: 2, event: 'edit', data: { text: 'ü' } }])
  },

  async 'keeps users and documents apart' (store, equal) {
    await store.add('k', 'q', { seq: 1, data: 1 })
    await store.add('k2', 'q', { seq: 1, data: 2 })
    await store.add('["k"]', 'q', { seq: 1, data: 3 })
    equal((await store.load('k')).get('q'), [{ seq: 1, data: 1 }])
    await store.remove('k', 'q', 1)
    equal((await store.load('k')).size, 0)
    equal((await store.load('k2')).get('q'), [{ seq: 1, data: 2 }])
    equal((await store.load('nothing')).size, 0)
  },

  async 'removes one edit, and nothing that is not there' (store, equal) {
    for (const seq of [1, 2, 3]) await store.add('k', 'q', { seq, data: seq })
    await store.remove('k', 'q', 2)
    await store.remove('k', 'q', 7)
    await store.remove('k', 'other', 1)
    equal((await store.load('k')).get('q')?.map(({ seq }) => seq), [1, 3])
  },

  async 'keeps a copy: binary, dates, and what is changed later' (store, equal) {
    const data = { bytes: new Uint8Array([1, 2, 3]), at: new Date(0), list: [1] }
    await store.add('k', 'q', { seq: 1, data })
    data.list.push(2)
    const kept = /** @type {any} */ ((await store.load('k')).get('q')?.[0].data)
    equal([...kept.bytes], [1, 2, 3])
    equal([kept.at.getTime(), kept.list], [0, [1]])
  },

  async 'replaces an edit of the same number' (store, equal) {
    await store.add('k', 'q', { seq: 1, event: 'edit', data: 1 })
    await store.add('k', 'q', { seq: 2, data: 2 })
    await store.add('k', 'q', { seq: 1, event: 'edit', data: 1, cut: true })
    equal((await store.load('k')).get('q'), [{ seq: 1, event: 'edit', data: 1, cut: true }, { seq: 2, data: 2 }])
  },

  async 'rejects what cannot be copied' (store, equal) {
    let failed = false
    await store.add('k', 'q', { seq: 1, data: () => {} }).catch(() => { failed = true })
    equal(failed, true)
    equal((await store.load('k')).size, 0)
  }
}
