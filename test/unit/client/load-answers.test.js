import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
// loaded on demand
import '../../../client/document/begin.js'
import { createDocumentStore } from '../../../client/stores/document-store.js'
import { clientTime } from '../../helpers/client-time.js'
import { scriptedClient, settle } from '../../helpers/scripted-socket.js'

/** What a page's `load` may do wrong, and that the page learns it at the first time. */

const at = (/** @type {number} */ offset) => ({ epoch: 'e', offset })

/** Positions of a wrong type, as services and databases return them. */
const WRONG = [
  ...['5', ' 5', '', 5n, 5.5, -1, NaN, Infinity, true, [5], {}, null, undefined, new Date(5)].map((offset) => ({ epoch: 'e', offset })),
  ...[1, '', null, undefined, {}, ['e']].map((epoch) => ({ epoch, offset: 5 })),
  { offset: 5 },
  { epoch: 'e' },
  {},
  { content: 'without a position' },
  [],
  'e:5',
  '{"epoch":"e","offset":5}',
  5,
  5n,
  true,
  false,
  new Date(5),
  new Uint8Array(5),
  () => at(5)
]

/** Failures of a function. @type {Record<string, any>} */
const FAILURES = {
  'throws an error': () => { throw new Error('of the page') },
  'rejects with an error': async () => { throw new Error('of the page') },
  'rejects with a text': () => Promise.reject('of the page'),
  'rejects with nothing': () => Promise.reject(),
  'has a bug': async () => JSON.parse('oops'),
  'calls what is no function': () => /** @type {any} */ (undefined)()
}

/**
 * Opens a document whose first load goes wrong, and then right.
 * @param {import('node:test').TestContext} t
 * @param {any} first
 */
async function openWrong (t, first) {
  const time = clientTime(t)
  const warn = t.mock.method(console, 'warn', () => {})
  const scripted = scriptedClient(t)
  /** @type {any[]} */
  const reasons = []
  let calls = 0
  let right = false
  const opening = scripted.client.open('doc', {
    load: async () => {
      calls++
      return right ? at(5) : first()
    },
    onReason: (reason) => { reasons.push(reason) }
  })
  await settle()
  scripted.socket.accepts()
  scripted.socket.tells('doc:joined', { guid: 'doc', position: at(5), recovered: false })
  await settle()
  return {
    warn,
    reasons,
    calls: () => calls,
    async again () {
      time.advance(15_000)
      await settle()
    },
    async succeed () {
      right = true
      time.advance(15_000)
      const doc = await opening
      assert.equal(doc.reason, null)
      assert.equal(doc.status, 'live')
    }
  }
}

/** @param {Awaited<ReturnType<typeof openWrong>>} opened @param {RegExp} message */
async function assertSaid ({ warn, reasons, calls, again, succeed }, message) {
  assert.equal(calls(), 1)
  assert.equal(warn.mock.callCount(), 1, 'a warning at the first failure')
  assert.match(String(warn.mock.calls[0].arguments[0]), message)
  assert.deepEqual(reasons.map(({ code, retryable }) => [code, retryable]), [['load_failed', true]])
  assert.match(reasons[0].message, message)
  await again()
  assert.deepEqual([calls(), warn.mock.callCount(), reasons.length], [2, 1, 1], 'the same failure is reported once')
  await succeed()
  assert.equal(reasons.at(-1), null)
}

describe('a `load`', () => {
  for (const [name, load] of Object.entries(FAILURES))
    test(`that ${name} says so at once`, async (t) => assertSaid(await openWrong(t, load), /`load` failed/))

  for (const wrong of WRONG) {
    for (const answer of [wrong, { position: wrong }]) {
      const shown = JSON.stringify(answer, (_, value) => typeof value === 'bigint' ? `${value}n` : value) ?? String(answer)
      test(`that returns ${shown} says so at once`, async (t) =>
        assertSaid(await openWrong(t, () => answer), /it returned .*: return \{ epoch, offset \}/))
    }
  }

  for (const answer of [undefined, null, { position: null }, { position: undefined }, at(5), { position: at(5), content: 'x' }]) {
    test(`may return ${JSON.stringify(answer)}`, async (t) => {
      const { warn, reasons } = await openWrong(t, () => answer)
      assert.deepEqual([warn.mock.callCount(), reasons], [0, []])
    })
  }

  for (const load of ['https://documents.example.com', 42, {}, [], true, Promise.resolve(), new URL('https://documents.example.com')]) {
    test(`that is ${String(load)} is refused`, async (t) => {
      const { client } = scriptedClient(t)
      await assert.rejects(client.open('doc', { load: /** @type {any} */ (load) }), {
        name: 'TypeError', message: /the option `load` of open must be a function/
      })
      assert.equal(client._memberships.size, 0)
    })
  }
})

describe('in React, a `load`', () => {
  /** @param {import('node:test').TestContext} t @param {any} load */
  async function use (t, load) {
    t.mock.method(console, 'warn', () => {})
    const { client, socket } = scriptedClient(t)
    const store = createDocumentStore(client, 'doc', { current: /** @type {any} */ ({ load }) }, undefined)
    t.after(store.subscribe(() => {}))
    await settle()
    socket.accepts()
    socket.tells('doc:joined', { guid: 'doc', position: at(5), recovered: false })
    await settle()
    return store.snapshot()
  }

  for (const [name, load] of Object.entries({
    ...FAILURES, 'returns a wrong position': () => ({ data: 1, position: { epoch: 'e', offset: '5' } })
  })) {
    test(`that ${name} is an error while it is repeated`, async (t) => {
      const { status, error } = await use(t, load)
      assert.deepEqual([status, /** @type {any} */ (error)?.code], ['loading', 'load_failed'])
    })
  }

  test('that is no function is an error', async (t) => {
    const { status, error } = await use(t, 'https://documents.example.com')
    assert.deepEqual([status, error?.name], ['closed', 'TypeError'])
  })
})
