import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApi } from '../../helpers/api.js'

/** Headers that a publisher may send; the shorter ones are too short to be compared. */
const KNOWN = [
  'x-operator', 'x-event', 'x-except', 'x-ephemeral', 'x-keep', 'x-receipt', 'x-trace-id', 'x-timestamp', 'x-source',
  'idempotency-key', 'traceparent'
]

/** @param {string} known @returns {string[]} names with one or two letters less, more, or changed */
function mistakesIn (known) {
  const name = known.startsWith('x-') ? known : `x-${known}`
  const names = known === name ? [] : [name]
  if (known !== name) return names
  for (let at = 2; at < name.length; at++) {
    const before = name.slice(0, at)
    names.push(
      before + name.slice(at + 1), before + 'q' + name.slice(at), before + 'q' + name.slice(at + 1),
      before + 'qq' + name.slice(at), before + 'qq' + name.slice(at + 2), before + name.slice(at + 2)
    )
  }
  return [...new Set(names)].filter((one) => one.length > 5 && !KNOWN.includes(one))
}

test('a header with a mistake in its name is refused, and the error names the right one', async (t) => {
  const { call, published } = await startApi(t)
  let cases = 0
  for (const known of KNOWN) {
    await Promise.all(mistakesIn(known).map(async (name) => {
      cases++
      const { status, body } = await call('POST', '/v1/documents/a/broadcast', { body: '1', headers: { [name]: '1' } })
      assert.deepEqual([status, body.error?.code], [400, 'bad_header'], name)
      const [, meant] = new RegExp(`^the header ${name} is unknown; ([a-z-]+) is meant\\?$`).exec(body.error.message) ?? []
      // two letters away may be another one as well
      assert.ok(meant === known || KNOWN.includes(meant), body.error.message)
    }))
  }
  assert.ok(cases > 300, `${cases} cases`)
  assert.equal(published.length, 0)
})

test('headers of proxies and of callers are no mistakes, and queries have no headers', async (t) => {
  const { call } = await startApi(t)
  for (const name of [
    'x-request-id', 'x-correlation-id', 'x-amzn-trace-id', 'x-b3-traceid', 'x-cloud-trace-context',
    'x-client-id', 'x-tenant', 'x-region', 'x-version', 'x-api-key', 'x-user-id', 'x-env', 'x-id', 'x-datadog-trace-id'
  ]) {
    const { status, text } = await call('POST', '/v1/documents/a/broadcast', { body: '1', headers: { [name]: '1' } })
    assert.equal(status, 202, `${name} ${text}`)
  }
  assert.equal((await call('GET', '/v1/documents', { headers: { 'x-evnt': '1' } })).status, 200)
})

test('a method that a route does not have is answered with those that it has', async (t) => {
  const { call } = await startApi(t)
  for (const [method, path, message] of [
    ['PUT', '/v1/documents/a/broadcast', 'this route has POST, not PUT'],
    ['GET', '/v1/users/ada/documents/a', 'this route has POST and DELETE, not GET'],
    ['POST', '/openapi.json', 'this route has GET, not POST']
  ]) {
    const { status, body } = await call(method, path)
    assert.deepEqual([status, body.error.message], [405, message])
  }
})

test('errors say what is wrong: the operator, the event, an id, an empty body', async (t) => {
  const { call } = await startApi(t)
  const messageOf = async (/** @type {Promise<{ body: any }>} */ answer) => {
    const { body } = await answer
    return (body.error ?? body.results[0].error).message
  }
  const batch = (/** @type {object} */ item) => call('POST', '/v1/publish', { body: JSON.stringify({ publications: [item] }) })
  assert.match(await messageOf(batch({ operator: 'shout' })), /"shout" is unknown: it is one of broadcast, .*, leave$/)
  assert.match(await messageOf(batch({ guid: 'a', event: 'doc:x', value: 1 })), /^the event name "doc:x" is reserved/)
  const long = 'x'.repeat(257)
  assert.match(await messageOf(call('GET', `/v1/documents/${long}/position`)), /^the guid is not a valid id: .* 1 to 256 bytes/)
  assert.match(await messageOf(batch({ guid: long, value: 1 })), /^x-guid is not a valid id: .* 1 to 256 bytes/)
  assert.match(await messageOf(call('POST', '/v1/broadcast', { headers: { 'content-type': 'application/json' } })), /is empty/)
})
