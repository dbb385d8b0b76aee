import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { SharedDocuments } from '../../../client/shared/documents.js'
import { keyOf } from '../../../client/shared/key.js'
import { Senders } from '../../../client/shared/senders.js'
import { SharedUser } from '../../../client/shared/user.js'
import { settle } from '../../helpers/scripted-socket.js'
import { signToken } from '../../helpers/tokens.js'

const URL = 'http://gateway'
const at = (/** @type {number} */ offset) => ({ epoch: 'e', offset })

describe('tabs share a connection', () => {
  const name = (/** @type {object} */ options, /** @type {string | undefined} */ token = undefined, url = URL) =>
    keyOf(url, options, token)

  test('with tokens of the same login, and not with other rights, users, gateways or options', async () => {
    const claims = { sub: 'ada', documents: [{ guid: 'a', access: 'read' }] }
    const token = await signToken({ ...claims, exp: 2e9, iat: 1, jti: 'one' })
    const own = await name({ shared: true }, token)
    assert.match(String(own), /^inkcast tabs [\da-f]{64}$/)
    assert.equal(await name({ shared: true }, await signToken({ jti: 'two', iat: 2, exp: 3e9, ...claims })), own)
    const others = await Promise.all([
      name({ shared: true }, await signToken({ ...claims, sub: 'bob' })),
      name({ shared: true }, await signToken({ ...claims, documents: [{ guid: 'a', access: 'write' }] })),
      name({ shared: true }, token, 'http://other'),
      name({ shared: true, socket: { path: '/other/' } }, token),
      name({ shared: true }, 'no JWT'),
      name({ shared: 'ada' }, token),
      name({ shared: 'bob' }, token)
    ])
    assert.equal(new Set([own, ...others]).size, 8)
  })

  test('with a name of the user, or not at all without a token', async () => {
    assert.equal(await name({ shared: 'ada' }), await name({ shared: 'ada' }, 'any'))
    assert.equal(await name({ shared: true }), undefined)
  })
})

test('a tab that joins later gets the log from its position, then what arrived meanwhile, each record once', async () => {
  /** @type {Map<any, any[]>} */
  const sent = new Map()
  /** @type {((page: object) => void)[]} */
  const reads = []
  const emit = (/** @type {any} */ tab, /** @type {any[]} */ ...event) => sent.get(tab)?.push(event)
  const documents = new SharedDocuments({
    request: (event) => event === 'doc:history'
      ? new Promise((resolve) => reads.push(resolve))
      : Promise.resolve({ ok: true, guid: 'doc', position: at(2), recovered: true }),
    emit,
    emitAll: (tabs, ...event) => { for (const tab of tabs) emit(tab, ...event) }
  })
  const [first, second] = /** @type {any[]} */ ([{ number: 1 }, { number: 2 }])
  for (const tab of [first, second]) sent.set(tab, [])
  const arrives = (/** @type {number} */ offset) => {
    const event = ['message', offset, { guid: 'doc', offset }]
    for (const tab of documents.onRecord(/** @type {any} */ (event[0]), event[1], event[2], [])) emit(tab, ...event)
  }
  await documents.join(first, { guid: 'doc', position: at(2) })
  arrives(3)
  const joining = documents.join(second, { guid: 'doc', position: at(1) })
  await settle()
  arrives(4)
  assert.equal(reads.length, 1)
  const records = [2, 3].map((offset) => ({ event: 'message', payload: offset, meta: { guid: 'doc', offset } }))
  reads[0]({ ok: true, records, position: at(4), more: false })
  const answer = await joining
  assert.deepEqual([answer.position, answer.recovered], [at(4), true])
  arrives(5)
  assert.deepEqual(sent.get(first)?.map(([, payload]) => payload), [3, 4, 5])
  assert.deepEqual(sent.get(second)?.map(([, payload]) => payload), [2, 3, 4, 5])
})

/** Two tabs, and a gateway whose answers the test gives. */
function tabsOfOneDocument () {
  /** @type {any[]} */
  const [first, second] = [1, 2].map((number) => ({ number, client: `c${number}`, sent: /** @type {any[]} */ ([]) }))
  /** @type {{ event: string, argument: any, answer: (answer: object) => void }[]} */
  const requests = []
  const emit = (/** @type {any} */ tab, /** @type {any[]} */ ...event) => { tab.sent.push(event) }
  const documents = new SharedDocuments({
    request: (event, argument) => new Promise((answer) => { requests.push({ event, argument, answer }) }),
    emit,
    emitAll: (tabs, ...event) => { for (const tab of tabs) emit(tab, ...event) }
  })
  return {
    first, second, documents,
    /** @param {any} tab @param {object} [more] */
    join: (tab, more) => documents.join(tab, { guid: 'doc', ...more }),
    /** @param {number} offset */
    arrives (offset) {
      for (const tab of documents.onRecord('message', offset, { guid: 'doc', offset }, []))
        emit(tab, 'message', offset, { guid: 'doc', offset })
    },
    /** @param {object} answer */
    async answers (answer) {
      await settle()
      requests.shift()?.answer({ ok: true, guid: 'doc', ...answer })
      await settle()
    },
    /** @param {any} tab */
    received: (tab) => tab.sent.filter((/** @type {any[]} */ [event]) => event === 'message')
      .map((/** @type {any[]} */ [, payload]) => payload),
    async asked () {
      await settle()
      return requests.map(({ event, argument }) => [event, argument.before])
    }
  }
}

/** @param {number} from @param {number} to */
const page = (from, to) => ({
  records: Array.from({ length: to - from + 1 }, (_, i) => from + i)
    .map((offset) => ({ event: 'message', payload: offset, meta: { guid: 'doc', offset } })),
  position: at(to), more: false
})

test('a join that waits when the connection is lost is not sent over the next one: its tab joins again', async () => {
  const { first, second, documents, join, answers, asked } = tabsOfOneDocument()
  const joins = [join(first), join(second)]
  assert.equal((await asked()).length, 1)
  documents.clear()
  await answers({ ok: false, error: { code: 'disconnected', retryable: true } })
  assert.deepEqual(await asked(), [])
  assert.deepEqual((await Promise.all(joins)).map(({ error }) => error.code), ['disconnected', 'not_joined'])
})

test('a tab that takes part in presence later misses no record meanwhile', async () => {
  const { first, join, arrives, answers, received } = tabsOfOneDocument()
  join(first, { position: at(2) })
  await answers({ position: at(2) })
  join(first, { members: true })
  arrives(3)
  await answers({ position: at(3) })
  arrives(4)
  assert.deepEqual(received(first), [3, 4])
})

test('a tab that opens a document which another one leaves while it is joined gets the log from its position', async () => {
  const { first, second, documents, join, answers, received, asked } = tabsOfOneDocument()
  join(first, { position: at(20) })
  await settle()
  documents.leave(first, 'doc')
  const joining = join(second, { position: at(5) })
  await answers({ position: at(20) })
  await answers({ position: at(20) })
  assert.deepEqual(await asked(), [['doc:history', 21]])
  await answers(page(6, 20))
  assert.deepEqual([received(second).at(0), received(second).at(-1), (await joining).recovered], [6, 20, true])
})

test('a tab that opens a document which is being left gets its records in order', async () => {
  const { first, second, documents, join, arrives, answers, received } = tabsOfOneDocument()
  join(first, { position: at(10) })
  await answers({ position: at(10) })
  documents.leave(first, 'doc')
  await settle()
  join(second, { position: at(5) })
  arrives(11)
  await answers({}) // of the leave
  for (const offset of [6, 7, 8, 9, 10, 11]) arrives(offset)
  await answers({ position: at(11) })
  assert.deepEqual(received(second), [6, 7, 8, 9, 10, 11])
})

test('a tab that sets its state while it reads the log gets the records that follow', async () => {
  const { first, second, documents, join, arrives, answers, received } = tabsOfOneDocument()
  join(first, { position: at(2) })
  await answers({ position: at(2) })
  join(second, { position: at(1) })
  await answers({ position: at(2) })
  documents.setState(second, { guid: 'doc', state: { color: 'red' } })
  await answers(page(2, 2))
  arrives(3)
  assert.deepEqual(received(second), [2, 3])
})

test('records that come before the gateway knows a tab, which some may exclude, are read again for it', async () => {
  const { first, second, join, arrives, answers, received, asked } = tabsOfOneDocument()
  join(first, { position: at(2) })
  join(second, { position: at(2) })
  await settle()
  arrives(3)
  await answers({ position: at(3) })
  await answers({ position: at(3) })
  assert.deepEqual([received(first), received(second), await asked()], [[3], [], [['doc:history', 4]]])
  await answers({ ...page(3, 3), records: [{ ...page(3, 3).records[0], meta: { guid: 'doc', offset: 3, except: ['c2'] } }] })
  assert.deepEqual(received(second), [])
})

test('a tab that repeats its join stays in the document when the first join fails', async () => {
  const position = at(2)
  for (const [one, other] of [[{}, {}], [{ position }, {}], [{ position }, { position }], [{}, { position }]]) {
    const { first, join, arrives, answers, received } = tabsOfOneDocument()
    const joins = [join(first, one)]
    await settle()
    joins.push(join(first, other))
    await answers({ ok: false, error: { code: 'timeout' } })
    await answers({ position })
    assert.deepEqual((await Promise.all(joins)).map(({ ok }) => ok), [false, true])
    arrives(3)
    assert.deepEqual(received(first), [3])
  }
})

test('a tab that repeats its join of an open document stays in it when the first join fails', async () => {
  const { first, second, join, arrives, answers, received } = tabsOfOneDocument()
  join(first, { position: at(2) })
  await answers({ position: at(2) })
  const joins = [join(second, { position: at(2) })]
  await settle()
  joins.push(join(second, { position: at(2) }))
  await answers({ ok: false, error: { code: 'timeout' } })
  await answers({ position: at(2) })
  assert.deepEqual((await Promise.all(joins)).map(({ ok }) => ok), [false, true])
  arrives(3)
  assert.deepEqual(received(second), [3])
})

test('a message that the gateway publishes is of the tab that sent it, for each leader', () => {
  const tabs = /** @type {any[]} */ (['one', 'two'].map((client) => ({ client })))
  const [senders, next] = ['me', 'next'].map((id) => new Senders('tabs', () => id))
  const { traceparent } = /** @type {any} */ (senders.mark({ guid: 'doc', data: 1 }, tabs[0]))
  assert.match(traceparent, /^00-[\da-f]{32}-[\da-f]{16}-00$/)
  const meta = { from: 'me', traceId: traceparent.slice(3, 35) }
  for (const leader of [senders, next]) {
    assert.equal(leader.metaFor(meta, tabs[0]), meta)
    assert.match(leader.metaFor(meta, tabs[1]).from, /^me~/)
  }
  const elsewhere = new Senders('others', () => 'me')
  assert.equal(elsewhere.metaFor(meta, tabs[1]), meta)
})

test('a trace of the page is kept: its sender is known while the connection is the same', () => {
  const tabs = /** @type {any[]} */ (['one', 'two'].map((client) => ({ client })))
  const [senders, next] = ['me', 'next'].map((id) => new Senders('tabs', () => id))
  const own = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`
  assert.deepEqual(senders.mark({ data: 2, traceparent: own }, tabs[0]), { data: 2, traceparent: own })
  const meta = { from: 'me', traceId: 'a'.repeat(32) }
  assert.deepEqual(tabs.map((tab) => senders.metaFor(meta, tab) === meta), [true, false])
  assert.deepEqual(tabs.map((tab) => next.metaFor(meta, tab) === meta), [true, true])
  const other = { ...meta, from: 'other' }
  assert.equal(senders.metaFor(other, tabs[1]), other)
})

test('a record that excludes a tab reaches the others, live and from the log; the tab gets its position', async () => {
  /** @type {any[][]} */
  const sent = []
  /** @type {any[][]} */
  const asked = []
  const emit = (/** @type {any} */ tab, /** @type {any[]} */ ...event) => sent.push([tab.client, ...event])
  const records = [{ event: 'message', payload: 'older', meta: { guid: 'doc', offset: 2, except: ['b'] } }]
  const documents = new SharedDocuments({
    request: async (event, argument) => {
      asked.push([event, argument.tab])
      return event === 'doc:history' ? { ok: true, records, position: at(2) } : { ok: true, guid: 'doc', position: at(2) }
    },
    emit,
    emitAll: (tabs, ...event) => { for (const tab of tabs) emit(tab, ...event) }
  })
  const [first, second] = /** @type {any[]} */ ([{ client: 'a' }, { client: 'b' }])
  await documents.join(first, { guid: 'doc', position: at(2) })
  await documents.join(second, { guid: 'doc', position: at(1) })
  assert.deepEqual(asked, [['doc:join', 'a'], ['doc:join', 'b'], ['doc:history', undefined]])
  const tabs = documents.onRecord('message', 'newer', { guid: 'doc', offset: 3 }, ['b'])
  assert.deepEqual(tabs, [first])
  assert.deepEqual(sent, [['b', 'doc:position', { guid: 'doc', position: at(3) }]])
})

describe('the log of the user', () => {
  const tabAt = (/** @type {object | null | undefined} */ user) => /** @type {any} */ ({ user })

  test('a tab with an earlier place than that of the handshake needs another one, also before it is open', () => {
    const user = new SharedUser(() => {})
    const [early, late] = [tabAt(at(0)), tabAt(at(1))]
    assert.deepEqual(user.auth([late]), { user: at(1) })
    assert.deepEqual([early, late].map((tab) => user.lacks(tab)), [true, false])
    assert.deepEqual(user.auth([late, early]), { user: at(0) })
    assert.deepEqual([early, late].map((tab) => user.lacks(tab)), [false, false])
  })

  test('a handshake from now on is enough for a tab without a place, and for no other one', () => {
    const user = new SharedUser(() => {})
    assert.deepEqual(user.auth([tabAt(undefined)]), {})
    assert.equal(user.lacks(tabAt(null)), true)
    assert.deepEqual(user.auth([tabAt(null)]), { user: {} })
    assert.deepEqual([tabAt(null), tabAt(at(0)), tabAt(undefined)].map((tab) => user.lacks(tab)), [false, true, false])
  })

  test('is open for a tab once the gateway has opened it on the connection of today', () => {
    /** @type {any[][]} */
    const sent = []
    const user = new SharedUser((tabs, [event, told]) => { sent.push([tabs.length, event, told]) })
    const [first, second] = [tabAt(null), tabAt(null)]
    user.auth([first, second])
    user.admit(first)
    user.onRecord([first], ['note', 1, { user: at(1) }], [])
    user.admit(second)
    assert.deepEqual(sent.filter(([tabs]) => tabs > 0), [])
    user.onEvent([first], 'gateway:user', { position: at(1) })
    user.admit(second)
    assert.deepEqual(sent.slice(2), [
      [1, 'gateway:user', { position: at(1) }], [1, 'gateway:user', { position: at(1), recovered: false }]
    ])
    user.auth([first, second])
    user.admit(first)
    assert.equal(sent.length, 4)
  })

  /** Records of each tab. @param {any[]} tabs */
  function gateway (tabs) {
    /** @type {any[][]} */
    const got = tabs.map(() => [])
    const user = new SharedUser((readers, [event, told]) => {
      for (const tab of readers) got[tabs.indexOf(tab)].push(event === 'note' ? told : [event, told])
    })
    return {
      got, auth: () => user.auth(tabs),
      note: (/** @type {object} */ place, n = 1) => user.onRecord(tabs, ['note', n, { user: place }], []),
      tells: (/** @type {string} */ event, /** @type {object} */ told) => user.onEvent(tabs, `gateway:${event}`, told)
    }
  }

  test('a tab with a place in another log than the other tabs loads again, and has not recovered', () => {
    const { got, auth, note, tells } = gateway([tabAt(at(7)), tabAt({ epoch: 'earlier', offset: 3 })])
    assert.deepEqual(auth(), { user: at(7) })
    note(at(8), 8)
    tells('position', { position: at(9) })
    const position = at(9)
    tells('user', { position, recovered: true })
    note(at(10), 10)
    assert.deepEqual(got, [
      [8, ['gateway:position', { position }], ['gateway:user', { position, recovered: true }], 10],
      [
        ['gateway:resync', { position, reason: 'epoch' }], ['gateway:user', { position, recovered: false }], 10
      ]
    ])
  })

  test('a resync of the gateway is the only one, also for a tab with a place in another log', () => {
    const { got, auth, tells } = gateway([tabAt(at(7)), tabAt({ epoch: 'earlier', offset: 3 })])
    auth()
    const position = at(2)
    tells('resync', { position, reason: 'epoch' })
    tells('user', { position, recovered: false })
    const both = [['gateway:resync', { position, reason: 'epoch' }], ['gateway:user', { position, recovered: false }]]
    assert.deepEqual(got, [both, both])
  })

  test('missed records are only for tabs that read the log, later ones are for all', () => {
    const { got, auth, note, tells } = gateway([tabAt(at(0)), tabAt(undefined), tabAt(null)])
    auth()
    note(at(1), 1)
    tells('position', { position: at(2) })
    note(at(3), 3)
    tells('user', { position: at(3), recovered: true })
    note(at(4), 4)
    assert.deepEqual(got.map((events) => events.filter((event) => !Array.isArray(event))), [[1, 3, 4], [4], [4]])
  })
})
