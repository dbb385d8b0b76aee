import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { noBrowser } from '../helpers/browser.js'
import { serveBundled } from '../helpers/bundled-page.js'
import { startEmbedded } from '../helpers/embedded.js'
import { fileScope } from '../helpers/file-scope.js'
import { rulesFile } from '../helpers/rules-file.js'
import { sharedBrowser } from '../helpers/shared-browser.js'
import { SECRET, signToken } from '../helpers/tokens.js'
import { waitFor } from '../helpers/wait.js'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const TABS = 6
const PAGE = `
import { connect } from ${JSON.stringify(`${ROOT}client/index.js`)}
globalThis.connect = connect
`

/** @typedef {import('playwright-core').Page} Page */

describe('tabs that share a connection', { skip: noBrowser, timeout: 240_000 }, () => {
  const scope = fileScope()
  /** @type {import('playwright-core').BrowserContext} */
  let context
  /** @type {Awaited<ReturnType<typeof startEmbedded>>} */
  let inkcast
  let origin = ''

  before(async () => {
    const rules = rulesFile(scope, { rules: [{ prefix: 'quiet', echo: false }] })
    inkcast = await startEmbedded(scope, {
      ALLOWED_ORIGINS: '*', AUTH_JWT_SECRET: SECRET, MAX_CONNECTIONS_PER_USER: '2', DOCUMENT_RULES_FILE: rules.path
    })
    origin = await serveBundled(scope, PAGE)
    context = await (await sharedBrowser()).newContext()
    scope.after(() => context.close())
  })

  /**
   * Opens tabs, each with the document open.
   * @param {import('node:test').TestContext} t
   * @param {number} count
   * @param {{ uid: string, guid?: string, options?: object, open?: object }} options
   */
  async function openTabs (t, count, { uid, guid = uid, options = {}, open = {} }) {
    const pages = []
    for (let i = 0; i < count; i++) {
      const page = await context.newPage()
      t.after(() => page.close())
      await page.goto(origin)
      await page.waitForFunction(() => 'connect' in globalThis)
      // each tab has another token of the same login
      const token = await signToken({ sub: uid, exp: 4_000_000_000 + i })
      await page.evaluate(async ({ url, token, guid, options, open, tab }) => {
        const own = /** @type {any} */ (globalThis)
        own.seen = []
        own.states = []
        own.client = own.connect(url, { shared: true, token, ...options })
        own.client.on('state', (/** @type {string} */ state) => own.states.push(state))
        own.doc = await own.client.open(guid, { state: { tab }, ...open })
        for (const event of ['message', 'cursor', 'resync'])
          own.doc.on(event, (/** @type {any} */ payload) => own.seen.push(event === 'message' ? payload : event))
      }, { url: inkcast.url, token, guid, options, open, tab: i })
      pages.push(page)
    }
    return pages
  }

  /** @param {Page} page @returns {Promise<any[]>} */
  const seenOn = (page) => page.evaluate(() => /** @type {any} */ (globalThis).seen)

  /** @param {string} guid @param {unknown} payload */
  async function publish (guid, payload) {
    assert.equal((await inkcast.post(`/v1/documents/${guid}/broadcast`, payload)).status, 202)
  }

  /** @param {Page[]} pages @param {unknown[]} expected */
  const allSee = (pages, expected) => Promise.all(pages.map((page) => waitFor(async () => {
    const seen = await seenOn(page)
    if (seen.length >= expected.length) assert.deepEqual(seen, expected)
    return seen.length >= expected.length
  }, { message: 'a tab to get all records' })))

  test('get each record once and in order: leaders are closed and frozen, the connection is dropped', async (t) => {
    const [first, second, third, ...tabs] = await openTabs(t, 3 + TABS, { uid: 'ada' })
    const expected = []
    const steps = [
      () => first.close(),
      () => second.close(),
      () => third.close(),
      // as Chromium does before it stops a page in the background
      () => tabs[0].evaluate(() => { /** @type {any} */ (globalThis).document.dispatchEvent(new Event('freeze')) }),
      async () => {
        // all connect again after the step before
        await tabs[3].waitForFunction(() => /** @type {any} */ (globalThis).client.state === 'connected')
        await tabs[3].evaluate(() => { /** @type {any} */ (globalThis).client.drop(0) })
      }
    ]
    for (const step of steps) {
      for (let i = 0; i < 5; i++) {
        expected.push(expected.length)
        await publish('ada', expected.length - 1)
        if (i === 2) await step()
      }
    }
    await allSee(tabs, expected)
    // members come after the records
    await Promise.all(tabs.map((page) => waitFor(async () => {
      const members = await page.evaluate(() => [.../** @type {any} */ (globalThis).doc.presence.values()])
      assert.deepEqual(members.map(({ uid, connections }) => [uid, connections]), [['ada', undefined]])
      return true
    }, { message: 'the tabs to be one member' })))
  })

  test('see the messages and signals of each other, and not their own', async (t) => {
    const tabs = await openTabs(t, 2, { uid: 'bob' })
    await tabs[1].evaluate(() => /** @type {any} */ (globalThis).doc.send('from the second'))
    // a signal may overtake a message
    await allSee([tabs[0]], ['from the second'])
    await tabs[1].evaluate(() => { /** @type {any} */ (globalThis).doc.signal('cursor', 1) })
    await allSee([tabs[0]], ['from the second', 'cursor'])
    const [third] = await openTabs(t, 1, { uid: 'bob', open: { last: 10 } })
    await allSee([third], ['from the second'])
    assert.deepEqual(await seenOn(tabs[1]), [])
  })

  test('get a record that excludes another tab, and a message that its sender does not get back', async (t) => {
    const [first, second] = await openTabs(t, 2, { uid: 'kim', guid: 'quiet', open: { echo: true } })
    await second.evaluate(() => /** @type {any} */ (globalThis).doc.send('sent'))
    const id = await second.evaluate(() => /** @type {any} */ (globalThis).client.id)
    await inkcast.post('/v1/documents/quiet/broadcast', 'excluded', { 'x-except': id })
    await publish('quiet', 'all')
    await allSee([first], ['sent', 'excluded', 'all'])
    await allSee([second], ['all'])
    const [{ offset }, other] = await Promise.all([first, second].map((page) =>
      page.evaluate(() => /** @type {any} */ (globalThis).doc.position)))
    assert.equal(other.offset, offset)
  })

  test('send the edits that a closed tab has left', async (t) => {
    const outbox = { user: 'eve' }
    const [first, second] = await openTabs(t, 2, { uid: 'eve', options: { outbox }, open: { echo: true } })
    await first.evaluate(async () => {
      const { client, doc } = /** @type {any} */ (globalThis)
      client.drop(60_000)
      doc.send('queued', { queue: true }).catch(() => {})
      while (doc.pending.length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
    })
    await first.close()
    await allSee([second], ['queued'])
  })

  test('get what they missed before they were opened, with a position or the newest records', async (t) => {
    const [first] = await openTabs(t, 1, { uid: 'gus' })
    for (const payload of ['a', 'b', 'c']) await publish('gus', payload)
    await allSee([first], ['a', 'b', 'c'])
    const { epoch } = await first.evaluate(() => /** @type {any} */ (globalThis).doc.position)
    const [resumed] = await openTabs(t, 1, { uid: 'gus', open: { position: { epoch, offset: 1 } } })
    const [newest] = await openTabs(t, 1, { uid: 'gus', open: { last: 1 } })
    const [stale] = await openTabs(t, 1, { uid: 'gus', open: { position: { epoch: 'other', offset: 1 } } })
    await publish('gus', 'd')
    await allSee([first], ['a', 'b', 'c', 'd'])
    await allSee([resumed], ['b', 'c', 'd'])
    await allSee([newest], ['c', 'd'])
    await allSee([stale], ['resync', 'd'])
  })

  test('read the log of the user, each record once', async (t) => {
    const [first, second] = await openTabs(t, 2, { uid: 'hal' })
    for (const page of [first, second]) await page.evaluate(async () => {
      const { client, seen } = /** @type {any} */ (globalThis)
      const opened = new Promise((resolve) => client.user.on('open', resolve))
      client.user.on('note', (/** @type {any} */ payload) => seen.push(payload))
      await opened
    })
    const note = (/** @type {number} */ n) =>
      inkcast.post('/v1/users/hal/send', { n }, { 'x-keep': 'true', 'x-event': 'note' })
    await note(1)
    await allSee([first, second], [{ n: 1 }])
    await first.close()
    await note(2)
    await allSee([second], [{ n: 1 }, { n: 2 }])
  })

  test('of other users have connections of their own; a kick of a user closes all tabs of this user', async (t) => {
    const [first, second] = await openTabs(t, 2, { uid: 'dan', guid: 'both' })
    const [other] = await openTabs(t, 1, { uid: 'fay', guid: 'both' })
    const answer = await fetch(`${inkcast.apiUrl}/v1/users/dan/connections`, { method: 'DELETE' })
    assert.equal(answer.status, 202)
    for (const page of [first, second])
      await page.waitForFunction(() => /** @type {any} */ (globalThis).client.reason?.code === 'kicked')
    assert.equal(await other.evaluate(() => /** @type {any} */ (globalThis).client.state), 'connected')
  })
})
