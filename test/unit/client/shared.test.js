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

test('a message that the gateway publishes is of the tab that sent it, also with a trace of its page', () => {
  const senders = new Senders()
  const { traceparent } = /** @type {any} */ (senders.mark({ guid: 'doc', data: 1 }, 7))
  const own = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`
  assert.deepEqual(senders.mark({ data: 2, traceparent: own }, 8), { data: 2, traceparent: own })
  assert.match(traceparent, /^00-[\da-f]{32}-[\da-f]{16}-00$/)
  assert.equal(senders.of({ from: 'me', traceId: traceparent.slice(3, 35) }, 'me'), 7)
  assert.equal(senders.of({ from: 'me', traceId: 'a'.repeat(32) }, 'me'), 8)
  assert.equal(senders.of({ from: 'other', traceId: 'a'.repeat(32) }, 'me'), undefined)
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
})
