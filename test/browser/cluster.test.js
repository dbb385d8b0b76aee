import { before, describe, test } from 'node:test'
import { noBrowser, openDemo, startBrowser } from '../helpers/browser.js'
import { startCluster } from '../helpers/cluster.js'
import { startDocumentService } from '../helpers/document-service.js'
import { redisUrl } from '../helpers/env.js'
import { fileScope } from '../helpers/file-scope.js'
import { freshTopics } from '../helpers/kafka.js'
import { childrenOf } from '../helpers/processes.js'
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
      DEMO_DOCUMENTS_URL: `http://127.0.0.1:${port}`,
      ...topics.env
    })
    await startDocumentService(scope, { port, apiUrl: inkcast.apiUrl, kafka: topics.env })
    browser = await startBrowser(scope)
  }, { timeout: 360_000 })

  test('when workers are killed, pages reconnect by themselves and miss nothing', async (t) => {
    const document = 'killed'
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
})
