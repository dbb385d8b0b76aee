import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { noBrowser } from '../helpers/browser.js'
import { serveBundled } from '../helpers/bundled-page.js'
import { startEmbedded } from '../helpers/embedded.js'
import { fileScope } from '../helpers/file-scope.js'
import { openDocument, startClient } from '../helpers/inkcast-client.js'
import { storeContract } from '../helpers/outbox-store.js'
import { sharedBrowser } from '../helpers/shared-browser.js'
import { waitFor } from '../helpers/wait.js'
import { freePort } from '../services/ports.js'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** What the page's script makes available to the functions that run in it. */
const PAGE = `
import { connect } from ${JSON.stringify(`${ROOT}client/index.js`)}
import { indexedDbStore } from ${JSON.stringify(`${ROOT}client/outbox/indexed-db.js`)}
import { storeContract } from ${JSON.stringify(`${ROOT}test/helpers/outbox-store.js`)}
Object.assign(globalThis, { connect, indexedDbStore, storeContract })
`

describe('the outbox in a browser', { skip: noBrowser, timeout: 240_000 }, () => {
  const scope = fileScope()
  /** @type {import('playwright-core').Browser} */
  let browser
  let origin = ''
  before(async () => {
    browser = await sharedBrowser()
    origin = await serveBundled(scope, PAGE)
  })

  /** @param {import('playwright-core').BrowserContext} context */
  async function openPage (context) {
    const page = await context.newPage()
    await page.goto(origin)
    await page.waitForFunction(() => 'storeContract' in globalThis)
    return page
  }

  /** @param {import('node:test').TestContext} t */
  async function startContext (t) {
    const context = await browser.newContext()
    t.after(() => context.close())
    return context
  }

  /**
   * Opens the document on a page.
   * @param {import('playwright-core').Page} page
   * @param {{ url: string, user?: string, wait?: boolean }} options wait: until it is joined
   */
  const openOn = (page, { url, user = 'ada', wait = true }) => page.evaluate(async ({ url, user, wait }) => {
    const own = /** @type {any} */ (globalThis)
    own.client = own.connect(url, { outbox: { user } })
    own.opening = own.client.open('doc').then((/** @type {any} */ doc) => { own.doc = doc })
    if (wait) await own.opening
  }, { url, user, wait })

  /**
   * Queues texts, and resolves when they are stored.
   * @param {import('playwright-core').Page} page
   * @param {string[]} texts
   */
  const queue = (page, texts) => page.evaluate(async (texts) => {
    const { doc } = /** @type {any} */ (globalThis)
    for (const text of texts) doc.send(text, { queue: true }).catch(() => {})
    const isStored = (/** @type {any} */ text) => doc.pending.some((/** @type {any} */ { data }) => data === text)
    while (!texts.every(isStored)) await new Promise((resolve) => setTimeout(resolve, 5))
  }, texts)

  /** @param {string} name @param {number} from @param {number} to */
  const texts = (name, from, to) => Array.from({ length: to - from + 1 }, (_, i) => `${name} ${from + i}`)

  /** @param {import('playwright-core').Page} page */
  const pendingOf = (page) => page.evaluate(() =>
    /** @type {any} */ (globalThis).doc.pending.map((/** @type {any} */ { data }) => data))

  for (const name of Object.keys(storeContract)) {
    test(`the store in IndexedDB ${name}`, async (t) => {
      const page = await openPage(await startContext(t))
      await page.evaluate(async (name) => {
        const own = /** @type {any} */ (globalThis)
        // the order of an object's keys does not matter
        const text = (/** @type {any} */ value) => JSON.stringify(value, (_key, value) =>
          value?.constructor === Object ? Object.fromEntries(Object.entries(value).sort()) : value)
        const equal = (/** @type {any} */ actual, /** @type {any} */ expected) => {
          if (text(actual) !== text(expected)) throw new Error(`${text(actual)} instead of ${text(expected)}`)
        }
        await own.storeContract[name](own.indexedDbStore(), equal)
      }, name)
    })
  }

  test('edits queued while the gateway is stopped survive a reload, arrive once and in order', async (t) => {
    const port = await freePort()
    const env = { PORT: String(port), ALLOWED_ORIGINS: '*' }
    const url = `http://127.0.0.1:${port}`
    const first = await startEmbedded(t, env)
    const context = await startContext(t)
    const page = await openPage(context)
    await openOn(page, { url })
    await first.stop()
    await page.waitForFunction(() => /** @type {any} */ (globalThis).client.state === 'reconnecting')
    await queue(page, texts('a', 1, 40))
    // the new page starts without a gateway
    await page.reload()
    await page.waitForFunction(() => 'storeContract' in globalThis)
    await openOn(page, { url, wait: false })
    const reader = await startEmbedded(t, env).then(() => openDocument(startClient(t, url), 'doc'))
    await page.evaluate(() => /** @type {any} */ (globalThis).opening)
    await page.evaluate(() => {
      const { doc } = /** @type {any} */ (globalThis)
      for (let i = 41; i <= 60; i++) doc.send(`a ${i}`, { queue: true })
    })
    await reader.has('a 60')
    assert.deepEqual(reader.seen, texts('a', 1, 60))
    await waitFor(async () => (await pendingOf(page)).length === 0, { message: 'nothing to be pending' })
  })

  test('a page that is reloaded again and again while offline keeps the order of all its edits', async (t) => {
    const gateway = await startEmbedded(t, { ALLOWED_ORIGINS: '*' })
    const reader = await openDocument(startClient(t, gateway.url), 'doc')
    const context = await startContext(t)
    const page = await openPage(context)
    for (let round = 0; round < 4; round++) {
      await openOn(page, { url: gateway.url })
      if (round < 3) {
        await page.evaluate(() => /** @type {any} */ (globalThis).client.drop(600_000))
        await queue(page, texts('b', round * 10 + 1, round * 10 + 10))
        await page.reload()
        await page.waitForFunction(() => 'storeContract' in globalThis)
      }
    }
    await reader.has('b 30')
    assert.deepEqual(reader.seen, texts('b', 1, 30))
  })

  test('a page that is reloaded offline shows what it has queued, and queues more', async (t) => {
    const gateway = await startEmbedded(t, { ALLOWED_ORIGINS: '*' })
    const reader = await openDocument(startClient(t, gateway.url), 'doc')
    const page = await openPage(await startContext(t))
    await openOn(page, { url: gateway.url })
    await page.evaluate(() => /** @type {any} */ (globalThis).client.drop(600_000))
    await queue(page, texts('c', 1, 5))
    await page.reload()
    await page.waitForFunction(() => 'storeContract' in globalThis)
    await page.evaluate(async (url) => {
      const own = /** @type {any} */ (globalThis)
      // no handshake before the login
      const token = () => new Promise((resolve) => { own.login = resolve })
      own.client = own.connect(url, { outbox: { user: 'ada' }, token })
      own.doc = await own.client.open('doc', { offline: true })
    }, gateway.url)
    await page.waitForFunction(() => /** @type {any} */ (globalThis).doc.pending.length === 5)
    await queue(page, texts('c', 6, 8))
    assert.deepEqual(await pendingOf(page), texts('c', 1, 8))
    assert.deepEqual(reader.seen, [])
    await page.evaluate(() => /** @type {any} */ (globalThis).login())
    await reader.has('c 8')
    assert.deepEqual(reader.seen, texts('c', 1, 8))
  })

  test('of two tabs each sends its own edits, until one is closed: then the other sends them', async (t) => {
    const gateway = await startEmbedded(t, { ALLOWED_ORIGINS: '*' })
    const reader = await openDocument(startClient(t, gateway.url), 'doc')
    const context = await startContext(t)
    const [one, two] = [await openPage(context), await openPage(context)]
    for (const page of [one, two]) {
      await openOn(page, { url: gateway.url })
      await page.evaluate(() => /** @type {any} */ (globalThis).client.drop(600_000))
    }
    await queue(one, texts('one', 1, 20))
    await queue(two, texts('two', 1, 20))
    await two.evaluate(() => /** @type {any} */ (globalThis).client.connect())
    await reader.has('two 20')
    assert.deepEqual(reader.seen, texts('two', 1, 20))
    await one.close()
    await reader.has('one 20')
    assert.deepEqual(reader.seen, [...texts('two', 1, 20), ...texts('one', 1, 20)])
  })

  test('edits of one user are not sent by another; binary stays binary', async (t) => {
    const gateway = await startEmbedded(t, { ALLOWED_ORIGINS: '*' })
    const reader = await openDocument(startClient(t, gateway.url), 'doc')
    const context = await startContext(t)
    const page = await openPage(context)
    await openOn(page, { url: gateway.url })
    await page.evaluate(async () => {
      const { client, doc } = /** @type {any} */ (globalThis)
      client.drop(600_000)
      doc.send({ bytes: new Uint8Array([0, 1, 255]) }, { queue: true }).catch(() => {})
      while (doc.pending.length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
    })
    await page.reload()
    await page.waitForFunction(() => 'storeContract' in globalThis)
    await openOn(page, { url: gateway.url, user: 'bob' })
    await page.evaluate(() => /** @type {any} */ (globalThis).doc.send('of bob', { queue: true }))
    assert.deepEqual([await pendingOf(page), reader.seen], [[], ['of bob']])
    await openOn(await openPage(context), { url: gateway.url })
    await waitFor(() => reader.seen.length === 2, { timeout: 20_000, message: () => reader.seen })
    assert.deepEqual([...reader.seen[1].bytes], [0, 1, 255])
  })

  test('a page whose IndexedDB does not open queues in memory, and the log says so', async (t) => {
    const gateway = await startEmbedded(t, { ALLOWED_ORIGINS: '*' })
    const page = await openPage(await startContext(t))
    const log = await page.evaluate(async (url) => {
      const own = /** @type {any} */ (globalThis)
      own.indexedDB.constructor.prototype.open = () => { throw new DOMException('private', 'InvalidStateError') }
      /** @type {string[]} */
      const log = []
      const client = own.connect(url, {
        outbox: { user: 'ada' }, log: (/** @type {any} */ { what }) => { log.push(what) }
      })
      const doc = await client.open('doc')
      await doc.send('kept in memory', { queue: true })
      return log
    }, gateway.url)
    assert.ok(log.includes('queued edits are lost with the page'), log.join())
  })
})
