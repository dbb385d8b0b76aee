import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { connect } from '../../../client/index.js'
import { random } from '../../../client/common/random.js'
import { keyOf } from '../../../client/shared/key.js'
import { clientTime } from '../../helpers/client-time.js'
import { settle } from '../../helpers/scripted-socket.js'
import { TabLocks, listenAsTab, replaceTabChannels } from '../../helpers/tab-channels.js'
import { waitFor } from '../../helpers/wait.js'

describe('a tab with another leader', () => {
  const locks = new TabLocks()
  replaceTabChannels(locks)

  /**
   * A client whose first hello is in `hellos`; another tab leads.
   * @param {import('node:test').TestContext} t
   */
  async function follow (t) {
    t.mock.method(random, 'number', () => 1)
    const time = clientTime(t)
    const name = String(await keyOf('http://gateway', { shared: 'ada' }, undefined))
    let release = () => {}
    locks.request(name, new AbortController(), () => new Promise((resolve) => { release = () => resolve(undefined) }))
    t.after(() => release())
    const all = listenAsTab(name)
    const hellos = () => all.got.flatMap(({ hello }) => hello ?? [])
    const client = connect('http://gateway', { shared: 'ada' })
    t.after(() => client.close())
    await waitFor(() => hellos().length === 1)
    return { time, client, all, hellos, release, ...listenAsTab(`${name} ${hellos()[0]}`) }
  }

  test('reconnects at once when the next one leads', async (t) => {
    const { time, client, all, hellos, got, post } = await follow(t)
    post({ open: { hub: 'first', client: 'client' } })
    await waitFor(() => got.length > 0)
    post({ data: '0{"sid":"connection"}' })
    await client.ready
    // a message comes in a turn of its own
    setImmediate(() => all.post({ hub: 'next' }))
    await waitFor(() => client.state === 'reconnecting')
    time.advance(1)
    await waitFor(() => hellos().length === 2, { message: () => hellos() })
    assert.equal(client.reason?.code, 'disconnected')
  })

  test('leaves to the leader which transport the page remembers', async (t) => {
    /** @type {string[]} */
    const kept = []
    const sessionStorage = { getItem: () => null, setItem: (/** @type {string[]} */ ...item) => { kept.push(...item) } }
    Object.assign(globalThis, { sessionStorage })
    t.after(() => { delete (/** @type {any} */ (globalThis).sessionStorage) })
    const { client, got, post } = await follow(t)
    post({ open: { hub: 'first', client: 'client' } })
    await waitFor(() => got.length > 0)
    post({ data: '0{"sid":"connection"}' })
    await client.ready
    assert.deepEqual([client.transport, kept], ['shared', []])
  })

  test('that has no room answers at once: the tab connects by itself, and does not lead before', async (t) => {
    const { client, all, post, release } = await follow(t)
    post({ full: true })
    await waitFor(() => client.reason, { message: () => client.state })
    assert.match(String(client.reason?.message), /no room/)
    assert.equal(client.reason?.retryInMs, 0)
    release()
    await settle()
    assert.deepEqual(all.got.filter(({ hub }) => hub), [])
  })

  test('that does not answer is not waited for: the tab connects by itself', async (t) => {
    const { time, client } = await follow(t)
    // a page that was busy itself gets the answer late
    time.stall(20_000)
    time.advance(0)
    await settle()
    /** @type {(import('../../../client/index.js').ClientError | null)[]} */
    const reasons = [client.reason]
    time.advance(1500)
    await waitFor(() => client.reason, { message: () => client.state })
    reasons.push(client.reason)
    assert.deepEqual(reasons.map((reason) => reason && [reason.message, reason.retryInMs]), [
      null, ['the leader does not answer', 0]
    ])
  })

  test('connects again soon when its page was to stop while it connected', async (t) => {
    const { time, client, hellos } = await follow(t)
    globalThis.dispatchEvent(new Event('freeze'))
    await waitFor(() => client.reason, { message: () => client.state })
    assert.match(String(client.reason?.message), /no room|page stops/)
    time.advance(1000)
    await waitFor(() => hellos().length === 2, { message: () => hellos() })
  })
})
