import assert from 'node:assert/strict'
import { connect } from 'inkcast/client'
import { runBlock } from './code-blocks.js'
import { startEmbedded } from './embedded.js'
import { SECRET, signToken } from './tokens.js'
import { waitFor } from './wait.js'

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

    'docs/how-to/notifications.md: client.user.on(': async (code, t) => {
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
