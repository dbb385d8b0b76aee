import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { transform } from 'esbuild'
import { connect } from 'inkcast/client'
import { runBlock } from './code-blocks.js'
import { startEmbedded } from './embedded.js'
import { freePort } from '../services/ports.js'
import { SECRET, signToken } from './tokens.js'
import { waitFor } from './wait.js'

/** The gateway of a project that has installed the package, and that of this checkout. */
const [INSTALLED, HERE] = ['node_modules/inkcast/cluster.js', fileURLToPath(new URL('../../cluster.js', import.meta.url))]

/**
 * Scenarios of the code blocks in docs/how-to (test/process/package/code-blocks.test.js).
 *
 * @param {object} dependencies
 * @param {Awaited<ReturnType<typeof startEmbedded>>} dependencies.server
 * @param {(specifier: string) => Promise<unknown>} dependencies.load
 * @param {(guid: string, value: unknown, headers?: Record<string, string>) => Promise<unknown>} dependencies.publish
 * @returns {Record<string, (code: string, t: import('node:test').TestContext) => Promise<void>>}
 */
export function howToScenarios ({ server, load, publish }) {
  /**
   * Another client that has the document open.
   * @param {import('node:test').TestContext} t
   * @param {object} [options] of open
   */
  async function other (t, options) {
    const client = connect(server.url)
    t.after(() => client.close())
    return client.open('minutes', options)
  }

  return {
    'docs/how-to/another-origin-and-vite.md: https://live.example.com': async (code, t) => {
      const own = await startEmbedded(t, { AUTH_JWT_SECRET: SECRET })
      const { client } = await runBlock(
        code.replace('https://live.example.com', own.url), { fetchToken: () => signToken({ sub: 'ada' }) }, load
      )
      t.after(() => client.close())
      await client.ready
    },

    'docs/how-to/another-origin-and-vite.md: defineConfig(': async (code) => {
      const { config } = await runBlock(code.replace('export default', 'const config ='), {}, async () => ({
        defineConfig: (/** @type {unknown} */ one) => one
      }))
      assert.deepEqual(config.server.proxy, { '/socket.io': { target: server.url, ws: true } })
    },

    'docs/how-to/tokens-from-an-issuer.md: auth.getAccessToken(': async (code, t) => {
      const own = await startEmbedded(t, { AUTH_JWT_SECRET: SECRET })
      /** @type {unknown[]} */
      const asked = []
      let loggedIn = 0
      let key = SECRET
      const auth = {
        getAccessToken: ({ fresh = false }) => {
          asked.push(fresh)
          return signToken({ sub: 'ada' }, { key })
        },
        login: () => { loggedIn++ }
      }
      const good = await runBlock(code.replace(server.url, own.url), { auth }, load)
      t.after(() => good.client.close())
      await good.client.ready
      assert.deepEqual([asked, loggedIn], [[false], 0])
      key = 'another secret, which the gateway does not have, of the same length as the first one or so'
      const bad = await runBlock(code.replace(server.url, own.url), { auth }, load)
      t.after(() => bad.client.close())
      await waitFor(() => loggedIn === 1)
      assert.deepEqual(asked, [false, false, true])
    },

    'docs/how-to/tokens-from-an-issuer.md: new SignJWT(': async (code, t) => {
      const own = await startEmbedded(t, { AUTH_JWT_SECRET: SECRET })
      const { tokenFor } = await runBlock(code.replace('export ', ''), { process: { env: { AUTH_JWT_SECRET: SECRET } } }, load)
      const client = connect(own.url, { token: () => tokenFor({ id: 'ada', name: 'Ada', team: 7 }) })
      t.after(() => client.close())
      const doc = await client.open('team-7/minutes', { state: {} })
      assert.deepEqual([...doc.presence.values()].map(({ uid, name }) => [uid, name]), [['ada', 'Ada']])
      await assert.rejects(client.open('team-8/minutes'), { code: 'forbidden' })
    },

    'docs/how-to/reload-a-document.md: doc.reload()': async (code, t) => {
      /** @type {unknown[]} */
      const shown = []
      const { client } = await runBlock(code.replace('Math.random() * 5000', '0'), {
        fetch: async () => ({ json: async () => ({ content: 'loaded', position: undefined }) }),
        show: (/** @type {unknown} */ content) => { shown.push(content) },
        apply: (/** @type {unknown} */ payload) => { shown.push(payload) }
      }, load)
      t.after(() => client.close())
      await publish('minutes', 'a change')
      await publish('minutes', {}, { 'x-event': 'reload' })
      await waitFor(() => shown.length === 3, { message: () => shown })
      assert.deepEqual(shown, ['loaded', 'a change', 'loaded'])
    },

    'docs/how-to/avatars.md: state: { name': async (code, t) => {
      /** @type {any[]} */
      const shown = []
      const { client } = await runBlock(code, {
        render: (/** @type {any[]} */ people, /** @type {number} */ count) => shown.push({ people, count })
      }, load)
      t.after(() => client.close())
      const bob = await other(t, { state: { uid: 'forged', name: 'Bob', color: '#a40', picture: '/people/bob.png' } })
      await waitFor(() => shown.at(-1)?.count === 2, { message: () => shown })
      assert.ok(shown.at(-1).people.every((/** @type {any} */ { uid }) => uid !== 'forged'), 'the state replaces no uid')
      assert.deepEqual(shown.at(-1).people.map((/** @type {any} */ { name, color }) => `${name} ${color}`).sort(), ['Ada #0a7', 'Bob #a40'])
      bob.close()
      await waitFor(() => shown.at(-1)?.count === 1, { message: () => shown })
    },

    'docs/how-to/typing-indicator.md: doc.signal(': async (code, t) => {
      /** @type {string[][]} */
      const shown = []
      let type = () => {}
      const { client } = await runBlock(code, {
        render: (/** @type {string[]} */ names) => shown.push(names),
        onInput: (/** @type {() => void} */ listener) => { type = listener },
        setTimeout: (/** @type {() => void} */ end) => setTimeout(end, 500)
      }, load)
      t.after(() => client.close())
      const bob = await other(t)
      const heard = new Promise((resolve) => { bob.on('typing', resolve) })
      type()
      assert.deepEqual(await heard, { name: 'Ada' })
      bob.signal('typing', { name: 'Bob' })
      await waitFor(() => shown.at(-1)?.join() === 'Bob', { message: () => shown })
      await waitFor(() => shown.at(-1)?.length === 0, { message: () => shown })
    },

    'docs/how-to/cursors.md: doc.signal(\'cursor\', own)': async (code, t) => {
      /** @type {any[][]} */
      const shown = []
      let move = (/** @type {number} */ _x, /** @type {number} */ _y) => {}
      const { client } = await runBlock(code, {
        render: (/** @type {any[]} */ cursors) => shown.push(cursors),
        onMove: (/** @type {typeof move} */ listener) => { move = listener }
      }, load)
      t.after(() => client.close())
      const last = () => shown.at(-1)?.map(({ name, x }) => `${name} ${x}`).join()
      const bob = await other(t, { state: { name: 'Bob', color: '#a40' } })
      bob.signal('cursor', { x: 1, y: 1 })
      await waitFor(() => last() === 'Bob 1', { message: () => shown })
      move(5, 5)
      const [place] = await new Promise((resolve) => { bob.on('cursor', (...args) => resolve(args)) })
      assert.deepEqual(place, { x: 5, y: 5 })
      // a member who comes later sees a cursor that rests
      const eve = await other(t, { state: { name: 'Eve', color: '#04a' } })
      const seen = new Promise((resolve) => { eve.on('cursor', resolve) })
      assert.deepEqual(await seen, { x: 5, y: 5 })
      bob.close()
      await waitFor(() => last() === '', { message: () => shown })
    },

    'docs/how-to/confirmations.md: acknowledge?.()': async (code, t) => {
      /** @type {any[]} */
      const events = []
      const service = createServer(async (req, res) => {
        for await (const chunk of req) events.push(...JSON.parse(chunk))
        res.end()
      }).listen(await freePort())
      t.after(() => service.close())
      const { port } = /** @type {import('node:net').AddressInfo} */ (service.address())
      const own = await startEmbedded(t, { UPLINK_URL: `http://127.0.0.1:${port}` })
      const client = connect(own.url)
      t.after(() => client.close())
      const doc = await client.open('minutes')
      const shown = new Promise((resolve) => { runBlock(code, { doc, show: resolve }, load) })
      await own.post('/v1/documents/minutes/broadcast', { text: 'at 3' }, { 'x-event': 'notice', 'x-receipt': 'true' })
      assert.equal(await shown, 'at 3')
      const receipt = await waitFor(() => events.find(({ operator }) => operator === 'receipt'), { message: () => events })
      assert.deepEqual([receipt.event, receipt.data.delivered, receipt.data.acknowledged], ['notice', 1, 1])
    },

    'docs/how-to/confirmations.md: event: \'confirm\', queue': async (code, t) => {
      const port = await freePort()
      const own = await startEmbedded(t, { AUTH_JWT_SECRET: SECRET, UPLINK_URL: `http://127.0.0.1:${port}` })
      const page = readFileSync(new URL('../../docs/how-to/confirmations.md', import.meta.url), 'utf8')
      const service = /** @type {RegExpExecArray} */ (/```js\n(import \{ createServer[^]*?)```/.exec(page))[1]
      await runBlock(service.replace('4000', String(port)), {}, async () => ({
        createServer: (/** @type {any} */ listener) => {
          const created = createServer(listener)
          t.after(() => created.close())
          return created
        }
      }))
      /** @type {string[][]} */
      const shown = []
      for (const user of ['ada', 'bob']) {
        const { client } = await runBlock(code.replace(server.url, own.url).replace('ada', user), {
          fetchToken: () => signToken({ sub: user }),
          ask: (/** @type {string} */ _text, /** @type {() => void} */ confirm) => confirm(),
          showMissing: (/** @type {string} */ _notice, /** @type {string[]} */ missing) => shown.push(missing)
        }, load)
        t.after(() => client.close())
      }
      await own.post('/v1/documents/minutes/broadcast', { id: 'notice-1', text: 'at 3' }, { 'x-event': 'notice' })
      await waitFor(() => shown.length === 4, { message: () => shown })
      assert.deepEqual(shown.at(-1), ['eve'])
    },

    'docs/how-to/confirmations.md: const missing = new Map(': async (code) => {
      await transform(code) // the scenario of the page runs it
    },

    'docs/how-to/test-your-page.md: webServer: [': async (code) => {
      const { config } = await runBlock(code.replace('export default', 'const config ='), {}, async () => ({
        defineConfig: (/** @type {unknown} */ one) => one
      }))
      const [{ command, url }] = config.webServer
      assert.equal(command, 'npx inkcast')
      assert.equal((await fetch(url)).status, 200)
    },

    'docs/how-to/test-your-page.md: request.post(': async (code) => { await transform(code) },

    'docs/how-to/test-your-page.md: async function startGateway': async (code, t) => {
      const { startGateway } = await runBlock(code.replace('export ', '').replace(INSTALLED, HERE), {}, load)
      const { url, api, stop } = await startGateway()
      t.after(stop)
      assert.deepEqual([(await fetch(`${url}/health`)).status, (await fetch(`${api}/overview`)).status], [200, 200])
    },

    'docs/how-to/test-your-page.md: await startGateway()': async (code, t) => {
      const own = await startEmbedded(t)
      /** @type {(() => Promise<void>)[]} */
      const tests = []
      await runBlock(code, {}, async (specifier) => {
        if (specifier === './gateway.js')
          return { startGateway: async () => ({ url: own.url, api: `${own.apiUrl}/v1`, stop () {} }) }
        return specifier !== 'node:test' ? load(specifier) : {
          after: (/** @type {() => void} */ stop) => t.after(stop),
          test: (/** @type {any[]} */ ...[, , run]) => tests.push(() => run(t))
        }
      })
      assert.equal(tests.length, 1)
      for (const run of tests) await run()
    },

    'docs/how-to/notifications.md: => show(note)': async (code, t) => {
      const own = await startEmbedded(t, { AUTH_JWT_SECRET: SECRET })
      /** @type {unknown[]} */
      const shown = []
      const { client } = await runBlock(code.replace(server.url, own.url), {
        fetchToken: () => signToken({ sub: 'ada' }),
        sessionStorage: undefined,
        show: (/** @type {unknown} */ note) => shown.push(note),
        reloadNotifications: () => {}
      }, load)
      t.after(() => client.close())
      await client.ready
      const headers = { 'x-event': 'note', 'x-keep': 'true' }
      await own.post('/v1/users/ada/send', 'first', headers)
      await waitFor(() => shown.length === 1)
      client.drop(300)
      await own.post('/v1/users/ada/send', 'while disconnected', headers)
      await waitFor(() => shown.length === 2)
      assert.deepEqual(shown, ['first', 'while disconnected'])
    },

    'docs/how-to/notifications.md: navigator.locks': async (code, t) => {
      const own = await startEmbedded(t, { AUTH_JWT_SECRET: SECRET })
      /** The locks of a browser, kept by tabs that stay open. @type {Set<string>} */
      const taken = new Set()
      const locks = {
        /** @param {string} name @param {object} options @param {(lock: object | null) => unknown} take */
        request (name, options, take) {
          assert.deepEqual(options, { ifAvailable: true })
          const lock = taken.has(name) ? null : { name }
          taken.add(name)
          take(lock)
        }
      }
      /** @type {string[]} */
      const seen = []
      /** @type {import('inkcast/client').Client[]} */
      const tabs = []
      for (const tab of [1, 2]) {
        const client = connect(own.url, { token: () => signToken({ sub: 'ada' }) })
        t.after(() => client.close())
        await runBlock(code, {
          client,
          navigator: { locks },
          addToList: (/** @type {string} */ note) => seen.push(`${note} listed in ${tab}`),
          popUp: (/** @type {string} */ note) => seen.push(`${note} shown`)
        }, load)
        await client.ready
        tabs.push(client)
      }
      const send = (/** @type {string} */ note) =>
        own.post('/v1/users/ada/send', note, { 'x-event': 'note', 'x-keep': 'true' })
      await send('a')
      await waitFor(() => seen.length === 3, { message: () => seen })
      tabs[0].close()
      await send('b')
      await waitFor(() => seen.length === 5, { message: () => seen })
      assert.deepEqual(seen.sort(), ['a listed in 1', 'a listed in 2', 'a shown', 'b listed in 2', 'b shown'])
    },

    'docs/how-to/from-pusher.md: onInput(': async (code, t) => {
      /** @type {unknown[]} */
      const applied = []
      let type = () => {}
      const { client } = await runBlock(code, {
        fetchToken: () => undefined,
        apply: (/** @type {unknown} */ change) => applied.push(change),
        reload: () => {},
        onInput: (/** @type {() => void} */ listener) => { type = listener }
      }, load)
      t.after(() => client.close())
      const bob = await other(t)
      const heard = new Promise((resolve) => { bob.on('typing', resolve) })
      type()
      assert.deepEqual(await heard, { name: 'Ada' })
      await publish('minutes', { line: 1 }, { 'x-event': 'edit' })
      await waitFor(() => applied.length === 1)
    },

    'docs/how-to/from-centrifugo.md: position: stored': async (code, t) => {
      await publish('minutes', 'before')
      const { position } = await (await fetch(`${server.apiUrl}/v1/documents/minutes/position`)).json()
      await publish('minutes', 'missed')
      /** @type {unknown[]} */
      const applied = []
      const { client } = await runBlock(code, {
        fetchToken: () => undefined,
        stored: position,
        apply: (/** @type {unknown} */ data, /** @type {any} */ { offset }) => applied.push([data, offset]),
        reload: () => {}
      }, load)
      t.after(() => client.close())
      await waitFor(() => applied.length === 1)
      assert.deepEqual(applied, [['missed', position.offset + 1]])
    }
  }
}
