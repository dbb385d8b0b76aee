import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import http from 'node:http'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { noBrowser, startBrowser } from '../helpers/browser.js'
import { startEmbedded } from '../helpers/embedded.js'
import { storeContract } from '../helpers/outbox-store.js'
import { waitFor } from '../helpers/wait.js'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

describe('the outbox in a browser', { skip: noBrowser }, () => {
  /** @type {Awaited<ReturnType<typeof startBrowser>>} */
  let browser
  let url = ''
  /** @type {(() => unknown)[]} */
  const stops = []
  const suite = { after: (/** @type {() => unknown} */ stop) => { stops.unshift(stop) } }
  after(async () => { for (const stop of stops) await stop() })

  before(async () => {
    browser = await startBrowser(suite)
    const { outputFiles } = await build({
      stdin: {
        contents: `
          import { connect } from './client/index.js'
          import { indexedDbStore } from './client/outbox/indexed-db.js'
          import { storeContract } from './test/helpers/outbox-store.js'
          Object.assign(window, { connect, indexedDbStore, storeContract })`,
        resolveDir: ROOT
      },
      bundle: true, write: false, format: 'esm', logLevel: 'silent'
    })
    const server = http.createServer((req, res) => {
      const script = req.url === '/page.js'
      res.setHeader('content-type', script ? 'text/javascript' : 'text/html')
      res.end(script ? outputFiles[0].text : '<!doctype html><html lang="en"><title>outbox</title>' +
        '<link rel="icon" href="data:,"><script type="module" src="/page.js"></script></html>')
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    suite.after(() => {
      server.close()
      server.closeAllConnections()
    })
    url = `http://localhost:${/** @type {import('net').AddressInfo} */ (server.address()).port}`
  })

  /** A browser of its own, with its own IndexedDB. @param {import('node:test').TestContext} t */
  async function person (t) {
    const context = await browser.newContext()
    t.after(() => context.close())
    return {
      async page () {
        const page = await context.newPage()
        await page.goto(url)
        await page.waitForFunction('window.connect !== undefined')
        return page
      }
    }
  }

  for (const name of Object.keys(storeContract)) {
    test(`IndexedDB ${name}`, async (t) => {
      const page = await (await person(t)).page()
      const wrong = await page.evaluate(`(async () => {
        const wrong = []
        const equal = (a, b) => {
          if (JSON.stringify(a) !== JSON.stringify(b)) wrong.push(JSON.stringify([a, b]))
        }
        await storeContract[${JSON.stringify(name)}](indexedDbStore(), equal)
        return wrong
      })()`)
      assert.deepEqual(wrong, [])
    })
  }

  /** Opens the document on a page. @param {string} gateway @param {string} guid @param {string} [then] code */
  const open = (gateway, guid, then = '') => `(async () => {
    window.client = connect('${gateway}', { outbox: { user: 'ada' } })
    window.doc = await client.open('${guid}')
    ${then}
  })()`
  const fresh = () => `doc-${randomBytes(6).toString('hex')}`

  test('edits that were queued while the gateway was gone, and the page reloaded, arrive once and in order', async (t) => {
    const guid = fresh()
    const first = await startEmbedded(t, { ALLOWED_ORIGINS: '*' })
    const { port } = new URL(first.url)
    const page = await (await person(t)).page()
    await page.evaluate(open(first.url, guid))
    await first.stop()
    // what it is worth at the end must not be a promise: they settle when the gateway is back
    await page.evaluate('for (let i = 1; i <= 50; i++) doc.send(i, { queue: true }).catch(() => {}); 0')
    await waitFor(async () => await page.evaluate('doc.pending.length') === 50)
    await page.reload()
    await page.waitForFunction('window.connect !== undefined')
    const second = await startEmbedded(t, { ALLOWED_ORIGINS: '*', PORT: port })
    await page.evaluate(open(second.url, guid, 'for (let i = 51; i <= 60; i++) doc.send(i, { queue: true })'))
    await page.waitForFunction('doc.pending.length === 0')
    const { records } = await (await fetch(`${second.apiUrl}/v1/documents/${guid}/history`)).json()
    assert.deepEqual(
      records.map((/** @type {{ value: number }} */ { value }) => value),
      Array.from({ length: 60 }, (_, i) => i + 1)
    )
  })

  test('two tabs send their own edits, and one sends those of the other after it was closed', async (t) => {
    const guid = fresh()
    const gateway = await startEmbedded(t, { ALLOWED_ORIGINS: '*' })
    const ada = await person(t)
    const [one, two] = [await ada.page(), await ada.page()]
    for (const page of [one, two]) await page.evaluate(open(gateway.url, guid))
    await one.evaluate('client.drop(600000); for (let i = 0; i < 5; i++) doc.send(`one ${i}`, { queue: true }).catch(() => {}); 0')
    await waitFor(async () => await one.evaluate('doc.pending.length') === 5)
    await two.evaluate('client.drop(10); Promise.all([1, 2, 3].map((i) => doc.send(`two ${i}`, { queue: true })))')
    const values = async () => (await (await fetch(`${gateway.apiUrl}/v1/documents/${guid}/history`)).json())
      .records.map((/** @type {{ value: string }} */ { value }) => value)
    assert.deepEqual(await values(), ['two 1', 'two 2', 'two 3'])
    await one.close()
    // the other page waits for the name of the queue, and gets it when the tab is gone
    await waitFor(async () => (await values()).length === 8, { timeout: 20_000, message: values })
    assert.deepEqual((await values()).slice(3), Array.from({ length: 5 }, (_, i) => `one ${i}`))
  })
})
