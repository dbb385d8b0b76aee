import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { callersFile } from '../../helpers/callers-file.js'
import { connectClient } from '../../helpers/clients.js'
import { codeBlocks } from '../../helpers/code-blocks.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { holdableTime } from '../../helpers/held-time.js'
import { SECRET, signToken } from '../../helpers/tokens.js'

/** Tenants in a whole inkcast, with the callers file of docs/tenants.md. */

const [example] = codeBlocks().filter(({ file, language }) => file === 'docs/tenants.md' && language === 'json')
const OPERATOR = { name: 'operator', tokens: [{ text: 'operator-token-of-this-test' }], operators: ['*'], operations: ['*'] }
const TENANTS = { acme: { connections: 2, events: 50, publications: 20 }, globex: {} }

describe('tenants', () => {
  /** @type {(() => unknown)[]} */
  const ends = []
  const scope = /** @type {import('node:test').TestContext} */ (
    /** @type {unknown} */ ({ after: (/** @type {() => unknown} */ end) => { ends.unshift(end) } }))
  const time = holdableTime(scope)
  /** @type {Awaited<ReturnType<typeof startEmbedded>>} */
  let inkcast
  before(async () => {
    const { callers } = JSON.parse(example.code)
    const { path } = callersFile(scope, { callers: [...callers, OPERATOR] })
    inkcast = await startEmbedded(scope, {
      TENANTS: JSON.stringify(TENANTS), AUTH_JWT_SECRET: SECRET, API_CALLERS_FILE: path
    }, undefined, { clock: time.clock })
  })
  after(async () => { for (const end of ends) await end() })

  /** @param {import('node:test').TestContext} t @param {Record<string, unknown>} claims */
  const connect = async (t, claims) => connectClient(t, inkcast.url, { auth: { token: await signToken(claims) } })
  /** @param {string} path @param {string} [token] */
  const publish = (path, token = 'acme-token-for-this-machine') =>
    inkcast.post(path, { n: 1 }, { authorization: `Bearer ${token}` })
  /** @param {any} client @param {string} guid @returns {Promise<string>} `ok`, or the code */
  const join = async (client, guid) => {
    const { ok, error } = await client.ask('doc:join', { guid })
    return ok ? 'ok' : error.code
  }

  test('clients and callers have documents and users of their tenant only', async (t) => {
    const ada = await connect(t, { sub: 'acme/ada', tenant: 'acme' })
    const guest = await connect(t, { sub: 'guest', documents: [{ guid: 'acme/*', access: 'write' }, { guid: 'plan', access: 'write' }] })
    const eve = await connect(t, { sub: 'globex/eve', tenant: 'globex', documents: [{ guid: '*', access: 'write' }] })
    assert.deepEqual(
      await Promise.all(['acme/plan', 'globex/plan', 'plan', 'acme'].map((guid) => join(ada, guid))),
      ['ok', 'forbidden', 'forbidden', 'forbidden'])
    assert.deepEqual([await join(guest, 'acme/plan'), await join(guest, 'plan')], ['forbidden', 'ok'])
    assert.deepEqual([await join(eve, 'acme/plan'), await join(eve, 'globex/plan')], ['forbidden', 'ok'])
    assert.equal((await eve.ask('doc:send', { guid: 'acme/plan', data: 1 })).ok, false)

    const change = ada.next('message')
    assert.equal((await publish('/v1/documents/acme%2Fplan/broadcast')).status, 202)
    await change
    for (const path of ['/v1/documents/globex%2Fplan/broadcast', '/v1/documents/plan/broadcast', '/v1/users/globex%2Feve/send',
      '/v1/broadcast', `/v1/sockets/${ada.id}/send`]) assert.equal((await publish(path)).status, 403, path)
    assert.equal((await publish('/v1/documents/globex%2Fplan/broadcast', 'operator-token-of-this-test')).status, 202)
    // a service of the operator does not mix them either
    const opened = await publish('/v1/users/globex%2Feve/documents/acme%2Fplan', 'operator-token-of-this-test')
    assert.equal(opened.body.connections, 0)
  })

  test('a token whose tenant and user do not fit is refused, and its text is not repeated', async (t) => {
    const long = 'x'.repeat(5000)
    for (const [sub, tenant] of [
      ['acme/ada', undefined], ['ada', 'acme'], ['acme/ada', 'globex'], ['nobody/ada', 'nobody'], ['ada', long], ['ada', 7],
      ['ada', ''], ['acme/ada', ['acme']], ['ada', '__proto__'], ['acme/ada', 'acme/'], ['acmeX/ada', 'acme']
    ]) {
      const error = await connect(t, { sub, tenant }).then(() => undefined, (error) => error)
      assert.equal(error?.data.code, 'unauthorized', `${sub} ${String(tenant).slice(0, 20)}`)
      assert.ok(error.message.length < 200 && !error.message.includes('xxxx'))
    }
    // 10,000 names are no 10,000 tenants
    for (let i = 0; i < 200; i++)
      await assert.rejects(connect(t, { sub: `t${i}/ada`, tenant: `t${i}` }), /names none of TENANTS/)
    assert.doesNotMatch(await inkcast.metrics.registry.metrics(), /tenant="(?!acme|globex)/)
  })

  test('above a budget the tenant is refused by name, and others are not', async (t) => {
    const [ada] = await Promise.all(['ada', 'bob'].map((name) => connect(t, { sub: `acme/${name}`, tenant: 'acme' })))
    const refused = await connect(t, { sub: 'acme/eve', tenant: 'acme' }).then(() => undefined, (error) => error)
    assert.equal(refused.data.code, 'too_many_connections')
    assert.match(refused.message, /tenant acme/)
    const eve = await connect(t, { sub: 'globex/eve', tenant: 'globex' })
    time.hold()
    t.after(time.goOn)
    const answers = await Promise.all(Array.from({ length: 150 }, () => ada.ask('doc:leave', { guid: 'acme/plan' })))
    const limited = answers.filter(({ ok, error }) => !ok && error.code === 'rate_limited')
    assert.ok(limited.length >= 50 && limited.length < 150, `${limited.length} of 150`)
    assert.match(limited[0].error.message, /tenant acme/)
    for (let i = 0; i < 60; i++)
      assert.notEqual((await eve.ask('doc:leave', { guid: 'globex/plan' })).error?.code, 'rate_limited')

    const publications = Array.from({ length: 200 }, (_, i) => ({ operator: 'broadcast', guid: `acme/${i}`, value: i }))
    const { body } = await inkcast.post(
      '/v1/publish', { publications }, { authorization: 'Bearer acme-token-for-this-machine' }
    )
    const over = body.results.filter((/** @type {any} */ { error }) => error?.code === 'rate_limited')
    assert.ok(over.length >= 160 && over.length < 200, `${over.length} of 200: ${JSON.stringify(body).slice(0, 200)}`)
    assert.match(over[0].error.message, /tenant acme/)
    for (const budget of ['connections', 'events', 'publications'])
      assert.match(await inkcast.metrics.registry.metrics(), new RegExp(`inkcast_tenant_refused_total\\{.*"acme".*"${budget}"`))
  })
})
