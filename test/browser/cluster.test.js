import { randomUUID } from 'node:crypto'
import { before, describe, test } from 'node:test'
import { noBrowser, openDemo } from '../helpers/browser.js'
import { startCluster } from '../helpers/cluster.js'
import { startDocumentService } from '../helpers/document-service.js'
import { redisUrl } from '../helpers/env.js'
import { fileScope } from '../helpers/file-scope.js'
import { freshTopics } from '../helpers/kafka.js'
import { childrenOf } from '../helpers/processes.js'
import { sharedBrowser } from '../helpers/shared-browser.js'
import { freePort } from '../services/ports.js'

describe('the demo with a cluster, Kafka and the document service', { skip: noBrowser, timeout: 540_000 }, () => {
  const scope = fileScope()
  /** @type {Awaited<ReturnType<typeof startCluster>>} */
  let inkcast
  /** @type {import('playwright-core').Browser} */
  let browser
  before(async () => {
    const topics = freshTopics(scope)
    const port = await freePort()
    inkcast = await startCluster(scope, {
      WORKERS: '2',
      REDIS_URL: redisUrl(),
      EXTENSION_DEMO_DOCUMENTS_URL: `http://127.0.0.1:${port}`,
      ...topics.env
    })
    await startDocumentService(scope, { port, apiUrl: inkcast.apiUrl, kafka: topics.env })
    browser = await sharedBrowser()
  }, { timeout: 360_000 })

  test('when workers are killed, pages reconnect by themselves and miss nothing', async (t) => {
    const document = `killed-${randomUUID()}`
    const options = { document, mayComplain: /ERR_CONNECTION|WebSocket|503/ }
    const [ada, grace] = [
      await openDemo(t, browser, inkcast.url, { ...options, name: 'Ada' }),
      await openDemo(t, browser, inkcast.url, { ...options, name: 'Grace' })
    ]
    await grace.reads('#people', /^A, Ada: follow$/)
    await ada.type('A8', 'before')
    await grace.shows('A8', 'before')
    for (const { pid, role } of await childrenOf(inkcast.pid)) if (role === 'gateway') process.kill(pid, 'SIGKILL')
    await Promise.all([ada, grace].map((page) => page.reads('#state-text', /reconnecting/)))
    await ada.type('B8', 'meanwhile')
    await grace.shows('B8', 'meanwhile')
    await grace.type('B8', ', and after')
    await ada.shows('B8', 'meanwhile, and after')
    await ada.reads('#joined', /resumed/)
    await ada.screenshot('cluster')
  })

  test('a reset and two people in one cell go through the document service', async (t) => {
    const document = `reset-${randomUUID()}`
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
