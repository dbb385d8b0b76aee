import assert from 'node:assert/strict'
import { connect } from 'inkcast-client'
import { InkcastProvider } from 'inkcast-yjs'
import * as Y from 'yjs'
import { runBlock } from './code-blocks.js'
import { startEmbedded } from './embedded.js'
import { waitFor } from './wait.js'
import { startYjsService, yjsGateway } from './yjs-service.js'

/** Stands for y-indexeddb, with an edit of an earlier session. */
class IndexeddbPersistence {
  /** @param {string} _name @param {Y.Doc} doc */
  constructor (_name, doc) {
    this.whenSynced = new Promise((resolve) => setTimeout(() => {
      doc.getText('text').insert(0, 'stored')
      resolve(this)
    }, 100))
  }
}

/** A gateway with its service. @param {import('node:test').TestContext} t */
async function start (t) {
  const { port, env } = await yjsGateway()
  const gateway = await startEmbedded(t, env)
  return { gateway, service: await startYjsService(t, { apiUrl: gateway.apiUrl, port }) }
}

/**
 * Scenarios of the JavaScript blocks of docs/yjs.md.
 *
 * @param {object} dependencies
 * @param {{ url: string }} dependencies.server
 * @param {(specifier: string) => Promise<unknown>} dependencies.load
 * @returns {Record<string, (code: string, t: import('node:test').TestContext) => Promise<void>>}
 */
export const yjsScenarios = ({ server, load }) => ({
  'docs/yjs.md: new EditorView': async (code, t) => {
    const { gateway, service } = await start(t)
    /** @type {any[]} */
    const views = []
    class EditorView { constructor (/** @type {unknown} */ options) { views.push(options) } }
    const here = async (/** @type {string} */ specifier) =>
      specifier === 'codemirror' ? { EditorView, basicSetup: [] } : load(specifier)
    const { client, provider, text } = await runBlock(
      code.replaceAll(server.url, gateway.url), { document: { body: {} } }, here)
    t.after(() => { provider.destroy(); client.close() })
    assert.equal(views[0].extensions.length, 2)
    text.insert(0, 'hello')
    await waitFor(async () => await service.text('minutes') === 'hello', { message: () => service.output() })
  },

  'docs/yjs.md: new IndexeddbPersistence': async (code, t) => {
    const { gateway, service } = await start(t)
    const [client, doc] = [connect(gateway.url), new Y.Doc()]
    const { provider } = await runBlock(code, { IndexeddbPersistence, InkcastProvider, client, doc }, load)
    t.after(() => { provider.destroy(); client.close() })
    await waitFor(async () => await service.text('minutes') === 'stored', { message: () => service.output() })
  },

  'docs/yjs.md: export default ({ guid, uid, update': async (code) => {
    const { default: hook } = await import(`data:text/javascript,${encodeURIComponent(code)}`)
    assert.equal(hook({ update: new Uint8Array(10) }), undefined)
    assert.equal(hook({ update: new Uint8Array(100_001) }), 'This is too much at once')
  }
})
