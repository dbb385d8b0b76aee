import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { COLORS, passesAxe } from '../helpers/axe.js'
import { noBrowser, openDemo } from '../helpers/browser.js'
import { startEmbedded } from '../helpers/embedded.js'
import { fileScope } from '../helpers/file-scope.js'
import { sharedBrowser } from '../helpers/shared-browser.js'
import { waitFor } from '../helpers/wait.js'

/** @typedef {import('../helpers/browser.js').DemoPage} DemoPage */

const LAPTOP = { viewport: { width: 1280, height: 800 } }
const PHONE = { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true }
const LONG_NAME = 'Wolfeschlegelsteinhausenbergerdorff Pab.'

describe('the demo page', { skip: noBrowser, timeout: 360_000 }, () => {
  const scope = fileScope()
  /** @type {Awaited<ReturnType<typeof startEmbedded>>} */
  let inkcast
  /** @type {import('playwright-core').Browser} */
  let browser
  before(async () => {
    [inkcast, browser] = await Promise.all([startEmbedded(scope), sharedBrowser()])
  })

  /**
   * @param {Parameters<typeof openDemo>[0]} t
   * @param {Parameters<typeof openDemo>[3]} [options]
   */
  const open = (t, options) => openDemo(t, browser, inkcast.url, options)

  /** @param {DemoPage} demo @param {string} cell @returns {Promise<string>} the text in the second view */
  const inSecond = async ({ page }, cell) =>
    (await page.textContent(`#second-canvas td[data-cell="${cell}"] .text`)) ?? ''

  /** @param {DemoPage} demo */
  const opensSecond = async ({ page }) => {
    await page.waitForSelector('#second-state[data-state="connected"]')
    await page.waitForSelector('#second-canvas td[data-cell="A1"] .text:text("Task")')
  }

  test('the first view takes at most 10 requests and 100 KB, both views and the connections included', async (t) => {
    const context = await browser.newContext(LAPTOP)
    t.after(() => context.close())
    const page = await context.newPage()
    const network = await context.newCDPSession(page)
    await network.send('Network.enable')
    /** @type {Map<string, string>} */
    const requests = new Map()
    let bytes = 0
    network.on('Network.requestWillBeSent', ({ requestId, request }) => requests.set(requestId, request.url))
    network.on('Network.webSocketCreated', ({ requestId, url }) => requests.set(requestId, url))
    network.on('Network.loadingFinished', ({ encodedDataLength }) => { bytes += encodedDataLength })
    network.on('Network.webSocketFrameReceived', ({ response }) => { bytes += response.payloadData.length })
    await page.goto(`${inkcast.url}/?document=light`)
    await page.waitForSelector('#second-state[data-state="connected"]')
    await page.waitForLoadState('networkidle')
    t.diagnostic(`${requests.size} requests, ${bytes} bytes`)
    assert.ok(requests.size <= 10, [...requests.values()].join('\n'))
    assert.ok(bytes < 100_000, `${bytes} bytes`)
  })

  test('the sheet and the first thing to try are on the first screen, on a laptop and a phone', async (t) => {
    for (const [name, context, lastRow] of /** @type {const} */ ([['laptop', LAPTOP, 12], ['phone', PHONE, 6]])) {
      const { page, screenshot } = await open(t, { document: `first-${name}`, context, second: true })
      if (name === 'laptop') await page.waitForSelector('#second-state[data-state="connected"]')
      for (const selector of ['.lead', '#guests', '#sheet td[data-cell="A1"]', `#sheet td[data-cell="A${lastRow}"]`]) {
        const box = await page.locator(selector).boundingBox() ?? assert.fail(selector)
        assert.ok(box.y >= 0 && box.y + box.height <= context.viewport.height, `${name}: ${selector} at ${box.y}`)
      }
      assert.equal(await page.locator('#second').isVisible(), name === 'laptop')
      await screenshot(`first-${name}`)
    }
  })

  test('it says what it is, with links to the docs, the client and the API', async (t) => {
    const { page, text } = await open(t, { document: 'links' })
    assert.match(await text('.lead'), /^inkcast: what your services publish .* reaches everyone who has it open\.$/)
    const links = await page.locator('nav a').evaluateAll((all) => all.map((link) => link.getAttribute('href')))
    assert.deepEqual(links.map((link) => link?.replace(/^http:\/\/localhost:\d+/, '')), [
      '/docs/', '/docs/client.html', '/docs/', '/docs/concepts.html'
    ])
    await page.click('.view .how summary')
    await page.locator('[data-part="sheet"]').waitFor({ state: 'visible' })
  })

  test('a laptop shows a second person, who sees each letter and can answer', async (t) => {
    const demo = await open(t, { document: 'two-views', context: LAPTOP, second: true })
    await opensSecond(demo)
    assert.equal(await demo.text('#people-count'), '2 here')
    await demo.type('A7', 'Paint the sign')
    await waitFor(async () => await inSecond(demo, 'A7') === 'Paint the sign', { message: 'the second view to follow' })
    await demo.page.locator('#second-canvas td[data-cell="A8"]').click()
    await demo.page.keyboard.type('red')
    await demo.shows('A8', 'red')
    await demo.reads('#sheet td[data-cell="A8"] .mark', /\w/)
    // the first person's selection is gone with the focus
    await waitFor(async () => await demo.page.locator('#second-canvas .mark').count() === 0, {
      message: 'the first person to be nowhere'
    })
    await demo.page.click('#second-close')
    await demo.reads('#people-count', /^only you$/)
    await demo.page.click('#second-open')
    await opensSecond(demo)
    assert.equal(await inSecond(demo, 'A8'), 'red')
  })

  test('a phone shows the second person at a button, both on one screen', async (t) => {
    const demo = await open(t, { document: 'two-phone', context: PHONE, second: true })
    assert.equal(await demo.page.locator('#second').isVisible(), false)
    await demo.page.tap('#second-open')
    await opensSecond(demo)
    await demo.page.tap('#sheet td[data-cell="B2"]')
    await demo.page.keyboard.type('!')
    await waitFor(async () => await inSecond(demo, 'B2') === 'Ada!', { message: 'the second view to follow' })
    const [one, other] = await Promise.all(['#sheet td[data-cell="A3"]', '#second-canvas td[data-cell="A3"]'].map(
      (selector) => demo.page.locator(selector).boundingBox()
    ))
    assert.ok(one && other && other.y + other.height - one.y < 844, 'row 3 of both fits on the screen')
    await demo.screenshot('phone-second')
  })

  test('from 1,024 px on both sheets show all their columns, with their headings', async (t) => {
    const demo = await open(t, { document: 'columns', context: { viewport: { width: 1024, height: 768 } }, second: true })
    await opensSecond(demo)
    for (const width of [1024, 1100, 1216, 1280]) {
      await demo.page.setViewportSize({ width, height: 768 })
      const cut = await demo.page.evaluate(`[...document.querySelectorAll(
          '.view .scroller, .view :is([data-cell$="1"], [data-cell^="D"]) .text')]
        .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)
        .map((element) => element.textContent.slice(0, 30))`)
      assert.deepEqual(cut, [], `${width} px`)
    }
  })

  test('a page that is cut off does not show others as if they were there', async (t) => {
    const document = 'cut-off'
    const [ada, grace] = await Promise.all([open(t, { document, name: 'Ada' }), open(t, { document, name: 'Grace' })])
    await ada.reads('#people-count', /^2 here$/)
    await grace.field('C4').hover()
    await ada.page.locator('#canvas .pointer span').waitFor()
    await ada.page.click('#drop')
    await ada.page.locator('#people-count').waitFor({ state: 'hidden' })
    assert.equal(await ada.page.isVisible('#canvas .pointer span'), false)
    await ada.page.locator('#state[data-state="connected"]').waitFor()
    assert.equal(await ada.page.isVisible('#people-count'), true)
  })

  describe('two people in one cell', () => {
    const pages = fileScope()
    /** @type {DemoPage[]} */
    let both
    before(async () => {
      both = await Promise.all(['Ada', 'Grace'].map((name) => open(pages, { document: 'one-cell', name })))
    })

    /** @param {string} cell of its own, empty */
    async function writeTogether (cell) {
      const [ada, grace] = both
      await ada.field(cell).focus()
      await grace.field(cell).focus()
      await ada.page.keyboard.type('Ad')
      await grace.shows(cell, 'Ad')
      // Grace replaces it, while Ada goes on
      await grace.page.keyboard.type('Gr')
      await ada.reads(`[data-conflict="${cell}"]`, /Grace also writes here.*Gr.*in the sheet.*Ad/)
      await ada.page.keyboard.type('a')
      await grace.reads(`[data-conflict="${cell}"]`, /Ada also writes here.*Ada.*in the sheet.*Gr/)
      assert.equal(await ada.field(cell).locator('input').inputValue(), 'Ada')
      assert.equal(await grace.field(cell).locator('input').inputValue(), 'Gr')
      return [ada, grace]
    }

    /** @param {string} cell @param {string} text */
    async function agree (cell, text) {
      for (const demo of both) {
        await demo.shows(cell, text)
        await waitFor(async () => await demo.page.locator('.note, .waiting, .conflict').count() === 0, {
          message: 'no conflict to be left'
        })
      }
    }

    test('see each other\'s text; one takes the other\'s', async () => {
      const [ada, grace] = await writeTogether('B7')
      await grace.screenshot('conflict')
      await passesAxe(grace.page)
      await grace.page.click('text=Use theirs')
      await ada.page.keyboard.press('Enter')
      await agree('B7', 'Ada')
    })

    test('take back with Escape what they typed, in favor of the other\'s text', async () => {
      const [ada, grace] = await writeTogether('B9')
      await grace.page.keyboard.press('Escape')
      await ada.page.keyboard.press('Enter')
      await agree('B9', 'Ada')
    })

    test('are shown to a single visitor by a button', async (t) => {
      const demo = await open(t, { document: 'alone', context: LAPTOP, second: true })
      await demo.page.click('#together')
      await demo.reads('#together-story', /^Type now: .* writes in B7 as well\.$/)
      await demo.page.keyboard.type('mine', { delay: 100 })
      await demo.reads('#canvas [data-conflict="B7"]', /also writes here/)
      await demo.page.click('#canvas >> text=Keep mine')
      await demo.reads('#together-story', /^A second person/)
    })
  })

  test('a duplicated tab is another person; a reloaded one stays the same', async (t) => {
    const document = 'duplicate'
    const ada = await open(t, { document })
    const name = await ada.page.inputValue('#name')
    // a window that a page opens has a copy of its storage, as a duplicated tab has
    const [copy] = await Promise.all([
      ada.page.waitForEvent('popup'), ada.page.evaluate('window.open(location.href); undefined')
    ])
    await copy.waitForSelector('body[data-ready]')
    assert.notEqual(await copy.evaluate('sessionStorage["inkcast demo me"]'), null)
    await ada.reads('#people-count', /^2 here$/)
    await copy.close()
    await ada.reads('#people-count', /^only you$/)
    await ada.page.reload()
    await ada.page.waitForSelector('body[data-ready]')
    assert.equal(await ada.page.inputValue('#name'), name)
  })

  test('guests leave the visitor\'s column alone, and a reset restores the sheet for everyone', async (t) => {
    const document = 'reset'
    const [ada, grace] = await Promise.all([open(t, { document }), open(t, { document })])
    await ada.field('E9').focus()
    await ada.page.keyboard.type('mine')
    await ada.page.click('#guests')
    await ada.reads('#people-count', /^5 here$/)
    const before = await Promise.all(Array.from({ length: 12 }, (_, i) => ada.shown(`E${i + 1}`)))
    await waitFor(async () => Number(await ada.text('#signals').then(Number.parseFloat)) > 0, { message: 'guests to move' })
    await ada.reads('#version', /^([1-9]\d+|[7-9])$/)
    assert.deepEqual(await Promise.all(Array.from({ length: 12 }, (_, i) => ada.shown(`E${i + 1}`))), before)
    await ada.page.click('#guests-leave')
    await ada.reads('#people-count', /^2 here$/)

    await ada.page.fill('#comment', 'gone soon')
    await ada.page.press('#comment', 'Enter')
    await grace.reads('#comments', /gone soon/)
    await ada.page.click('#reset')
    await ada.reads('#reset', /^Reset for everyone\?$/)
    assert.equal(await grace.shown('E9'), 'mine', 'one click changes nothing')
    await ada.page.click('#reset')
    for (const demo of [ada, grace]) {
      await demo.shows('E9', '')
      await demo.shows('E6', 'no nuts, please')
      await demo.reads('#comments', /^$/)
    }
    await grace.insert('E9', 'it goes on')
    await ada.shows('E9', 'it goes on')
  })

  test('the sheet is a grid with one Tab stop, and the keyboard does everything', async (t) => {
    const { page, field, shown, shows } = await open(t, { document: 'keys' })
    const press = async (/** @type {string[]} */ ...keys) => { for (const key of keys) await page.keyboard.press(key) }
    const at = () => page.evaluate('document.activeElement.closest("td")?.dataset.cell ?? null')
    assert.equal(await page.locator('#sheet [tabindex="0"]').count(), 1)
    await field('A1').focus()
    await press('ArrowDown', 'ArrowRight', 'ArrowRight', 'ArrowUp', 'ArrowDown', 'ArrowLeft')
    assert.equal(await at(), 'B2')
    await press('End')
    assert.equal(await at(), 'E2')
    await press('Home', 'Control+End')
    assert.equal(await at(), 'E12')
    await press('Control+Home')
    assert.equal(await at(), 'A1')
    assert.equal(await page.locator('#sheet [tabindex="0"]').count(), 1)

    // F2 and Enter edit the text there is, a letter replaces it, Escape restores it
    await press('ArrowDown', 'ArrowRight', 'F2', '!', 'Enter')
    assert.deepEqual([await shown('B2'), await at()], ['Ada!', 'B3'])
    await press('x', 'y', 'Escape')
    assert.deepEqual([await shown('B3'), await at()], ['Grace', 'B3'])
    await press('z', 'Tab')
    assert.deepEqual([await shown('B3'), await at()], ['z', 'C3'])
    await press('Shift+Tab')
    assert.equal(await at(), null, 'Tab leaves the sheet')
    await press('Tab')
    assert.equal(await at(), 'C3', 'and comes back to the same cell')
    await press('Delete')
    await shows('C3', '')
    await page.evaluate(`{
      const clipboardData = new DataTransfer()
      clipboardData.setData('text', 'pasted\\tnot this')
      document.activeElement.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }))
    }`)
    await press('Enter')
    await shows('C3', 'pasted')
    await press('ArrowUp', 'Shift+Tab', 'Tab')
    assert.equal(await at(), 'C3')
    await press('Tab')
    assert.equal(await at(), null)
  })

  test('what others do is announced politely, once a text is finished', async (t) => {
    const document = 'announced'
    const [ada, grace] = await Promise.all([open(t, { document, name: 'Ada' }), open(t, { document, name: 'Grace' })])
    await ada.reads('#people', /Grace/)
    await ada.page.evaluate(`{
      globalThis.said = []
      const region = document.querySelector('#announcements')
      new MutationObserver(() => globalThis.said.push(region.textContent)).observe(region, { childList: true })
    }`)
    await grace.field('A7').focus()
    await grace.page.keyboard.type('Paint the sign', { delay: 120 })
    await ada.reads('#announcements', /./)
    assert.deepEqual(await ada.page.evaluate('globalThis.said'), ['Grace changed A7 to Paint the sign.'])
    assert.equal(await ada.page.getAttribute('#announcements', 'role'), 'status')
  })

  test('on this machine only, the page says how a phone can reach it', async (t) => {
    const here = await open(t, { document: 'phone-hint' })
    assert.match(await here.text('#phone'), /A phone cannot reach 127\.0\.0\.1.*HOST=0\.0\.0\.0 npm start/)
    const everywhere = await startEmbedded(t, { HOST: '0.0.0.0' })
    const there = await openDemo(t, browser, everywhere.url, { document: 'phone-hint' })
    const text = await there.text('#phone')
    const port = new URL(everywhere.url).port
    assert.match(text, new RegExp(`(http://\\d+\\.\\d+\\.\\d+\\.\\d+:${port}/\\?document=phone-hint.*)|npm start`))
    // its gateway stops first, and the page would say so
    await there.page.close()
  })

  test('long names and texts break nothing, and every state is accessible', async (t) => {
    const document = 'every-state'
    const visitor = await open(t, { document, name: LONG_NAME, context: LAPTOP })
    await visitor.insert('A7', 'a'.repeat(200))
    await visitor.page.fill('#comment', 'b'.repeat(500))
    await visitor.page.press('#comment', 'Enter')
    await visitor.page.click('#present')
    for (const [name, size] of Object.entries({ laptop: LAPTOP, phone: PHONE })) {
      const { page, field, insert, reads, screenshot, shows } = await open(t, {
        document, name: LONG_NAME, second: true, context: size
      })
      await reads('#presenting-text', /is presenting/)
      await reads('#comments', /bbb/)
      await shows('A7', 'a'.repeat(200))
      if (name === 'phone') await page.tap('#second-open')
      await page.waitForSelector('#second-state[data-state="connected"]')
      await insert('B3', LONG_NAME)
      await field('B4').focus()
      await page.evaluate('for (const details of document.querySelectorAll("details")) details.open = true')
      await passesAxe(page)
      assert.equal(
        await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), true, `${name} does not scroll sideways`
      )
      await screenshot(`every-state-${name}-light`)
      if (name === 'phone') continue // its dark colors are those of the laptop
      await page.emulateMedia({ colorScheme: 'dark' })
      await passesAxe(page, COLORS)
      await screenshot(`every-state-${name}-dark`)
    }
  })
})
