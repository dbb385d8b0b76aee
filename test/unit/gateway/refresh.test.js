import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { systemRandom } from '../../../src/base/common/random.js'
import { InkcastError } from '../../../src/base/common/errors.js'
import { SocketIoConnection } from '../../../src/gateway/socketio-connection.js'
import { Expiry } from '../../../src/gateway/expiry.js'
import { handle as join } from '../../../src/gateway/handlers/join.js'
import { handle as refresh } from '../../../src/gateway/handlers/refresh.js'
import { ratesOf } from '../../../src/transport/admission/rate-limit.js'
import { UserBudget } from '../../../src/transport/admission/user-budget.js'
import { manualClock } from '../../helpers/manual-clock.js'
import { settle } from '../../helpers/scripted-socket.js'

const MAX_DOCUMENTS = 3

/**
 * A connection with documents open under the token `old`, which expires in 10 s. The test decides whether a token
 * allows a document.
 * @param {import('node:test').TestContext} t
 * @param {...string} open
 */
async function setUp (t, ...open) {
  const clock = manualClock()
  /** @type {[string, any][]} */
  const told = []
  const socket = {
    id: 'connection', connected: true, conn: {}, data: {}, client: { sockets: new Map() },
    join: () => undefined,
    leave () {},
    emit (/** @type {string} */ event, /** @type {any} */ argument) { told.push([event, argument]) },
    disconnect () { socket.connected = false }
  }
  const identities = Object.fromEntries([['old', 10], ['new', 600], ['newer', 900]].map(([name, seconds]) =>
    [name, { uid: 'u', name, grants: null, anonymous: false, expiresAt: clock.now() + Number(seconds) * 1000 }]))
  const rates = ratesOf({ eventRates: { all: 100 }, maxBytesPerSecond: 1000, maxRecordBytes: 1000 })
  const connection = new SocketIoConnection(
    /** @type {any} */ (socket),
    /** @type {any} */ (identities.old),
    'json',
    undefined,
    /** @type {any} */ ({
      maxDocuments: MAX_DOCUMENTS, rates, budgetOf: () => new UserBudget(rates, 0), clock
    })
  )
  const expiry = new Expiry({ clock, random: systemRandom })
  expiry.start()
  t.after(() => expiry.stop())
  expiry.watch(connection)
  /**
   * @type {Map<string, { resolve: (allowed: boolean) => void, reject: (error: Error) => void }>} by token and document
   */
  const asked = new Map()
  let kickedAt = 0
  /** Checks of tokens that wait. @type {Map<string, Promise<void>>} */
  const held = new Map()
  /** @type {Promise<void> | undefined} delays joins after their check */
  let opening
  const context = /** @type {any} */ ({
    login: {
      async refresh (/** @type {any} */ _socket, /** @type {string} */ token) {
        await held.get(token)
        return identities[token]
      },
      endedBy: (/** @type {{ name: string }} */ { name }, /** @type {number} */ kickedAt) => name === 'new' && kickedAt > 0
    },
    access: {
      orders: { kickedAt: () => kickedAt },
      readOnly: () => false,
      check: (/** @type {{ name: string }} */ { name }, /** @type {string} */ guid) =>
        name === 'old' ||
        new Promise((resolve, reject) => { asked.set(`${name} ${guid}`, { resolve, reject }) })
    },
    feeds: {
      async join () {
        await opening
        return { position: { epoch: 'e', offset: 0 }, recovered: false }
      },
      leave () {}
    },
    presence: { leave () {} },
    connectionListeners: { joined () {}, left () {} },
    limits: { maxDocumentsPerConnection: MAX_DOCUMENTS },
    expiry
  })
  for (const guid of open) await join(connection, { guid }, context)
  return {
    connection, clock, told, expiry, identities,
    kick () { kickedAt = 1 },
    holdLogin (/** @type {string} */ token) {
      let goOn = () => {}
      held.set(token, new Promise((resolve) => { goOn = resolve }))
      return { goOn }
    },
    holdJoins (/** @type {Promise<void>} */ until) { opening = until },
    join: (/** @type {string} */ guid) => join(connection, { guid }, context),
    refresh: (/** @type {string} */ token) => refresh(connection, { token }, context),
    /** @param {string} question @param {boolean | Error} answer */
    async answer (question, answer) {
      await settle()
      const { resolve, reject } =
        asked.get(question) ?? assert.fail(`${question} was not checked, only ${[...asked.keys()]}`)
      if (typeof answer === 'boolean') resolve(answer)
      else reject(answer)
      await settle()
    }
  }
}

const UNAVAILABLE = new InkcastError('unavailable')

describe('auth:refresh', () => {
  test('changes nothing before every document was checked: if a check fails, the old token stays in force until it expires', async (t) => {
    const { connection, clock, told, expiry, identities, refresh, answer } = await setUp(t, 'a', 'b')
    const refreshed = assert.rejects(refresh('new'), { code: 'unavailable' })
    await answer('new a', false)
    assert.equal(connection.identity, identities.old)
    await answer('new b', UNAVAILABLE)
    await refreshed
    assert.equal(connection.identity, identities.old)
    assert.deepEqual(connection.openDocuments(), ['a', 'b'])
    assert.deepEqual(told, [])
    clock.advance(11_000)
    expiry.tick() // the warning
    expiry.tick()
    assert.equal(connection.endCode, 'token_expired')
  })

  test('a client that comes with the same token again is warned of its end once', async (t) => {
    const { connection, clock, told, expiry, refresh } = await setUp(t)
    for (let second = 0; second < 8; second++) {
      clock.advance(1000)
      expiry.tick()
      await refresh('old')
    }
    assert.deepEqual(told.map(([event]) => event), ['auth:expiring'])
    clock.advance(3000)
    expiry.tick()
    assert.equal(connection.endCode, 'token_expired')
  })

  test('leaves documents that the new token does not allow at the moment it takes effect', async (t) => {
    const { connection, told, identities, refresh, answer } = await setUp(t, 'a', 'b')
    const refreshed = refresh('new')
    await answer('new a', false)
    assert.deepEqual(told, [])
    await answer('new b', true)
    assert.deepEqual(await refreshed, { expiresAt: identities.new.expiresAt })
    assert.equal(connection.identity, identities.new)
    assert.deepEqual([...connection.documents()], ['b'])
    assert.deepEqual(told, [['doc:revoked', { guid: 'a' }]])
  })

  test('also checks documents that are joined, or being joined, with the old token in the meantime', async (t) => {
    const { connection, told, holdJoins, join, refresh, answer } = await setUp(t, 'a')
    const refreshed = refresh('new')
    await join('joined')
    let goOn = () => {}
    holdJoins(new Promise((resolve) => { goOn = resolve }))
    const joining = assert.rejects(join('joining'), { code: 'not_joined' })
    await answer('new a', true)
    await answer('new joined', false)
    await answer('new joining', false)
    await refreshed
    goOn()
    await joining
    assert.deepEqual([...connection.documents()], ['a'])
    assert.deepEqual(told, [['doc:revoked', { guid: 'joined' }], ['doc:revoked', { guid: 'joining' }]])
  })

  test('is superseded by a later one, whichever is checked first', async (t) => {
    const { connection, identities, refresh, answer } = await setUp(t, 'a')
    const overtaken = assert.rejects(refresh('new'), { code: 'unavailable' })
    const refreshed = refresh('newer')
    await answer('newer a', true)
    await refreshed
    await answer('new a', true)
    await overtaken
    assert.equal(connection.identity, identities.newer)
  })

  test('is superseded by a later one also while its token is being checked', async (t) => {
    const { connection, identities, holdLogin, refresh, answer } = await setUp(t, 'a')
    const login = holdLogin('new')
    const overtaken = assert.rejects(refresh('new'), { code: 'unavailable' })
    const refreshed = refresh('newer')
    await answer('newer a', true)
    await refreshed
    login.goOn()
    await overtaken
    assert.equal(connection.identity, identities.newer)
  })

  test('an answer about a token from before a kick changes nothing, one from after it does', async (t) => {
    const { connection, identities, kick, refresh, answer } = await setUp(t, 'a')
    kick()
    await assert.rejects(refresh('new'), { code: 'unavailable' })
    assert.equal(connection.identity, identities.old)
    const refreshed = refresh('newer')
    await answer('newer a', true)
    await refreshed
    assert.equal(connection.identity, identities.newer)
  })

  test('of a connection that ends in the meantime changes nothing, and its expiry is not tracked again', async (t) => {
    const { connection, clock, expiry, identities, refresh, answer } = await setUp(t, 'a')
    const refreshed = assert.rejects(refresh('new'), { code: 'unavailable' })
    await settle()
    clock.advance(11_000)
    expiry.tick()
    expiry.tick()
    assert.equal(connection.open, false)
    await answer('new a', true)
    await refreshed
    assert.equal(connection.identity, identities.old)
    assert.equal(connection.expiresIn, 0)
  })

  test('ends when a client keeps opening other documents', async (t) => {
    const { connection, identities, join, refresh, answer } = await setUp(t, '0')
    const refreshed = assert.rejects(refresh('new'), { code: 'rate_limited' })
    for (let i = 0; i < 2 * MAX_DOCUMENTS; i++) {
      await join(`${i + 1}`)
      connection.removeDocument(`${i}`)
      await answer(`new ${i}`, true)
    }
    await refreshed
    assert.equal(connection.identity, identities.old)
  })
})
