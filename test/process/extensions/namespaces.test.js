import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { createSigner } from 'fast-jwt'
import { startEmbedded } from '../../helpers/embedded.js'
import { rawWebSocket } from '../../helpers/raw-client.js'
import { waitFor } from '../../helpers/wait.js'

const SECRET = 'a secret for tests of namespaces, 32 characters'
const sign = createSigner({ key: SECRET })
const TOKEN = sign({ sub: 'ada' })
/** Middlewares wait, and refuse, as the token's name says: `<namespace>=<ms>` or `<namespace>=no`. */
const CODE = `
  import { setTimeout as delay } from 'node:timers/promises'
  export default ({ io }) => {
    for (const name of ['/', '/a', '/b']) {
      io.of(name).use(async (socket, next) => {
        const { [name]: wish } = Object.fromEntries(new URLSearchParams(socket.data.name ?? ''))
        if (wish === 'no') return next(new Error('no'))
        if (wish !== undefined) await delay(Math.abs(wish))
        next(wish < 0 ? new Error('no') : undefined)
      })
      io.of(name).on('connection', (socket) => { socket.on('alive', (answer) => answer(name)) })
    }
  }`

/** @param {import('node:test').TestContext} t @param {Record<string, string>} [env] */
async function setUp (t, env = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'inkcast-'))
  t.after(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'wishes.mjs'), CODE)
  const server = await startEmbedded(t, {
    EXTENSIONS: join(folder, 'wishes.mjs'), AUTH_JWT_SECRET: SECRET, MAX_CONNECTIONS_PER_USER: '1', ...env
  })
  return {
    server,
    client: () => rawWebSocket(t, server.url),
    /** Nothing is left of any client: with a limit of one connection, a user who is still counted could not connect. */
    async nothingLeft () {
      const { engine } = server.gateway
      await waitFor(() => engine.clientsCount === 0, { message: () => engine.clientsCount })
      assert.equal(server.gateway.connections, 0)
      const another = await rawWebSocket(t, server.url)
      another.send(`40{"token":"${TOKEN}"}`)
      await another.text(/^40\{/)
      another.ws.terminate()
    }
  }
}

const connect = (/** @type {string} */ path, token = TOKEN) => `40${path === '/' ? '' : `${path},`}{"token":"${token}"}`
const wish = (/** @type {Record<string, string | number>} */ wishes) =>
  sign({ sub: 'ada', name: String(new URLSearchParams(/** @type {any} */ (wishes))) })
/** @param {Awaited<ReturnType<typeof rawWebSocket>>} client @param {string} path */
async function alive (client, path) {
  const prefix = path === '/' ? '' : `${path},`
  client.send(`42${prefix}7["alive"]`)
  assert.equal(String(await client.text(new RegExp(`^43${prefix}7`))), `43${prefix}7["${path}"]`)
}

describe('namespaces of one client', () => {
  test('each asks for the token, unless the client is in another one', async (t) => {
    const { client, nothingLeft } = await setUp(t)
    const one = await client()
    one.send('40/a,{}')
    assert.match(String(await one.text(/^44\/a/)), /"code":"unauthorized"/)
    one.send(connect('/a'))
    await one.text(/^40\/a/)
    one.send('40/b,')
    await one.text(/^40\/b/)
    await alive(one, '/b')
    one.ws.terminate()
    await nothingLeft()
  })

  for (const first of ['/', '/a']) {
    test(`each checks the token that it gets: another user's is refused, after ${first} and beside it`, async (t) => {
      const { client, nothingLeft, server } = await setUp(t)
      const one = await client()
      const codes = () => one.received.flatMap((data) => /^44\/b.*"code":"(\w+)"/.exec(String(data))?.[1] ?? [])
      one.send(connect(first))
      one.send(connect('/b', sign({ sub: 'bob' })))
      await waitFor(() => codes().length === 1)
      await one.text(first === '/' ? /^40\{/ : /^40\/a/)
      one.send(connect('/b', sign({ sub: 'bob' })))
      await waitFor(() => codes().length === 2)
      one.send(connect('/b', 'invalid'))
      await waitFor(() => codes().length === 3)
      assert.deepEqual(codes(), ['forbidden', 'forbidden', 'unauthorized'])
      one.send(connect('/b', sign({ sub: 'ada', name: 'another token' })))
      await one.text(/^40\/b/)
      await alive(one, '/b')
      assert.equal(server.gateway.connections, 1)
      one.ws.terminate()
      await nothingLeft()
    })
  }

  for (const order of [['/', '/a', '/b'], ['/a', '/', '/b'], ['/a', '/b', '/']]) {
    test(`connect in any order, and leave in any order: ${order}`, async (t) => {
      const { client, nothingLeft, server } = await setUp(t)
      for (const leaving of [order, [...order].reverse()]) {
        const one = await client()
        for (const path of order) one.send(connect(path))
        await waitFor(() => one.received.filter((data) => /^40(?:\/|\{"sid")/.test(String(data))).length === 3, {
          message: () => one.received.map(String)
        })
        assert.equal(server.gateway.connections, 1)
        for (const path of order) await alive(one, path)
        for (const [i, path] of leaving.entries()) {
          one.send(`41${path === '/' ? '' : `${path},`}`)
          for (const other of leaving.slice(i + 1)) await alive(one, other)
        }
        await one.closed
        await nothingLeft()
      }
    })
  }

  for (const [what, wishes, connected] of /** @type {[string, Record<string, string | number>, string[]][]} */ ([
    ['the first is slow', { '/a': 100 }, ['/', '/a', '/b']],
    ['the main one is slow', { '/': 100 }, ['/', '/a', '/b']],
    ['the first is refused', { '/a': 'no' }, ['/', '/b']],
    ['the main one is refused', { '/': 'no' }, ['/a', '/b']],
    ['the first is refused late', { '/a': -100, '/': 300 }, ['/', '/b']],
    ['the main one is refused late', { '/': -100 }, ['/a', '/b']],
    ['only the last is connected', { '/a': -50, '/': -100 }, ['/b']]
  ])) {
    test(`are independent: ${what}`, async (t) => {
      const { client, nothingLeft, server } = await setUp(t)
      const one = await client()
      for (const path of ['/a', '/', '/b']) one.send(connect(path, wish(wishes)))
      const answers = () => one.received.map(String).filter((text) => /^4[04]/.test(text))
      await waitFor(() => answers().length === 3, { message: () => answers() })
      assert.equal(answers().filter((text) => text.startsWith('40')).length, connected.length, String(answers()))
      await delay(50)
      assert.equal(server.gateway.connections, 1)
      for (const path of connected) await alive(one, path)
      assert.equal(server.gateway.engine.inputLimits.isEarly([...server.gateway.engine.sessions()][0]), false)
      one.ws.terminate()
      await nothingLeft()
    })
  }

  test('a refused client may try again on the same connection', async (t) => {
    const { client, nothingLeft } = await setUp(t)
    for (const path of ['/', '/a']) {
      const one = await client()
      const prefix = path === '/' ? '\\{' : path
      one.send(connect(path, wish({ [path]: 'no' })))
      await one.text(new RegExp(`^44${prefix}`))
      one.send(connect(path))
      await one.text(new RegExp(`^40${prefix}`))
      await alive(one, path)
      one.ws.terminate()
      await nothingLeft()
    }
  })

  test('a second one that the tenant has no room for takes nothing from other connections of the user', async (t) => {
    const { client, server } = await setUp(t, {
      MAX_CONNECTIONS_PER_USER: '0', TENANTS: '{"acme":{"connections":2}}'
    })
    const claims = { sub: 'acme/ada', tenant: 'acme' }
    const [other, one] = [await client(), await client()]
    other.send(connect('/', sign(claims)))
    await other.text(/^40\{/)
    const token = sign({ ...claims, name: '/a=200' })
    one.send(connect('/a', token))
    one.send(connect('/b', token))
    await one.closed
    await waitFor(() => server.gateway.connections === 1)
    assert.equal(server.gateway.users.count('acme/ada'), 1)
    const answer = await fetch(`${server.apiUrl}/v1/users/acme%2Fada/connections`, { method: 'DELETE' })
    assert.equal(answer.status, 202)
    assert.match(String(await other.text(/^42\["gateway:disconnect"/)), /"code":"kicked"/)
  })

  test('one is counted for its tenant although the first was refused', async (t) => {
    const { client, server } = await setUp(t, { TENANTS: '{"acme":{"connections":1}}' })
    const token = sign({ sub: 'acme/ada', tenant: 'acme', name: '/a=-20&/b=100' })
    const one = await client()
    one.send(connect('/a', token))
    one.send(connect('/b', token))
    await one.text(/^44\/a/)
    await one.text(/^40\/b/)
    await alive(one, '/b')
    assert.equal(server.gateway.users.count('acme/ada'), 1)
    one.ws.terminate()
    await waitFor(() => !server.gateway.users.has('acme/ada'))
  })

  test('a connection that ends while a middleware decides leaves nothing', async (t) => {
    const { client, nothingLeft } = await setUp(t)
    for (const path of ['/', '/a']) {
      const one = await client()
      one.send(connect(path, wish({ [path]: 200 })))
      one.send(connect('/b'))
      await delay(50)
      one.ws.terminate()
      await delay(250)
      await nothingLeft()
    }
  })
})

describe('a client in a namespace of an extension only', () => {
  test('ends with a kick, with its token, and at a drain, and knows why', async (t) => {
    const { client, server, nothingLeft } = await setUp(t, { MAX_CONNECTIONS_PER_USER: '0' })
    const kicked = await client()
    kicked.send(connect('/a'))
    await kicked.text(/^40\/a/)
    const answer = await fetch(`${server.apiUrl}/v1/users/ada/connections`, { method: 'DELETE' })
    assert.equal(answer.status, 202)
    assert.match(String(await kicked.text(/^42\/a,\["gateway:disconnect"/)), /"code":"kicked"/)
    await kicked.closed
    // on a busy machine a token may expire before it is admitted
    const expiring = /** @type {typeof kicked} */ (await waitFor(async () => {
      const one = await client()
      one.send(connect('/a', sign({ sub: 'ada', exp: Math.floor(Date.now() / 1000) + 4 })))
      const isAdmitted = (await one.text(/^4[04]\/a/)).startsWith('40')
      if (!isAdmitted) one.ws.terminate()
      return isAdmitted ? one : undefined
    }, { timeout: 20_000 }))
    assert.match(String(await expiring.text(/^42\/a,\["gateway:disconnect"/)), /"code":"token_expired"/)
    await expiring.closed
    await nothingLeft()
    const last = await client()
    last.send(connect('/a'))
    await last.text(/^40\/a/)
    const stopped = server.stop()
    await last.text(/^42\/a,\["gateway:draining"/)
    await last.closed
    await stopped
  })
})
