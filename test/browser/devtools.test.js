import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import axe from 'axe-core'
import { bundlePages } from '../../scripts/build-packages.js'
import { COLORS } from '../helpers/axe.js'
import { noBrowser, openDemo } from '../helpers/browser.js'
import { startEmbedded } from '../helpers/embedded.js'
import { fileScope } from '../helpers/file-scope.js'
import { sharedBrowser } from '../helpers/shared-browser.js'
import { waitFor } from '../helpers/wait.js'

const OUTPUT = fileURLToPath(new URL('../output/browser/', import.meta.url))
/** Records in a document's log. */
const HISTORY = 10

describe('devtools', { skip: noBrowser, timeout: 180_000 }, () => {
  const scope = fileScope()
  /** @type {Awaited<ReturnType<typeof startEmbedded>>} */
  let gateway
  /** @type {import('playwright-core').Browser} */
  let browser
  before(async () => {
    [gateway, browser] = await Promise.all([
      startEmbedded(scope, { HISTORY_SIZE: String(HISTORY) }), sharedBrowser()
    ])
  })

  /**
   * A page of the gateway, which does not know where an earlier test had the panel.
   * @param {import('node:test').TestContext} t
   * @param {Parameters<typeof openDemo>[3]} [options]
   */
  async function openPage (t, options) {
    const { page } = await openDemo(t, browser, gateway.url, options)
    await page.evaluate(() => localStorage.clear())
    return page
  }

  /**
   * The panel of a client of its own, on such a page.
   * @param {import('node:test').TestContext} t
   * @param {string} guid
   * @param {import('../helpers/browser.js').TabOptions} [context]
   */
  async function open (t, guid, context) {
    const page = await openPage(t, { document: `${guid}-demo`, ...(context && { context }) })
    await page.evaluate(async (guid) => {
      const modules = ['/client/index.js', '/client/devtools/index.js']
      const [{ connect }, { openDevtools }] = await Promise.all(modules.map((path) => import(path)))
      const client = connect(String(globalThis.origin))
      Object.assign(globalThis, { client, openDevtools, devtools: openDevtools(client) })
      Object.assign(globalThis, { doc: await client.open(guid, { state: { name: 'Ada' } }) })
    }, guid)
    const panel = page.locator('inkcast-devtools')
    const field = (/** @type {string} */ name) => panel.locator(`[data-field="${name}"]`)
    /** @param {import('playwright-core').Locator} locator @param {RegExp} pattern @returns {Promise<string>} */
    async function reads (locator, pattern) {
      let last = ''
      await waitFor(async () => pattern.test(last = (await locator.allTextContents()).join('\n')), {
        timeout: 20_000, message: () => `${locator} to match ${pattern}; it is ${last}`
      })
      return last
    }
    return {
      page, panel, field, reads,
      summary: panel.locator('.summary'),
      list: (/** @type {string} */ name) => panel.locator(`[data-list="${name}"] li`),
      tab: (/** @type {string} */ name) => panel.getByRole('tab', { name }).click(),
      publish: (/** @type {number} */ records) => publish(guid, records),
      /** @param {string} name */
      async screenshot (name) {
        mkdirSync(OUTPUT, { recursive: true })
        await page.screenshot({ path: `${OUTPUT}devtools-${name}.png` })
      }
    }
  }

  /** @param {string} guid @param {number} records */
  async function publish (guid, records) {
    for (let i = 0; i < records; i++) {
      const { status } = await gateway.post(`/v1/documents/${guid}/broadcast`, { number: i })
      assert.equal(status, 202)
    }
  }

  test('shows the right values before, during and after a cut connection and a resync', async (t) => {
    const { page, panel, field, reads, summary, list, tab, publish, screenshot } = await open(t, 'cut')
    await reads(summary, /^connected · websocket$/)
    await reads(panel.locator('.status'), /^live$/)
    await reads(field('position'), /: 0$/)
    await reads(field('present'), /^1 member$/)

    // before: records, and the events `joined` and `presence`, wait for a listener
    await publish(3)
    await reads(field('held'), /^5 events$/)
    await reads(field('position'), /: 3$/)
    await reads(list('Waits'), /^events wait for doc\.on\(…\): the document has no listener yet, \d\.\d s$/)
    await page.evaluate(() => { /** @type {any} */ (globalThis).doc.on('message', () => {}) })
    await reads(field('held'), /^0 events$/)
    await reads(field('opened'), /^1 time, 1 listener$/)
    await waitFor(async () => await list('Waits').count() === 0, { message: 'nothing to wait' })
    await reads(field('records'), /^3, (?!0\.0)\d\.\d\/s$/)
    const epoch = (await reads(field('position'), /: 3$/)).split(' ')[0]

    // a cut that the log covers: the records come, without a resync
    await tab('Connection')
    await panel.getByRole('button', { name: 'Cut for 5 s' }).click()
    await reads(summary, /^reconnecting · disconnected: the connection was lost$/)
    await reads(field('state'), /^reconnecting$/)
    await reads(field('transport'), /^–$/)
    await tab('Documents')
    await reads(panel.locator('.status'), /^idle$/)
    await reads(list('Waits'), /^document waits for a new connection, \d\.\d s$/)
    await page.evaluate(() => {
      const own = /** @type {any} */ (globalThis)
      own.sending = own.doc.send({ text: 'waits' })
    })
    await reads(list('Waits'), /doc:send waits for the document to be joined, \d\.\d s$/)
    await publish(2)
    await screenshot('cut')
    await reads(panel.locator('.status'), /^live$/)
    await page.evaluate(() => /** @type {any} */ (globalThis).sending)
    await reads(field('records'), /^6,/)
    await reads(field('resyncs'), /^0$/)
    await waitFor(async () => await list('Waits').count() === 0, { message: 'nothing to wait' })
    // the page's own message, without a document service, came back with an offset
    await reads(field('position'), new RegExp(`^${epoch} : 6$`))

    // a cut that it does not cover
    await page.evaluate(() => /** @type {any} */ (globalThis).client.drop(600_000))
    await reads(panel.locator('.status'), /^idle$/)
    await publish(HISTORY + 5)
    await page.evaluate(() => /** @type {any} */ (globalThis).client.connect())
    await reads(panel.locator('.status'), /^live$/)
    await reads(field('resyncs'), /^1$/)
    await reads(list('Gaps and resyncs'), /^\d\d:\d\d:\d\d\.\d{3} resync trimmed$/)
    await screenshot('resync')

    await tab('Connection')
    const history = await panel.locator('ol b').allTextContents()
    assert.deepEqual(history, ['connected', 'reconnecting', 'connected', 'reconnecting', 'connected', 'connecting'])
    await reads(field('connection'), /^.{20}$/)
    await screenshot('connection')

    await tab('Log')
    await panel.getByRole('searchbox').fill('RESYNC cut')
    await reads(panel.locator('.found'), /^1 of \d+ entries$/)
    assert.match((await panel.locator('ol li').allTextContents()).join(), /resynccut trimmed$/)
    await panel.getByRole('searchbox').fill('')
    await screenshot('log')
  })

  test('counts signals, and shows what a listener of resync holds', async (t) => {
    const { page, field, reads, list, publish } = await open(t, 'held')
    await page.evaluate(() => {
      const own = /** @type {any} */ (globalThis)
      for (let i = 0; i < 5; i++) own.doc.signal('cursor', { x: i })
      own.doc.on('resync', () => new Promise((resolve) => { own.loaded = resolve }))
    })
    await reads(field('signals'), /^2 sent, 0 dropped$/)
    await page.evaluate(() => {
      const { client, doc } = /** @type {any} */ (globalThis)
      client.drop(600_000)
      doc.signal('cursor', { x: 6 })
    })
    await publish(HISTORY + 5)
    await page.evaluate(() => /** @type {any} */ (globalThis).client.connect())
    await reads(list('Waits'), /events wait for a listener of `resync` to finish, \d\.\d s$/)
    await publish(2)
    await reads(field('held'), /^[1-9]\d* events$/)
    await page.evaluate(() => /** @type {any} */ (globalThis).loaded())
    await reads(field('held'), /^0 events$/)
    await reads(field('signals'), /^2 sent, 1 dropped$/)
  })

  test('shows a document that waits for `load`', async (t) => {
    const { page, panel, reads } = await open(t, 'other')
    await page.evaluate(() => {
      const own = /** @type {any} */ (globalThis)
      own.opening = own.client.open('slow', { load: () => new Promise((resolve) => { own.loaded = resolve }) })
    })
    const document = panel.locator('[data-guid="slow"]')
    await reads(document.locator('.status'), /^loading$/)
    await reads(document.locator('[data-list="Waits"] li'), /events wait for `load` to finish, \d\.\d s/)
    await page.evaluate(async () => {
      const own = /** @type {any} */ (globalThis)
      own.loaded()
      const doc = await own.opening
      doc.on('message', () => {})
    })
    await reads(document.locator('.status'), /^live$/)
    await reads(document.locator('[data-list="Waits"] li'), /^$/)
    await page.evaluate(async () => {
      const { opening } = /** @type {any} */ (globalThis)
      ;(await opening).close()
    })
    await waitFor(async () => await document.count() === 0, { message: 'the closed document to disappear' })
  })

  test('lists queued sends until the gateway has accepted them', async (t) => {
    const { page, panel, reads } = await open(t, 'unqueued')
    await page.evaluate(async () => {
      const own = /** @type {any} */ (globalThis)
      const path = '/client/index.js'
      const { connect } = await import(path)
      const client = own.away = connect(String(own.origin), { outbox: { user: 'ada' } })
      own.devtools.close()
      own.devtools = own.openDevtools(client)
      const doc = await client.open('queued')
      client.drop(600_000)
      own.sending = Promise.all([
        doc.send({ text: 'private' }, { event: 'edit', queue: true }), doc.send({ text: 'private' }, { queue: true })
      ])
    })
    const field = panel.locator('[data-field="queued"]')
    await reads(field, /^2 sends$/)
    await reads(panel.locator('[data-list="Queued sends"] li'), /^edit, \d\.\d s\nmessage, \d\.\d s$/)
    await reads(panel.locator('[data-list="Waits"] li'), /queued sends wait for the gateway to accept them, \d\.\d s/)
    assert.doesNotMatch(await panel.locator('.panel').innerText(), /private/)
    await page.evaluate(() => {
      const { away, sending } = /** @type {any} */ (globalThis)
      away.connect()
      return sending
    })
    await reads(field, /^0 sends$/)
    await panel.locator('[data-list="Queued sends"]').waitFor({ state: 'hidden' })
  })

  test('can be used with the keyboard, and remembers its place and tab', async (t) => {
    const { page, panel } = await open(t, 'keys')
    const box = async () => {
      const { x, y, width, height } = /** @type {any} */ (await panel.locator('.panel').boundingBox())
      return { x, y, width, height }
    }
    const first = await box()
    await panel.getByRole('button', { name: 'Resize' }).focus()
    await page.keyboard.press('Shift+ArrowUp')
    await page.keyboard.press('ArrowLeft')
    const larger = { width: first.width + 10, height: first.height + 100 }
    assert.deepEqual(await box(), { x: first.x - 10, y: first.y - 100, ...larger })
    await page.keyboard.press('Tab')
    await page.keyboard.press('ArrowLeft')
    await page.keyboard.press('Shift+ArrowUp')
    const moved = { x: first.x - 20, y: first.y - 200, ...larger }
    assert.deepEqual(await box(), moved)
    await panel.getByRole('tab', { name: 'Documents' }).focus()
    await page.keyboard.press('ArrowRight')
    assert.equal(await panel.getByRole('tab', { selected: true }).textContent(), 'Connection')

    // by pointer, over the edge: it stays in the window
    await page.mouse.move(moved.x + 150, moved.y + 10)
    await page.mouse.down()
    await page.mouse.move(moved.x + 140, moved.y - 2_000)
    await page.mouse.up()
    assert.deepEqual(await box(), { ...moved, x: moved.x - 10, y: 0 })

    await panel.getByRole('tab', { selected: true }).focus()
    await page.keyboard.press('Escape')
    assert.equal(await panel.count(), 0)
    await page.evaluate(async () => {
      const path = '/client/devtools/index.js'
      const { openDevtools } = await import(path)
      const own = /** @type {any} */ (globalThis)
      Object.assign(own, { one: openDevtools(own.client), two: openDevtools(own.client) })
    })
    assert.ok(await page.evaluate(() => {
      const { one, two } = /** @type {any} */ (globalThis)
      return one === two
    }))
    assert.equal(await panel.count(), 1)
    assert.deepEqual(await box(), { ...moved, x: moved.x - 10, y: 0 })
    assert.equal(await panel.getByRole('tab', { selected: true }).textContent(), 'Connection')
  })

  for (const [name, viewport] of /** @type {const} */ ([
    ['wide', { width: 1360, height: 860 }], ['narrow', { width: 360, height: 700 }]
  ])) {
    test(`is readable in light and dark: ${name}`, async (t) => {
      const { page, panel, field, reads, tab, publish, screenshot } = await open(t, name, { viewport })
      await publish(2)
      await reads(field('held'), /^4 events$/)
      await page.evaluate(axe.source)
      for (const title of ['Documents', 'Connection', 'Log']) {
        await tab(title)
        // one scheme for each width
        for (const [colorScheme, rules] of /** @type {const} */ ([['light', {}], ['dark', COLORS]])) {
          if ((colorScheme === 'light') !== (name === 'wide')) continue
          await page.emulateMedia({ colorScheme })
          const { violations } = await page.evaluate((rules) => {
            const { axe, devtools } = /** @type {any} */ (globalThis)
            return axe.run(devtools.element, rules)
          }, rules)
          assert.deepEqual(violations.map((/** @type {any} */ { id, nodes }) => `${id}: ` +
            `${nodes.map((/** @type {any} */ { html }) => html)}`), [])
          await screenshot(`${name}-${colorScheme}-${title.toLowerCase()}`)
        }
        const isWider = await panel.locator('.body').evaluate(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)
        assert.equal(isWider, false, `${title} fits its width`)
      }
    })
  }

  test('works with the files for pages without a bundler', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'inkcast-'))
    t.after(() => rmSync(folder, { recursive: true }))
    await bundlePages(folder)
    const page = await openPage(t)
    await page.route('**/bundles/*', (route) =>
      route.fulfill({ path: join(folder, route.request().url().split('/bundles/')[1]), contentType: 'text/javascript' }))
    await page.evaluate(async () => {
      const modules = ['/bundles/inkcast-client.min.js', '/bundles/inkcast-devtools.min.js']
      const [{ connect }, { openDevtools }] = await Promise.all(modules.map((path) => import(path)))
      const client = connect(String(globalThis.origin))
      openDevtools(client)
      const doc = await client.open('bundles')
      doc.signal('cursor', { x: 1 })
    })
    const panel = page.locator('inkcast-devtools')
    await panel.locator('.status', { hasText: 'live' }).waitFor()
    await panel.locator('[data-field="signals"]', { hasText: '1 sent, 0 dropped' }).waitFor()
    await panel.locator('[data-list="Waits"]', { hasText: 'events wait for doc.on' }).waitFor()
  })

  test('the demo opens it by its button and by ?devtools', async (t) => {
    const page = await openPage(t)
    const panel = page.locator('inkcast-devtools')
    assert.equal(await panel.count(), 0)
    await page.getByRole('button', { name: 'Client devtools' }).click()
    await panel.locator('.status').waitFor()
    await panel.getByRole('button', { name: 'Close' }).click()
    assert.equal(await panel.count(), 0)
    await page.goto(`${gateway.url}/?devtools`)
    await panel.locator('.status').waitFor()
  })
})
