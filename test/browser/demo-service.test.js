import { before, describe, test } from 'node:test'
import { noBrowser, openDemo } from '../helpers/browser.js'
import { startDocumentService } from '../helpers/document-service.js'
import { startEmbedded } from '../helpers/embedded.js'
import { fileScope } from '../helpers/file-scope.js'
import { sharedBrowser } from '../helpers/shared-browser.js'
import { SECRET } from '../helpers/webhook-service.js'
import { freePort } from '../services/ports.js'

describe('the demo with the document service', { skip: noBrowser, timeout: 240_000 }, () => {
  const scope = fileScope()
  /** @type {Awaited<ReturnType<typeof startEmbedded>>} */
  let inkcast
  /** @type {import('playwright-core').Browser} */
  let browser
  before(async () => {
    const [port, receiver] = [await freePort(), await freePort()]
    inkcast = await startEmbedded(scope, {
      EXTENSION_DEMO_DOCUMENTS_URL: `http://127.0.0.1:${port}`,
      UPLINK_URL: `http://127.0.0.1:${receiver}`,
      UPLINK_SECRETS: SECRET
    })
    await startDocumentService(scope, { port, apiUrl: inkcast.apiUrl, webhook: { port: receiver, secret: SECRET } })
    browser = await sharedBrowser()
  }, { timeout: 120_000 })

  test('a reset and two people in one cell go through the document service', async (t) => {
    const document = 'reset'
    const [ada, grace] = [
      await openDemo(t, browser, inkcast.url, { document, name: 'Ada' }),
      await openDemo(t, browser, inkcast.url, { document, name: 'Grace' })
    ]
    await ada.field('B7').focus()
    await grace.field('B7').focus()
    await ada.page.keyboard.type('Ada')
    await grace.shows('B7', 'Ada')
    await grace.page.keyboard.type('Grace')
    await ada.reads('[data-conflict="B7"]', /Grace also writes here.*Grace.*in the sheet/)
    await ada.page.click('text=Use theirs')
    await ada.shows('B7', 'Grace')
    await ada.page.click('#reset')
    await ada.page.click('#reset')
    for (const page of [ada, grace]) await page.shows('B7', '')
    await grace.reads('#version', /^[1-9]/)
  })
})
