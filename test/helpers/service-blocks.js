import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { connect } from 'inkcast/client'
import { freePort } from '../services/ports.js'
import { runBlock } from './code-blocks.js'
import { startEmbedded } from './embedded.js'
import { waitFor } from './wait.js'
import { tokenScenarios } from './token-blocks.js'
import { SECRET } from './webhook-service.js'

/**
 * Scenarios of code blocks (test/process/package/code-blocks.test.js) with a service or a store of their own.
 *
 * @param {object} dependencies
 * @param {Awaited<ReturnType<typeof startEmbedded>>} dependencies.server
 * @param {(specifier: string) => Promise<unknown>} dependencies.load
 * @param {(guid: string, value: unknown) => Promise<unknown>} dependencies.publish
 * @returns {Record<string, (code: string, t: import('node:test').TestContext) => Promise<void>>}
 */
export const serviceScenarios = ({ server, load, publish }) => ({
  ...tokenScenarios,

  'docs/client.md: show(\'reconnecting…\')': async (code, t) => {
    /** @type {string[]} */
    const seen = []
    const see = (/** @type {string} */ text) => { seen.push(text) }
    const { client } = await runBlock(
      code.replace('10_000', '300'),
      {
        show: see,
        apply: see,
        async loadAgain () {
          see('resync')
          await new Promise((resolve) => setTimeout(resolve, 100))
          see('loaded again')
        }
      },
      load
    )
    t.after(() => client.close())
    await waitFor(() => seen.length === 1, { message: () => seen })
    const lost = async () => {
      client.drop(1000)
      await waitFor(() => client.state === 'reconnecting')
    }
    await lost()
    await publish('minutes', 'missed')
    await waitFor(() => seen.length === 5, { message: () => seen })
    await lost()
    await publish('minutes', 'trimmed')
    const { position } = await (await fetch(`${server.apiUrl}/v1/documents/minutes/position`)).json()
    await server.post('/v1/documents/minutes/cut', position)
    await waitFor(() => seen.length === 10, { message: () => seen })
    const offline = ['reconnecting…', 'offline']
    assert.deepEqual(seen, ['', ...offline, 'missed', '', ...offline, 'resync', 'loaded again', ''])
  },

  'docs/client.md: async load ({ signal })': async (code, t) => {
    /** @type {unknown[]} */
    const shown = []
    await publish('minutes', { text: 'first' })
    const { position } = await (await fetch(`${server.apiUrl}/v1/documents/minutes/position`)).json()
    const { client } = await runBlock(code, {
      fetch: async () => {
        await publish('minutes', { text: 'meanwhile' })
        return { json: async () => ({ content: 'up to first', position }) }
      },
      show: (/** @type {unknown} */ content) => shown.push(content),
      apply: (/** @type {unknown} */ payload) => shown.push(payload)
    }, load)
    t.after(() => client.close())
    await waitFor(() => shown.length === 2, { message: () => shown })
    assert.deepEqual(shown, ['up to first', { text: 'meanwhile' }])
  },

  'docs/client.md: const apply = (change': async (code, t) => {
    /** @type {unknown[][]} */
    const written = []
    const store = (/** @type {string} */ name) => ({
      add: (/** @type {unknown} */ change) => written.push([name, change]),
      put: (/** @type {{ offset: number }} */ { offset }) => written.push([name, offset])
    })
    const client = connect(server.url)
    t.after(() => client.close())
    await publish('minutes', { text: 'before' })
    const { doc } = await runBlock(code, {
      client, read: async () => undefined, db: { transaction: () => ({ objectStore: store }) }
    }, load)
    await publish('minutes', { text: 'one' })
    await waitFor(() => written.length === 3, { message: () => written })
    assert.deepEqual(written, [
      ['positions', doc.position.offset - 1], ['lines', { text: 'one' }], ['positions', doc.position.offset]
    ])
  },

  'docs/webhooks.md: webhook.verify(body': async (code, t) => {
    const port = await freePort()
    /** @type {import('node:http').Server | undefined} */
    let service
    await runBlock(code.replace('4000', String(port)), {
      console: { log () {} }, process: { env: { UPLINK_SECRETS: SECRET } }
    }, async (specifier) => specifier !== 'node:http'
      ? load(specifier)
      : { createServer: (/** @type {any} */ listener) => (service = createServer(listener)) })
    t.after(() => service?.close())
    const own = await startEmbedded(t, { UPLINK_URL: `http://127.0.0.1:${port}`, UPLINK_SECRETS: SECRET })
    const client = connect(own.url)
    t.after(() => client.close())
    const doc = await client.open('minutes', { echo: true })
    const answered = new Promise((resolve) => doc.on('edit', resolve))
    await doc.send({ text: 'hello' }, { event: 'edit' })
    const { by, text } = /** @type {any} */ (await answered)
    assert.match(by, /^anonymous:/)
    assert.equal(text, 'hello')
  }
})
