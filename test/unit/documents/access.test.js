import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createAccess } from '../../../src/documents/access.js'
import { httpService } from '../../helpers/http-service.js'
import { manualClock } from '../../helpers/manual-clock.js'
import { recordingLog } from '../../helpers/recording-log.js'
import { waitFor } from '../../helpers/wait.js'

/** @typedef {import('../../../src/people/auth/identity.js').Grant} Grant */

/** @param {Grant[] | null} grants @param {string} [uid] */
const identityWith = (grants, uid = 'ada') =>
  Object.freeze({ uid, grants, issuedAt: null, expiresAt: null, anonymous: false })

/** @param {{ accessUrl?: string }} [settings] */
function accessWith (settings = {}) {
  const clock = manualClock()
  const { log, lines } = recordingLog()
  return { access: createAccess({ settings, log, clock }), clock, lines }
}

/**
 * The same grants in a short list and in a long one, which are searched in different ways.
 * @param {Grant[]} grants
 */
function bothWays (grants) {
  const { access } = accessWith()
  /** @type {Grant[]} */
  const others = Array.from({ length: 500 }, (_, i) => ({ guid: `other-${i}${i % 2 ? '*' : ''}`, access: 'write' }))
  const [short, long] = [identityWith(grants), identityWith([...others, ...grants])]
  return (/** @type {string} */ guid, /** @type {'read' | 'write'} */ wanted) => {
    const answers = [access.check(short, guid, wanted), access.check(long, guid, wanted)]
    assert.equal(answers[0], answers[1])
    return answers[0]
  }
}

test('a grant is for exactly one document, and write includes read', () => {
  const check = bothWays([{ guid: 'minutes', access: 'write' }, { guid: 'notes', access: 'read' }])
  assert.deepEqual([check('minutes', 'read'), check('minutes', 'write')], [true, true])
  assert.deepEqual([check('notes', 'read'), check('notes', 'write')], [true, false])
  for (const guid of ['minute', 'minutes2', 'Minutes', 'minutes*', '']) assert.equal(check(guid, 'read'), false, guid)
})

test('a grant that ends in * is for every document with this prefix', () => {
  const check = bothWays([{ guid: 'team/*', access: 'read' }, { guid: 'team/a*', access: 'write' }])
  for (const guid of ['team/', 'team/b', 'team/b/c', 'team/*'])
    assert.deepEqual([check(guid, 'read'), check(guid, 'write')], [true, false], guid)
  assert.deepEqual([check('team/abc', 'read'), check('team/abc', 'write')], [true, true])
  for (const guid of ['team', 'teams/b', 'a/team/b']) assert.equal(check(guid, 'read'), false, guid)
})

test('a single * is for every document, and a * elsewhere is an ordinary character', () => {
  const all = bothWays([{ guid: '*', access: 'read' }])
  assert.deepEqual([all('anything', 'read'), all('anything', 'write')], [true, false])
  const star = bothWays([{ guid: 'a*b', access: 'read' }])
  assert.deepEqual([star('a*b', 'read'), star('axb', 'read')], [true, false])
})

test('of two grants for one document the wider one applies, in either order', () => {
  for (const order of [['read', 'write'], ['write', 'read']]) {
    assert.equal(
      bothWays(order.map((access) => /** @type {Grant} */ ({ guid: 'minutes', access })))('minutes', 'write'),
      true
    )
  }
})

test('no grants allow nothing; without the claim everything is allowed if there is no access service', () => {
  const { access } = accessWith()
  assert.equal(access.check(identityWith([]), 'minutes', 'read'), false)
  assert.equal(access.check(identityWith(null), 'minutes', 'write'), true)
})

test('the access service is asked when the token has no documents claim, and only then', async (t) => {
  const service = await httpService(t, ({ body }) => ({
    body: JSON.stringify({ allow: JSON.parse(body).access === 'read' })
  }))
  const { access } = accessWith({ accessUrl: service.url })
  assert.equal(await access.check(identityWith(null), 'minutes/ü', 'read'), true)
  assert.equal(await access.check(identityWith(null), 'minutes/ü', 'write'), false)
  assert.deepEqual(service.bodies.map((body) => JSON.parse(body)), [
    { uid: 'ada', guid: 'minutes/ü', access: 'read' }, { uid: 'ada', guid: 'minutes/ü', access: 'write' }
  ])
  assert.equal(access.check(identityWith([{ guid: 'minutes', access: 'read' }]), 'minutes', 'write'), false)
  assert.equal(service.requests, 2)
})

test('concurrent equal requests are sent once, and the response is cached for 10 s', async (t) => {
  let allow = true
  const service = await httpService(t, () => ({ body: JSON.stringify({ allow }) }))
  const { access, clock } = accessWith({ accessUrl: service.url })
  const ask = () => access.check(identityWith(null), 'minutes', 'read')
  assert.deepEqual(await Promise.all(Array.from({ length: 20 }, ask)), Array(20).fill(true))
  assert.equal(service.requests, 1)
  allow = false
  clock.advance(9999)
  assert.equal(ask(), true)
  clock.advance(1)
  assert.equal(await ask(), false)
  assert.equal(ask(), false)
  assert.equal(service.requests, 2)
})

test('responses are cached by user, document and access', async (t) => {
  const service = await httpService(t, ({ body }) => ({
    body: JSON.stringify({ allow: JSON.parse(body).uid === 'ada' })
  }))
  const { access } = accessWith({ accessUrl: service.url })
  assert.equal(await access.check(identityWith(null, 'ada'), 'minutes', 'read'), true)
  assert.equal(await access.check(identityWith(null, 'bob'), 'minutes', 'read'), false)
  assert.equal(await access.check(identityWith(null, 'ada'), 'notes', 'read'), true)
  assert.equal(service.requests, 3)
})

test('every other response of the service denies access, is retryable, and is not cached', async (t) => {
  let answer = { status: 200, body: '' }
  const service = await httpService(t, () => answer)
  const { access, lines } = accessWith({ accessUrl: service.url })
  const wrong = [
    { status: 500, body: '{"allow":true}' },
    { status: 403, body: '{"allow":false}' },
    ...[
      '',
      'yes',
      'true',
      'null',
      '{}',
      '{"allow":"true"}',
      '{"allow":1}',
      `{"allow":true,"more":"${'x'.repeat(5000)}"}`
    ].map((body) => ({ status: 200, body }))
  ]
  for (answer of wrong) {
    await assert.rejects(
      Promise.resolve(access.check(identityWith(null), 'minutes', 'read')),
      { code: 'unavailable', retryable: true },
      answer.body
    )
  }
  assert.equal(service.requests, wrong.length)
  assert.equal(lines.length, 1, 'one line in the log, not one per request')
  answer = { status: 200, body: '{"allow":true}' }
  assert.equal(await access.check(identityWith(null), 'minutes', 'read'), true)
})

test('an unreachable service denies access', async () => {
  const { access } = accessWith({ accessUrl: 'http://127.0.0.1:9/' })
  await assert.rejects(Promise.resolve(access.check(identityWith(null), 'minutes', 'read')), { code: 'unavailable' })
})

test('the number of pending requests is limited, and stop ends them', async (t) => {
  const service = await httpService(t, () => new Promise(() => {}))
  const { access } = accessWith({ accessUrl: service.url })
  const open = Array.from({ length: 400 }, (_, i) =>
    assert.rejects(Promise.resolve(access.check(identityWith(null), `document-${i}`, 'read')), { code: 'unavailable' })
  )
  await assert.rejects(Promise.resolve(access.check(identityWith(null), 'one more', 'read')), {
    code: 'unavailable',
    message: /too many/
  })
  await waitFor(() => service.requests > 0)
  access.stop()
  await Promise.all(open)
})

for (const [questions, answers] of [[200, 1], [300, 2], [1000, 2]]) {
  test(`while a user has ${questions} questions open the service is asked about another after ${answers} answers`, async (t) => {
    /** @type {(() => void)[]} */
    const held = []
    const service = await httpService(t, async ({ body }) => {
      const { uid } = JSON.parse(body)
      if (uid === 'eve') await new Promise((resolve) => { held.push(() => resolve(undefined)) })
      return { body: JSON.stringify({ allow: uid === 'bob' }) }
    })
    const { access } = accessWith({ accessUrl: service.url })
    const all = Promise.allSettled(Array.from({ length: questions }, async (_, i) =>
      access.check(identityWith(null, 'eve'), `invented-${i}`, 'read')))
    await waitFor(() => held.length === 200)
    const bob = access.check(identityWith(null, 'bob'), 'plan', 'read')
    for (const end of held.splice(0, answers)) end()
    assert.equal(await bob, true)
    assert.equal(service.requests, 200 + answers, 'no more than 200 at the same time')
    access.stop()
    await all
  })
}

test('bans and closed documents end by the clock that set them, however much the wall clock of the gateway is ahead', () => {
  const clock = manualClock()
  const { log } = recordingLog()
  let orderTime = clock.now()
  for (const ahead of [-60_000, 60_000, 3_600_000]) {
    clock.step(ahead)
    const access = createAccess({ settings: {}, log, clock, orderTime: () => orderTime })
    access.orders.noteOrder({ operator: 'kick', uid: 'ada', guid: undefined, ttl: 30 }, orderTime)
    access.orders.noteOrder({ operator: 'revoke', uid: 'ada', guid: 'd', ttl: 30 }, orderTime)
    const holds = () => [access.isBanned('ada'), access.check(identityWith(null), 'd', 'read')]
    orderTime += 29_999
    assert.deepEqual(holds(), [true, false])
    orderTime += 1
    assert.deepEqual(holds(), [false, true])
  }
})
