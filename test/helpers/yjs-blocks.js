import assert from 'node:assert/strict'
import { connect } from 'inkcast-client'
import { InkcastProvider } from 'inkcast-yjs'
import * as Y from 'yjs'
import { runBlock } from './code-blocks.js'
import { waitFor } from './wait.js'
import { startYjsService } from './yjs-service.js'

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

/**
 * Scenarios of the JavaScript blocks of docs/yjs.md.
 *
 * @param {object} dependencies
 * @param {{ url: string, apiUrl: string }} dependencies.server
 * @param {(specifier: string) => Promise<unknown>} dependencies.load
 * @returns {Record<string, (code: string, t: import('node:test').TestContext) => Promise<void>>}
 */
export const yjsScenarios = ({ server, load }) => ({
  'docs/yjs.md: await provider.whenSynced': async (code, t) => {
    const service = await startYjsService(t, { apiUrl: server.apiUrl })
    const { client, provider, doc } = await runBlock(code.replace('http://localhost:4100', service.url), {}, load)
    t.after(() => { provider.destroy(); client.close() })
    await waitFor(async () => await service.text('minutes') === 'hello', { message: () => service.output() })
    assert.equal(doc.getText('text').toString(), 'hello')
  },

  'docs/yjs.md: new IndexeddbPersistence': async (code, t) => {
    const service = await startYjsService(t, { apiUrl: server.apiUrl })
    const [client, doc] = [connect(server.url), new Y.Doc()]
    const { provider } = await runBlock(
      code.replace('http://localhost:4100', service.url).replaceAll('minutes', 'offline'),
      { IndexeddbPersistence, InkcastProvider, client, doc },
      load
    )
    t.after(() => { provider.destroy(); client.close() })
    await waitFor(async () => await service.text('offline') === 'stored', { message: () => service.output() })
  }
})
