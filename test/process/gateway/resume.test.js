import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { entry, range } from '../../contract/bus-fixture.js'
import { connectClient, createClient } from '../../helpers/clients.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { nothingLeft, watchBus } from '../../helpers/left-over.js'
import { rawWebSocket } from '../../helpers/raw-client.js'
import { waitFor } from '../../helpers/wait.js'

const file = { after }
const server = await startEmbedded(file, { HISTORY_SIZE: '500' })
const bus = watchBus(server)
const { url, gateway } = server

/** @param {string} guid @param {number} count @param {number} [from] */
const publish = async (guid, count, from = 1) => {
  for (let i = 0; i < count; i++) await gateway.bus.publish([entry(guid, from + i)])
}

/** @param {Awaited<ReturnType<typeof connectClient>>} client */
const records = ({ received }) => received.filter(({ event }) => event === 'message')

/**
 * A document with records 1 to `count`.
 * @param {import('node:test').TestContext} t
 * @param {string} guid
 * @param {number} count
 */
async function documentWith (t, guid, count) {
  const first = await connectClient(t, url)
  const { position } = await first.ask('doc:join', { guid })
  await publish(guid, count)
  await waitFor(() => records(first).length === count)
  return { first, epoch: position.epoch }
}

describe('a client that reconnects with its position', () => {
  test('is informed that it missed nothing', async (t) => {
    const { epoch } = await documentWith(t, 'none', 3)
    const client = await connectClient(t, url)
    assert.deepEqual(await client.ask('doc:join', { guid: 'none', position: { epoch, offset: 3 } }), {
      ok: true,
      guid: 'none',
      position: { epoch, offset: 3 },
      recovered: true
    })
    assert.deepEqual(client.received, [])
  })

  test('gets missed records in order before the response, then new ones', async (t) => {
    const { epoch } = await documentWith(t, 'some', 250)
    for (const codec of /** @type {const} */ (['json', 'msgpack'])) {
      for (const transports of [['websocket'], ['polling']]) {
        const client = await connectClient(t, url, { codec, transports })
        const answer = await client.ask('doc:join', { guid: 'some', position: { epoch, offset: 20 } })
        assert.deepEqual(answer.recovered, true)
        assert.deepEqual(
          client.received.slice(0, 230).map(({ payload, meta }) => [payload, meta.offset]),
          range(230, 21).map((i) => [i, i])
        )
        const value = `new for ${codec} over ${transports}`
        await gateway.bus.publish([entry('some', value)])
        await waitFor(() => client.received.at(-1)?.payload === value)
        assert.equal(client.received.at(-1)?.meta.offset, answer.position.offset + 1)
        client.disconnect()
      }
    }
  })

  test('gets missed records in the handshake as well, before `doc:joined`', async (t) => {
    const { epoch } = await documentWith(t, 'handshake', 10)
    const client = createClient(t, url, { auth: { documents: { handshake: { epoch, offset: 4 } } } })
    await waitFor(() => client.received.length === 7)
    assert.deepEqual(
      client.received.map(({ event, payload }) => (event === 'message' ? payload : event)),
      [5, 6, 7, 8, 9, 10, 'doc:joined']
    )
    assert.deepEqual(client.received[6].payload, {
      guid: 'handshake',
      position: { epoch, offset: 10 },
      recovered: true
    })
  })

  test('gets a resync if the gap cannot be closed', async (t) => {
    const { epoch } = await documentWith(t, 'gap', 600)
    const end = { epoch, offset: 600 }
    for (const [position, reason] of /** @type {const} */ ([
      [{ epoch, offset: 99 }, 'trimmed'],
      [{ epoch: 'other', offset: 600 }, 'epoch'],
      [{ epoch, offset: 601 }, 'epoch'],
      [{ epoch: '', offset: 0 }, 'epoch']
    ])) {
      const client = await connectClient(t, url)
      assert.deepEqual(await client.ask('doc:join', { guid: 'gap', position }), {
        ok: true,
        guid: 'gap',
        position: end,
        recovered: false
      })
      assert.deepEqual(
        client.received.map(({ event, payload }) => [event, payload]),
        [['doc:resync', { guid: 'gap', position: end, reason }]]
      )
    }
    const client = await connectClient(t, url)
    assert.equal((await client.ask('doc:join', { guid: 'gap', position: { epoch, offset: 100 } })).recovered, true)
    assert.equal(client.received.length, 500)
  })

  test('does not get its own changes again, thanks to its stable id', async (t) => {
    const { epoch } = await documentWith(t, 'own', 1)
    await gateway.bus.publish([entry('own', 'mine', { except: ['me'] })])
    await gateway.bus.publish([entry('own', 'theirs')])
    const client = createClient(t, url, { auth: { client: 'me', documents: { own: { epoch, offset: 1 } } } })
    await waitFor(() => client.received.length === 2)
    assert.deepEqual(client.received[0].payload, 'theirs')
    assert.deepEqual(client.received[1].payload.position, { epoch, offset: 3 })
  })
})

/**
 * A part of a page that follows a document from a position, as described in docs/protocol.md.
 * @param {Awaited<ReturnType<typeof connectClient>>} client
 * @param {{ epoch: string, offset: number }} from
 */
function partOfPage (client, { epoch, offset }) {
  const part = { offset, missed: /** @type {number[]} */ ([]), resyncs: 0 }
  client.on('message', (_payload, meta) => {
    if (meta.offset <= part.offset) return
    for (let i = part.offset + 1; i < meta.offset; i++) part.missed.push(i)
    part.offset = meta.offset
  })
  // loads the document again
  client.on('doc:resync', ({ position }) => {
    Object.assign(part, { offset: position.offset, missed: [], resyncs: part.resyncs + 1 })
  })
  return Object.assign(part, {
    /** @param {string} guid */
    join: (guid) => client.ask('doc:join', { guid, position: { epoch, offset } })
  })
}

describe('a position for a document that the connection has open', () => {
  test('shows whether records are missing, and gets a resync if they are', async (t) => {
    const { first: client, epoch } = await documentWith(t, 'open', 5)
    const end = { epoch, offset: 5 }
    for (const [position, reason] of /** @type {const} */ ([
      [end, null],
      [{ epoch, offset: 0 }, 'opened'],
      [{ epoch: 'bogus', offset: 5 }, 'epoch'],
      [{ epoch, offset: 999 }, 'epoch']
    ])) {
      client.received.length = 0
      assert.deepEqual(await client.ask('doc:join', { guid: 'open', position }), {
        ok: true,
        guid: 'open',
        position: end,
        recovered: reason === null
      })
      assert.deepEqual(
        client.received.map(({ event, payload }) => [event, payload]),
        reason === null ? [] : [['doc:resync', { guid: 'open', position: end, reason }]]
      )
    }
    assert.deepEqual(await client.ask('doc:join', { guid: 'open' }), {
      ok: true,
      guid: 'open',
      position: end,
      recovered: false
    })
  })

  test('of a join during another one counts as well', async (t) => {
    const { epoch } = await documentWith(t, 'behind', 5)
    const at = (/** @type {number} */ offset, of = epoch) => ({ epoch: of, offset })
    for (const [first, second, recovered, resyncs] of /** @type {const} */ ([
      [undefined, at(0), false, 1],
      [undefined, at(5), true, 0],
      [at(2), at(2), true, 0],
      [at(2), at(4), true, 0],
      [at(2), at(1), false, 1],
      [at(2), at(6), false, 1],
      [at(2), at(2, 'other'), false, 1],
      [at(2, 'other'), at(1), false, 1],
      [at(2), undefined, false, 0]
    ])) {
      const client = await connectClient(t, url)
      const [, answer] = await Promise.all(
        [first, second].map((position) => client.ask('doc:join', { guid: 'behind', position }))
      )
      assert.deepEqual(
        [answer.recovered, client.received.filter(({ event }) => event === 'doc:resync').length],
        [recovered, resyncs],
        JSON.stringify([first, second])
      )
      assert.deepEqual(answer.position, at(5))
      client.disconnect()
    }
  })

  test('makes each part of a page complete, regardless of records in flight', async (t) => {
    for (const transports of [['websocket'], ['polling']]) {
      const guid = `parts ${transports[0]}`
      const { epoch } = await documentWith(t, guid, 3)
      const client = await connectClient(t, url, { transports })
      let published = 3
      /** @type {ReturnType<typeof partOfPage>[]} */
      const parts = []
      for (let round = 0; round < 12; round++) {
        const joining = Array.from({ length: round % 3 + 1 }, (_, i) => {
          const part = partOfPage(client, { epoch, offset: Math.max(0, published - (round + i) % 4) })
          parts.push(part)
          return part.join(guid)
        })
        await publish(guid, round % 4, published + 1)
        published += round % 4
        await Promise.all(joining)
      }
      await publish(guid, 1, ++published)
      await waitFor(() => parts.every(({ offset }) => offset === published), { message: () => ({ published, parts }) })
      assert.deepEqual(parts.flatMap(({ missed }) => missed), [])
      client.disconnect()
    }
  })
})

describe('coming back', () => {
  test('a client that does not read is not sent all missed records at once', async (t) => {
    const { first, epoch } = await documentWith(t, 'large', 0)
    for (let i = 0; i < 30; i++) await gateway.bus.publish([entry('large', 'x'.repeat(500_000))])
    await waitFor(() => records(first).length === 30)
    const slow = await rawWebSocket(t, url)
    await slow.connect()
    slow.ws.pause()
    slow.send(`420${JSON.stringify(['doc:join', { guid: 'large', position: { epoch, offset: 0 } }])}`)
    const waiting = () => Math.max(...gateway.engine.sessions().map(({ writeBuffer }) => writeBuffer.length))
    await waitFor(() => waiting() > 0)
    await new Promise((resolve) => setTimeout(resolve, 20))
    assert.ok(waiting() <= 5, `${waiting()} packets queued`)
    slow.ws.resume()
    await slow.text(/^430\[\{"ok":true,"guid":"large","position":\{"epoch":"[^"]*","offset":30\},"recovered":true/)
    assert.equal(slow.received.filter((data) => data.toString().startsWith('42["message"')).length, 30)
    slow.ws.terminate()
  })

  test('leave nothing behind', async () => {
    for (const socket of gateway.io.sockets.sockets.values()) socket.disconnect(true)
    await nothingLeft(server, bus)
  })
})
