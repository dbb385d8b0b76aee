import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { systemClock } from '../../../src/base/common/clock.js'
import { systemRandom } from '../../../src/base/common/random.js'
import { Callers } from '../../../src/services/api/callers/callers.js'
import { createMetrics } from '../../../src/observe/metrics/metrics.js'
import { startApi } from '../../helpers/api.js'
import { callersFile } from '../../helpers/callers-file.js'
import { publicationWith } from '../../helpers/publication.js'
import { recordingLog } from '../../helpers/recording-log.js'
import { waitFor } from '../../helpers/wait.js'

const EDITOR = 'editor-0123456789'
const BILLING = 'billing-0123456789'
const bearer = (/** @type {string} */ token, more = {}) => ({ authorization: `Bearer ${token}`, ...more })

const CALLERS = {
  callers: [
    {
      name: 'editor',
      tokens: [{ text: EDITOR }],
      operators: ['broadcast', 'revoke'],
      operations: ['history', 'position'],
      guids: ['notes/*', 'minutes']
    },
    {
      name: 'billing',
      tokens: [{ text: BILLING }],
      operators: ['user'],
      operations: ['sessions'],
      uids: ['team-*'],
      rate: { perSecond: 2, burst: 3 }
    }
  ]
}

/** @param {Awaited<ReturnType<typeof startApi>>} api @returns {Promise<Record<string, number>>} by `caller result` */
async function calls ({ metrics }) {
  const { values } = await metrics.api_calls.get()
  return Object.fromEntries(values.map(({ labels, value }) => [`${labels.caller} ${labels.result}`, value]))
}

test('a caller may do what its entry allows, and is the source of what it publishes', async (t) => {
  const api = await startApi(t, { callersFile: callersFile(t, CALLERS).path, tokens: ['legacy:0123456789abcdef'] })
  const { call, published } = api
  for (const [status, token, method, path] of /** @type {[number, string, string, string][]} */ ([
    [202, EDITOR, 'POST', '/v1/documents/notes%2F1/broadcast'],
    [202, EDITOR, 'POST', '/v1/documents/minutes/broadcast'],
    [200, EDITOR, 'GET', '/v1/documents/minutes/position'],
    [403, EDITOR, 'POST', '/v1/documents/other/broadcast'],
    [403, EDITOR, 'GET', '/v1/documents/other/position'],
    [403, EDITOR, 'GET', '/v1/documents/minutes/presence'],
    [403, EDITOR, 'POST', '/v1/users/team-ada/send'],
    [403, EDITOR, 'DELETE', '/v1/sockets/abc'],
    [403, EDITOR, 'POST', '/v1/broadcast'],
    [202, BILLING, 'POST', '/v1/users/team-ada/send'],
    [403, BILLING, 'POST', '/v1/users/ada/send'],
    [200, BILLING, 'GET', '/v1/users/team-ada/sessions'],
    [403, BILLING, 'GET', '/v1/users/ada/sessions'],
    [202, '0123456789abcdef', 'POST', '/v1/broadcast'],
    [200, '0123456789abcdef', 'GET', '/v1/users/ada/sessions'],
    [401, 'someone-0123456789', 'POST', '/v1/documents/minutes/broadcast']
  ])) {
    const answer = await call(method, path, {
      headers: bearer(token, { 'x-source': 'forged', ...(method === 'POST' ? { 'content-type': 'application/json' } : {}) }),
      body: method === 'POST' ? '1' : undefined
    })
    assert.equal(answer.status, status, `${token} ${method} ${path}: ${answer.text}`)
    if (status === 403) assert.equal(answer.body.error.code, 'forbidden')
  }
  assert.deepEqual(published.map(({ source }) => source), ['editor', 'editor', 'billing', 'legacy'])
  assert.deepEqual(await calls(api), {
    'editor admitted': 3, 'editor forbidden': 6, 'billing admitted': 2, 'billing forbidden': 2, 'legacy admitted': 2
  })
})

test('an operation can publish as its caller only', async (t) => {
  const { callers, published } = await startApi(t, { callersFile: callersFile(t, CALLERS).path })
  const caller = await callers.identify({ authorization: `Bearer ${EDITOR}`, address: '10.0.0.1', headers: {} })
  const forged = publicationWith({ source: 'billing' })
  assert.equal(callers.admitPublication(caller, forged, 1000).source, 'editor')
  const publish = callers.publishFor(caller, async (one) => {
    published.push(one)
    return { traceId: one.traceId }
  })
  await publish(forged)
  await assert.rejects(publish({ ...forged, guid: 'other' }), { code: 'forbidden' })
  assert.deepEqual(published.map(({ source, guid }) => [source, guid]), [['editor', 'minutes']])
})

test('each publication of a batch is checked, and counts', async (t) => {
  const api = await startApi(t, { callersFile: callersFile(t, CALLERS).path })
  const send = async (/** @type {string} */ token, /** @type {object[]} */ publications) => {
    const { body } = await api.call('POST', '/v1/publish', {
      headers: bearer(token, { 'content-type': 'application/json', 'x-source': 'forged' }),
      body: JSON.stringify({ publications: publications.map((one) => ({ value: 1, ...one })) })
    })
    return body.results.map((/** @type {any} */ { error }) => error?.code ?? 'ok')
  }
  assert.deepEqual(await send(EDITOR, [
    { guid: 'minutes' }, { guid: 'other' }, { operator: 'user', uid: 'team-ada' }, { operator: 'kick', sid: 'abc' },
    { operator: 'revoke', guid: 'notes/1', uid: 'ada' }, { operator: 'everyone' }
  ]), ['ok', 'forbidden', 'forbidden', 'forbidden', 'ok', 'forbidden'])
  const user = (/** @type {string} */ uid) => ({ operator: 'user', uid })
  assert.deepEqual(
    await send(BILLING, [user('team-a'), user('ada'), user('team-b'), user('team-c'), user('team-d')]),
    ['ok', 'forbidden', 'ok', 'rate_limited', 'rate_limited']
  )
  assert.deepEqual(api.published.map(({ source }) => source), ['editor', 'editor', 'billing', 'billing'])
  assert.deepEqual(await calls(api), {
    'editor admitted': 2,
    'editor forbidden': 4,
    'billing admitted': 2,
    'billing forbidden': 1,
    'billing rate_limited': 2
  })
})

test('a revocation needs the right to the document and to the user', async (t) => {
  const { path } = callersFile(t, { callers: [{ ...CALLERS.callers[0], uids: ['team-*'] }] })
  const { call } = await startApi(t, { callersFile: path })
  const revoke = async (/** @type {string} */ guid, /** @type {string} */ uid) =>
    (await call('POST', `/v1/documents/${guid}/revoke`, { headers: bearer(EDITOR, { 'x-uid': uid }) })).status
  assert.deepEqual([
    await revoke('minutes', 'team-ada'), await revoke('minutes', 'ada'), await revoke('other', 'team-ada')
  ], [202, 403, 403])
})

test('above its rate a caller is answered 429 with the time to wait, and others are not affected', async (t) => {
  const api = await startApi(t, { callersFile: callersFile(t, CALLERS).path })
  const send = () => api.call('POST', '/v1/users/team-ada/send', { body: '1', headers: bearer(BILLING) })
  for (let i = 0; i < 3; i++) assert.equal((await send()).status, 202)
  const refused = await send()
  assert.equal(refused.status, 429)
  assert.equal(refused.headers.get('retry-after'), '1')
  assert.deepEqual(refused.body.error, {
    code: 'rate_limited', message: 'the caller billing publishes more than 2 per second', retryable: true, retryInMs: 500
  })
  assert.equal(
    (await api.call('POST', '/v1/documents/minutes/broadcast', { body: '1', headers: bearer(EDITOR) })).status, 202)
  api.clock.advance(500)
  assert.deepEqual([(await send()).status, (await send()).status], [202, 429])
  assert.deepEqual((await calls(api))['billing rate_limited'], 2)
})

test('single operations and operators have rates of their own', async (t) => {
  const [editor, billing] = CALLERS.callers
  const { path } = callersFile(t, {
    callers: [
      { ...editor, rates: { position: { perSecond: 0.01, burst: 2 }, revoke: { perSecond: 0.01 } } },
      billing
    ]
  })
  const { call } = await startApi(t, { callersFile: path })
  const ask = (/** @type {string} */ operation) =>
    call('GET', `/v1/documents/minutes/${operation}`, { headers: bearer(EDITOR) })
  assert.deepEqual([(await ask('position')).status, (await ask('position')).status], [200, 200])
  const refused = await ask('position')
  assert.equal(refused.status, 429)
  assert.equal(refused.body.error.message, 'the caller editor calls position more than 0.01 per second')
  assert.ok(Number(refused.headers.get('retry-after')) > 90)
  assert.equal((await ask('history')).status, 200)
  const publish = async (/** @type {string} */ operator) =>
    (await call('POST', `/v1/documents/minutes/${operator}`, {
      headers: bearer(EDITOR, { 'x-uid': 'ada' }), ...(operator === 'broadcast' && { body: '1', headers: bearer(EDITOR) })
    })).status
  assert.deepEqual([await publish('revoke'), await publish('revoke'), await publish('broadcast')], [202, 429, 202])
})

test('a reload changes the rate, and is no second burst', async (t) => {
  const file = callersFile(t, CALLERS)
  const { call, clock, metrics } = await startApi(t, { callersFile: file.path })
  const send = async () =>
    (await call('POST', '/v1/users/team-ada/send', { body: '1', headers: bearer(BILLING) })).status
  const reload = async (/** @type {object} */ rate) => {
    const loads = async () => (await metrics.settings_file_loads.get()).values[0].value
    const before = await loads()
    file.write({ callers: [CALLERS.callers[0], { ...CALLERS.callers[1], rate }] })
    await waitFor(async () => await loads() > before)
  }
  assert.deepEqual([await send(), await send(), await send(), await send()], [202, 202, 202, 429])
  await reload({ perSecond: 2, burst: 100 })
  assert.equal(await send(), 429)
  clock.advance(10_000)
  for (let i = 0; i < 20; i++) assert.equal(await send(), 202)
  assert.equal(await send(), 429)
})

test('a publication that is not allowed counts against the rate', async (t) => {
  const api = await startApi(t, { callersFile: callersFile(t, CALLERS).path })
  const send = async (/** @type {string} */ uid) =>
    (await api.call('POST', `/v1/users/${uid}/send`, { body: '1', headers: bearer(BILLING) })).status
  for (let i = 0; i < 2; i++) assert.equal(await send('ada'), 403)
  assert.deepEqual([await send('team-a'), await send('team-a')], [202, 429])
})

test('a file that changes under load takes effect without a failed request, and a wrong one changes nothing', async (t) => {
  const file = callersFile(t, CALLERS)
  const api = await startApi(t, { callersFile: file.path })
  const next = { text: 'editor-next-token-1' }
  let running = true
  /** @type {Record<string, number>} */
  const seen = {}
  /** @param {string} token @param {string} guid */
  const load = async (token, guid) => {
    while (running) {
      const { status } = await api.call('POST', `/v1/documents/${guid}/broadcast`, { body: '1', headers: bearer(token) })
      seen[`${token} ${guid} ${status}`] = (seen[`${token} ${guid} ${status}`] ?? 0) + 1
    }
  }
  const loads = [load(EDITOR, 'minutes'), load(EDITOR, 'minutes'), load(next.text, 'minutes'), load(EDITOR, 'other')]
  const [editor, billing] = CALLERS.callers
  await waitFor(() => seen[`${EDITOR} minutes 202`] > 20 && seen[`${next.text} minutes 401`] > 5)
  // ten versions: with a second token, with another document, and wrong ones between them
  for (let version = 0; version < 10; version++) {
    file.write({ callers: [{ ...editor, tokens: [{ text: EDITOR }, next], guids: ['minutes', `v${version}`] }, billing] })
    await waitFor(async () =>
      (await api.call('POST', `/v1/documents/v${version}/broadcast`, { body: '1', headers: bearer(next.text) })).status === 202
    )
    const wrong = api.lines.filter(({ level }) => level === 'error').length
    file.write(version % 2 === 0 ? '{' : { callers: [{ ...editor, operators: ['brodcast'] }] })
    await waitFor(() => api.lines.filter(({ level }) => level === 'error').length === wrong + 1)
    assert.equal((await api.metrics.settings_file_wrong.get()).values[0].value, 1)
  }
  file.write({ callers: [{ ...editor, guids: ['minutes', 'other'] }] })
  await waitFor(() => seen[`${EDITOR} other 202`] > 20)
  running = false
  await Promise.all(loads)
  // nobody with a valid token was ever refused, and the token in between worked until it was taken out
  assert.deepEqual(Object.keys(seen).filter((key) => key.startsWith(`${EDITOR} minutes`)), [`${EDITOR} minutes 202`])
  assert.ok(seen[`${next.text} minutes 202`] > 20)
  assert.equal((await api.call('POST', '/v1/documents/minutes/broadcast', { body: '1', headers: bearer(next.text) })).status, 401)
  assert.equal((await api.metrics.settings_file_wrong.get()).values[0].value, 0)
  assert.match(api.lines.find(({ level }) => level === 'error')?.text ?? '', /it is not JSON.*the last correct one stays/)
  for (const { text } of api.lines) assert.doesNotMatch(text, /0123456789|next-token/)
})

test('a stream that is open follows the file: rights change, and a token that is taken out ends it', async (t) => {
  const file = callersFile(t, CALLERS)
  const { callers } = await startApi(t, { callersFile: file.path })
  const stream = await callers.identify({ authorization: `Bearer ${EDITOR}`, address: '10.0.0.1', headers: {} })
  const admits = (/** @type {string} */ guid) => {
    try {
      callers.admit(stream, { operation: 'history', guid })
      return 'ok'
    } catch (error) {
      return /** @type {any} */ (error).code
    }
  }
  assert.deepEqual([admits('minutes'), admits('other')], ['ok', 'forbidden'])
  const [editor] = CALLERS.callers
  file.write({ callers: [{ ...editor, guids: ['other'] }] })
  await waitFor(() => admits('other') === 'ok')
  assert.equal(admits('minutes'), 'forbidden')
  file.write({ callers: [{ ...editor, tokens: [{ text: 'another-0123456789' }] }] })
  await waitFor(() => admits('minutes') === 'unauthorized')
  // another caller has the token now: the stream is still the old one's
  file.write({ callers: [{ ...editor, name: 'heir' }] })
  await new Promise((resolve) => setTimeout(resolve, 200))
  assert.equal(admits('minutes'), 'unauthorized')
})

test('a token in a file is rotated by writing that file', async (t) => {
  const file = callersFile(t, { callers: [{ ...CALLERS.callers[0], tokens: [{ file: 'token' }] }] })
  writeFileSync(join(file.folder, 'token'), `${EDITOR}\n`)
  const { call } = await startApi(t, { callersFile: file.path })
  const status = async (/** @type {string} */ token) =>
    (await call('GET', '/v1/documents/minutes/position', { headers: bearer(token) })).status
  assert.equal(await status(EDITOR), 200)
  writeFileSync(join(file.folder, 'token'), 'rotated-0123456789\n')
  await waitFor(async () => await status('rotated-0123456789') === 200)
  assert.equal(await status(EDITOR), 401)
})

test('a wrong file fails the start, with the reason', async (t) => {
  const { log } = recordingLog()
  const start = (/** @type {string} */ path) => new Callers({
    settings: { tokens: [], callersFile: path },
    production: true,
    log,
    metrics: createMetrics({ processMetrics: false }),
    clock: systemClock,
    random: systemRandom
  }).start()
  const { path } = callersFile(t, { callers: [{ name: 'editor', operators: ['*'] }] })
  await assert.rejects(start(path), {
    message: `API_CALLERS_FILE=${path}: caller "editor": has no credential: give it tokens, certificates or jwt`
  })
  await assert.rejects(start('/nowhere/callers.json'), /^Error: API_CALLERS_FILE=\/nowhere\/callers.json: .*ENOENT/)
})
