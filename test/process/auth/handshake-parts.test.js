import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { connectClient } from '../../helpers/clients.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { waitFor } from '../../helpers/wait.js'

const { url, metrics } = await startEmbedded({ after })

/** A value of each type that a client can send, and of each form that is nearly right. */
const VALUES = [
  0, 1, -1, 1.5, 2 ** 53, '', '5', 'a\nb', 'x'.repeat(300), true, false, [], [1], {}, { epoch: 'e' }, { more: { more: 1 } },
  Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`f${i}`, i]))
]
/** Where JSON has no such value. */
const OF_MSGPACK = [Buffer.from('bytes'), new Date(0), NaN, Infinity, { deep: Buffer.from('x') }]

const position = { epoch: 'e', offset: 5 }
/**
 * Each field of `auth` that is a part, with the values that are right for it.
 * @type {[string, (value: any) => object, (value: any) => boolean, string][]} name, auth, whether it is right, and the
 *   document or field that is refused
 */
const FIELDS = [
  ['client', (client) => ({ client }), (value) => ['5'].includes(value), 'client'],
  ['documents', (documents) => ({ documents }), (value) => value?.constructor === Object, 'documents'],
  ['user', (user) => ({ user }), (value) => isEmpty(value), 'user'],
  ['user.epoch', (epoch) => ({ user: { epoch, offset: 5 } }), isEpoch, 'user'],
  ['user.offset', (offset) => ({ user: { epoch: 'e', offset } }), isOffset, 'user'],
  ['user.more', (more) => ({ user: { ...position, more } }), () => false, 'user'],
  ['a document', (bad) => ({ documents: { bad } }), (value) => isEmpty(value), 'bad'],
  ['epoch', (epoch) => ({ documents: { bad: { epoch, offset: 5 } } }), isEpoch, 'bad'],
  ['offset', (offset) => ({ documents: { bad: { epoch: 'e', offset } } }), isOffset, 'bad'],
  ['state', (state) => ({ documents: { bad: { state } } }), isState, 'bad'],
  ['a field of state', (of) => ({ documents: { bad: { state: { of } } } }), (of) => isState({ of }), 'bad'],
  ['members', (members) => ({ documents: { bad: { members } } }), (value) => typeof value === 'boolean', 'bad'],
  ['an unknown field', (more) => ({ documents: { bad: { more } } }), () => false, 'bad']
]

/** @param {any} value */
function isEmpty (value) { return value?.constructor === Object && Object.keys(value).length === 0 }
/** @param {any} value */
function isEpoch (value) { return typeof value === 'string' && value.length <= 64 }
/** @param {any} value */
function isOffset (value) { return Number.isSafeInteger(value) && value >= 0 }
/** @param {any} value */
function isState (value) {
  if (value?.constructor !== Object) return false
  return !Object.values(value).some(Buffer.isBuffer) && !Buffer.isBuffer(value.of?.deep)
}

let cases = 0
describe('a part of a handshake that is not well formed is refused alone', () => {
  for (const codec of /** @type {const} */ (['json', 'msgpack'])) {
    for (const [name, authOf, isRight, of] of FIELDS) {
      test(`${name}, ${codec}`, async (t) => {
        await Promise.all((codec === 'json' ? VALUES : [...VALUES, ...OF_MSGPACK]).map(async (value) => {
          cases++
          const auth = /** @type {any} */ (authOf(value))
          if (name !== 'documents') auth.documents = { ...auth.documents, good: { state: { line: 1 } } }
          if (!('user' in auth)) auth.user = {}
          const client = await connectClient(t, url, { auth, codec })
          const about = (/** @type {string} */ event) =>
            client.received.filter((one) => one.event === event).map(({ payload }) => payload)
          if (name !== 'documents') await waitFor(() => about('doc:joined').some(({ guid }) => guid === 'good'))
          const shown = `${name}: ${JSON.stringify(value)}`
          const refusals = [...about('doc:refused'), ...about('gateway:refused')]
          if (isRight(value)) {
            assert.deepEqual(refusals.filter(({ error }) => error.code === 'bad_request' && name !== 'documents'), [], shown)
          } else {
            await waitFor(() => [...about('doc:refused'), ...about('gateway:refused')].length > 0, { message: () => shown })
            const [{ guid, field, error }] = [...about('doc:refused'), ...about('gateway:refused')]
            assert.deepEqual([guid ?? field, error.code, error.retryable], [of, 'bad_request', false], shown)
            assert.ok(error.message.length < 310)
          }
          if (of !== 'user') await waitFor(() => about('gateway:user').length === 1)
          assert.equal((await client.ask('doc:join', { guid: 'later' })).ok, true, shown)
          client.disconnect()
        }))
      })
    }
  }

  test('and the refusals are counted', async () => {
    const counted = await /** @type {any} */ (metrics.client_events).get()
    const refused = counted.values.find((/** @type {any} */ { labels }) =>
      labels.event === 'doc:join' && labels.result === 'bad_request')
    assert.ok(refused.value > 100, JSON.stringify(refused))
  })

  test('names that are no guids are refused one by one', async (t) => {
    const documents = Object.fromEntries([['', null], ['x'.repeat(257), null], ['a\nb', null], ['__proto__', null], ['good', null]])
    const client = await connectClient(t, url, { auth: { documents } })
    await waitFor(() => client.received.length === 5)
    assert.deepEqual(
      client.received.map(({ event, payload }) => [event, payload.guid.slice(0, 9)]).sort(),
      [
        ['doc:joined', '__proto__'], ['doc:joined', 'good'],
        ['doc:refused', ''], ['doc:refused', 'a\nb'], ['doc:refused', 'xxxxxxxxx']
      ]
    )
  })

  test('in every field and type', (t) => {
    t.diagnostic(`${cases} cases`)
    assert.ok(cases > 400)
  })
})
