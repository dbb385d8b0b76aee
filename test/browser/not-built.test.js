import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { test } from 'node:test'
import { systemClock } from '../../src/base/common/clock.js'
import { createDocsSite } from '../../packages/demo/docs-site.js'
import { createPageFiles } from '../../packages/demo/page-files.js'
import * as inkcast from '../../src/operate/roles/demo-parts.js'
import { createLog } from '../../src/base/common/log.js'
import { listen } from '../../src/base/process/listen.js'
import { passesAxe } from '../helpers/axe.js'
import { noBrowser } from '../helpers/browser.js'
import { sharedBrowser } from '../helpers/shared-browser.js'
import { PHONE } from '../helpers/status-page.js'

const log = createLog({ level: 'silent', pretty: false, role: 'test', clock: systemClock })

test('a page of docs that are not built is accessible, light on a laptop and dark on a phone', { skip: noBrowser }, async (t) => {
  const docs = createDocsSite(inkcast, '/no-such-folder/')
  const files = createPageFiles(inkcast, { log })
  const server = createServer((req, res) => {
    if (req.url?.startsWith('/docs')) docs(req, res)
    else void files(req, res, {}, () => res.writeHead(404).end())
  })
  t.after(() => server.close())
  await listen(server, { host: '127.0.0.1', port: 0 })
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  const browser = await sharedBrowser()
  for (const options of /** @type {import('playwright-core').BrowserContextOptions[]} */ ([
    { viewport: { width: 1280, height: 800 }, colorScheme: 'light' }, { ...PHONE, colorScheme: 'dark' }
  ])) {
    const context = await browser.newContext(options)
    const page = await context.newPage()
    await page.goto(`http://127.0.0.1:${port}/docs/how-to/test-your-page.html`)
    // the rule of the page, not only that of the demo
    await page.waitForFunction('getComputedStyle(document.querySelector("pre")).borderTopWidth === "1px"')
    await passesAxe(page)
    assert.equal(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), true)
    await context.close()
  }
})
