import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { connect } from '../../../client/index.js'
import { random } from '../../../client/common/random.js'
import { keyOf } from '../../../client/shared/key.js'
import { clientTime } from '../../helpers/client-time.js'
import { TabLocks, listenAsTab, replaceTabChannels } from '../../helpers/tab-channels.js'
import { waitFor } from '../../helpers/wait.js'

describe('a tab with another leader', () => {
  const locks = new TabLocks()
  replaceTabChannels(locks)

  test('reconnects at once when the next one leads', async (t) => {
    const time = clientTime(t)
    t.mock.method(random, 'number', () => 1)
    const name = String(await keyOf('http://gateway', { shared: 'ada' }, undefined))
    let release = () => {}
    locks.request(name, new AbortController(), () => new Promise((resolve) => { release = () => resolve(undefined) }))
    t.after(() => release())
    const all = listenAsTab(name)
    const tabs = () => all.got.flatMap(({ hello }) => hello ?? [])
    const client = connect('http://gateway', { shared: 'ada' })
    t.after(() => client.close())
    await waitFor(() => tabs().length === 1)
    const { got, post } = listenAsTab(`${name} ${tabs()[0]}`)
    post({ open: { hub: 'first', client: 'client' } })
    await waitFor(() => got.length > 0)
    post({ data: '0{"sid":"connection"}' })
    await client.ready
    // a message comes in a turn of its own
    setImmediate(() => all.post({ hub: 'next' }))
    await waitFor(() => client.state === 'reconnecting')
    time.advance(1)
    await waitFor(() => tabs().length === 2, { message: () => tabs() })
    assert.equal(client.reason?.code, 'disconnected')
  })
})
