import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import sirv from 'sirv'
import { bundleClient } from '../../scripts/build-packages.js'
import { newTab, noBrowser } from '../helpers/browser.js'
import { startEmbedded } from '../helpers/embedded.js'
import { fileScope } from '../helpers/file-scope.js'
import { sharedBrowser } from '../helpers/shared-browser.js'
import { waitFor } from '../helpers/wait.js'

const EXAMPLES = fileURLToPath(new URL('../../examples/', import.meta.url))

describe('examples in a browser', { skip: noBrowser }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'inkcast-'))
  /** @type {Awaited<ReturnType<typeof startEmbedded>>} */
  let gateway
  /** @type {Awaited<ReturnType<typeof sharedBrowser>>} */
  let browser
  let pages = ''
  const suite = fileScope()

  // like a product: pages and bundles on a server of their own, the gateway elsewhere
  before(async () => {
    gateway = await startEmbedded(suite, { ALLOWED_ORIGINS: '*' })
    browser = await sharedBrowser()
    await bundleClient(join(folder, 'inkcast-client.min.js'))
    await build({
      entryPoints: [join(EXAMPLES, 'react', 'app.jsx')],
      bundle: true,
      jsx: 'automatic',
      outfile: join(folder, 'app.js'),
      logLevel: 'silent'
    })
    writeFileSync(
      join(folder, 'react.html'),
      '<!doctype html><html lang="en"><title>list</title><div id="root"></div><script src="app.js"></script></html>'
    )
    const [page, bundles] = [sirv(join(EXAMPLES, 'page')), sirv(folder)]
    const server = http.createServer((req, res) => page(req, res, () => bundles(req, res)))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    suite.after(() => {
      server.close()
      server.closeAllConnections()
      rmSync(folder, { recursive: true })
    })
    pages = `http://127.0.0.1:${/** @type {import('net').AddressInfo} */ (server.address()).port}`
  })

  /** @param {import('node:test').TestContext} t @param {string} path */
  async function open (t, path) {
    const page = await newTab(t, browser)
    /** @type {string[]} */
    const wrong = []
    page.on('pageerror', (error) => wrong.push(String(error)))
    page.on('console', (message) => {
      if (
        message.type() === 'error' &&
        !message.text().includes('favicon') &&
        !message.location().url.endsWith('favicon.ico')
      )
        wrong.push(message.text())
    })
    t.after(() => assert.deepEqual(wrong, []))
    await page.goto(`${pages}${path}?gateway=${encodeURIComponent(gateway.url)}`)
    await page.waitForFunction(
      () => /** @type {any} */ (globalThis).document.querySelector('[role=status]')?.textContent === 'connected'
    )
    return {
      page,
      items: () => page.locator('li').allTextContents(),
      /** @param {string} text */
      async send (text) {
        await page.fill('[name=text]', text)
        await page.click('button:enabled')
      }
    }
  }

  for (const [name, path, guid] of [
    ['a page with a script tag', '/', 'minutes'],
    ['the React hook, in strict mode', '/react.html', 'list']
  ]) {
    test(`${name} shows sent and published records`, async (t) => {
      const [one, two] = [await open(t, path), await open(t, path)]
      await one.send('from one')
      await waitFor(async () => (await two.items()).length === 1, { timeout: 20_000 })
      await two.send('from two')
      await waitFor(async () => (await one.items()).length === 2, { timeout: 20_000 })
      await gateway.post(`/v1/documents/${guid}/broadcast`, { text: 'from a service' })
      for (const { items } of [one, two]) {
        await waitFor(async () => (await items()).length === 3, { timeout: 20_000 })
        assert.deepEqual(await items(), ['from one', 'from two', 'from a service'])
      }
    })
  }
})
