import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { scriptedClient, settle } from '../../helpers/scripted-socket.js'
import { TabLocks, replaceTabChannels } from '../../helpers/tab-channels.js'
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
})
