import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemRandom } from '../../../src/base/common/random.js'
import { headersFromPublication, newTraceId, publicationFromHeaders } from '../../../src/wire/headers.js'
import { publicationWith } from '../../helpers/publication.js'

const VALUE = Buffer.from('1')
const TRACE = '0af7651916cd43dd8448eb211c80319c'
const TRACEPARENT = `00-${TRACE}-b7ad6b7169203331-01`

/** @param {Record<string, string>} headers */
const read = (headers) => publicationFromHeaders(new Map(Object.entries(headers)), VALUE, 1234, systemRandom)
/** @param {Record<string, string>} more */
const broadcast = (more) => read({ 'x-operator': 'broadcast', 'x-guid': 'minutes', ...more })

test('a field without a header has its default', () => {
  const { traceId, ...publication } = broadcast({})
  assert.match(traceId, /^[0-9a-f]{32}$/)
  assert.deepEqual(publication, {
    operator: 'broadcast',
    guid: 'minutes',
    uid: undefined,
    sid: undefined,
    event: 'message',
    except: [],
    ephemeral: false,
    receipt: false,
    traceparent: undefined,
    idempotencyKey: undefined,
    key: undefined,
    ttl: undefined,
    timestamp: 1234,
    source: undefined,
    contentType: 'application/json',
    value: VALUE
  })
})

test('a publication is the same after it was written to headers and read again', () => {
  for (const publication of [
    publicationWith({ value: VALUE }),
    publicationWith({ key: 'slide', value: VALUE }),
    publicationWith({ operator: 'everyone', guid: undefined, event: 'edit', value: VALUE }),
    publicationWith({
      operator: 'revoke',
      uid: 'ada',
      sid: 's1',
      except: ['tab-1', 'tab 2'],
      ephemeral: true,
      receipt: true,
      traceparent: TRACEPARENT,
      source: 'editor',
      idempotencyKey: 'key',
      contentType: 'application/msgpack',
      value: VALUE
    })
  ]) {
    const headers = headersFromPublication(publication)
    assert.ok(Object.entries(headers).every(([name, text]) => name === name.toLowerCase() && typeof text === 'string'))
    assert.deepEqual(withoutUndefined(read(headers)), withoutUndefined(publication))
  }
})

test('the operator must be known', () => {
  const known = 'it is one of broadcast, user, device, socket, everyone, kick, revoke, restore, close, join, leave'
  assert.throws(() => read({}), { code: 'unknown_operator', message: `x-operator is missing: ${known}` })
  for (const operator of ['', 'BROADCAST', 'broadcast ', 'toString']) {
    assert.throws(() => read({ 'x-operator': operator }), {
      code: 'unknown_operator', message: `x-operator "${operator}" is unknown: ${known}`
    })
  }
})

test('x-except is a list of at most 100 ids', () => {
  assert.deepEqual(broadcast({ 'x-except': ' a, b ,c' }).except, ['a', 'b', 'c'])
  assert.deepEqual(broadcast({ 'x-except': ' ' }).except, [])
  assert.equal(broadcast({ 'x-except': Array(100).fill('a').join(',') }).except.length, 100)
  for (const text of ['a,', ',a', 'a,,b', Array(101).fill('a').join(','), 'x'.repeat(257)])
    assert.throws(() => broadcast({ 'x-except': text }), { code: 'bad_header', message: /x-except/ }, text)
})

test('flags are true or false', () => {
  for (const [header, field] of /** @type {const} */ ([['x-ephemeral', 'ephemeral'], ['x-receipt', 'receipt']])) {
    assert.equal(broadcast({ [header]: 'true' })[field], true)
    assert.equal(broadcast({ [header]: 'false' })[field], false)
    for (const text of ['', '1', 'TRUE', 'yes'])
      assert.throws(() => broadcast({ [header]: text }), {
        code: 'bad_header',
        message: `${header} must be true or false`
      })
  }
})

test('the trace id is x-trace-id, else that of traceparent, else a new one', () => {
  assert.equal(broadcast({ 'x-trace-id': 'mine', traceparent: TRACEPARENT }).traceId, 'mine')
  assert.deepEqual(
    [broadcast({ traceparent: TRACEPARENT }).traceId, broadcast({ traceparent: TRACEPARENT }).traceparent],
    [TRACE, TRACEPARENT]
  )
  for (const text of ['', 'a\nb', 'x'.repeat(257)])
    assert.throws(() => broadcast({ 'x-trace-id': text }), { code: 'bad_header', message: /x-trace-id/ })
  assert.notEqual(newTraceId(systemRandom), newTraceId(systemRandom))
})

test('an invalid traceparent is ignored, as its specification requires', () => {
  // https://www.w3.org/TR/trace-context/#traceparent-header: all zeros and version ff are not valid
  for (const traceparent of [
    '',
    'x',
    TRACEPARENT.toUpperCase(),
    `${TRACEPARENT}0`,
    TRACEPARENT.replace(TRACE, '0'.repeat(32)),
    TRACEPARENT.replace('b7ad6b7169203331', '0'.repeat(16)),
    `ff${TRACEPARENT.slice(2)}`
  ]) {
    const publication = broadcast({ traceparent })
    assert.equal(publication.traceparent, undefined, traceparent)
    assert.match(publication.traceId, /^(?!0+$)[0-9a-f]{32}$/, traceparent)
  }
})

test('x-timestamp is a whole number of milliseconds', () => {
  assert.equal(broadcast({ 'x-timestamp': '1700000000123' }).timestamp, 1700000000123)
  for (const text of ['', '-1', '1.5', '1e3', '0x10', 'now', '1'.repeat(16)])
    assert.throws(() => broadcast({ 'x-timestamp': text }), { code: 'bad_header', message: /x-timestamp/ }, text)
})

test('the content type may have parameters and capitals, and is one of two', () => {
  assert.equal(broadcast({ 'content-type': 'Application/JSON; charset=utf-8' }).contentType, 'application/json')
  assert.equal(broadcast({ 'content-type': 'application/msgpack' }).contentType, 'application/msgpack')
  for (const text of ['', 'text/plain', 'application/jsonx', 'application/x-msgpack'])
    assert.throws(() => broadcast({ 'content-type': text }), { code: 'bad_content_type' }, text)
})

test('x-source is an id', () => {
  assert.equal(broadcast({ 'x-source': 'editor' }).source, 'editor')
  assert.throws(() => broadcast({ 'x-source': '' }), { code: 'bad_header', message: /x-source/ })
})

/** @param {object} object */
const withoutUndefined = (object) =>
  Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined))
