import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { keyOf } from '../../../client/shared/key.js'
import { scriptedClient, settle } from '../../helpers/scripted-socket.js'
import { TabLocks, listenAsTab, replaceTabChannels } from '../../helpers/tab-channels.js'
import { waitFor } from '../../helpers/wait.js'

describe('the place of a tab among those that share a connection', () => {
  const locks = new TabLocks()
  replaceTabChannels(locks)

  const isTaken = () => waitFor(() => locks.held === 1, { message: () => `${locks.held} places` })
  const isFree = () => waitFor(() => locks.held === 0, { message: () => `${locks.held} places` })

  test('is free when its client was closed, with a connection or without one', async (t) => {
    for (const isConnected of [false, true]) {
      const { client, socket } = scriptedClient(t, { shared: 'ada' })
      await isTaken()
      if (isConnected) socket.accepts()
      client.close()
      await isFree()
    }
  })

  test('is not taken by a client that was closed before its token came', async (t) => {
    /** @type {(token: string) => void} */
    let give = () => assert.fail('no token was requested')
    const { client } = scriptedClient(t, { shared: 'ada', token: () => new Promise((resolve) => { give = resolve }) })
    await settle()
    client.close()
    give('late')
    // takes as many steps
    const next = scriptedClient(t, { shared: 'bob', token: async () => 'next' })
    await isTaken()
    next.client.close()
    await isFree()
  })

  test('is not left for one of an older token that came late', async (t) => {
    /** @type {((token: string) => void)[]} */
    const gives = []
    const { client, socket } = scriptedClient(t, {
      shared: true, token: () => new Promise((resolve) => { gives.push(resolve) })
    })
    Object.assign(socket.io, { uri: 'http://gateway' })
    const tabs = await Promise.all(['first', 'second'].map(async (token) =>
      listenAsTab(String(await keyOf('http://gateway', { shared: true }, token)))))
    t.after(() => { for (const { close } of tabs) close() })
    client.connect()
    await waitFor(() => gives.length === 2, { message: () => `${gives.length} requests` })
    gives[1]('second')
    await isTaken()
    gives[0]('first')
    // takes as many steps
    const other = scriptedClient(t, { shared: true, token: async () => 'other' })
    await waitFor(() => locks.held === 2, { message: () => `${locks.held} places` })
    assert.deepEqual(tabs.map(({ got }) => got.length), [0, 1])
    for (const one of [client, other.client]) one.close()
    await isFree()
  })
})
