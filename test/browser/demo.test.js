import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { passesAxe } from '../helpers/axe.js'
import { noBrowser, openDemo } from '../helpers/browser.js'
import { connectClient } from '../helpers/clients.js'
import { startEmbedded } from '../helpers/embedded.js'
import { fileScope } from '../helpers/file-scope.js'
import { sharedBrowser } from '../helpers/shared-browser.js'
import { waitFor } from '../helpers/wait.js'
import { freePort } from '../services/ports.js'

/** @typedef {import('../helpers/browser.js').DemoPage} DemoPage */

const PHONE = { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true }

describe('the demo in embedded mode', { skip: noBrowser, timeout: 360_000 }, () => {
  const scope = fileScope()
  /** @type {Awaited<ReturnType<typeof startEmbedded>>} */
  let inkcast
  /** @type {import('playwright-core').Browser} */
  let browser
  before(async () => {
    // the page shows a command with the port
    const API_PORT = String(await freePort())
    ;[inkcast, browser] = await Promise.all([startEmbedded(scope, { API_PORT }), sharedBrowser()])
  })

  /**
   * @param {import('node:test').TestContext} t
   * @param {Parameters<typeof openDemo>[3]} [options]
   */
  const open = (t, options) => openDemo(t, browser, inkcast.url, options)

  test('two people edit together; each letter and each comment appears at once', async (t) => {
    const document = 'together'
    const [ada, grace] = await Promise.all([open(t, { document, name: 'Ada' }), open(t, { document, name: 'Grace' })])
    await ada.type('A7', 'Paint the sign')
    await grace.shows('A7', 'Paint the sign')
    await grace.type('A7', ' red')
    await ada.shows('A7', 'Paint the sign red')

    await ada.page.fill('#comment', 'Which red?')
    await ada.page.press('#comment', 'Enter')
    assert.match(await grace.reads('#comments', /Which red/), /^AdaA7/)
    await grace.page.click('#comments .resolve')
    await ada.reads('#comments', /^$/)

    const late = await open(t, { document })
    await late.shows('A7', 'Paint the sign red')
  })

  test('people see members, their pointers and selections', async (t) => {
    const document = 'people'
    const [ada, grace] = await Promise.all([open(t, { document, name: 'Ada' }), open(t, { document, name: 'Grace' })])
    await grace.reads('#people', /^A, Ada: follow$/)
    assert.equal(await grace.text('#people-count'), '2 here')

    await ada.field('B3').focus()
    await grace.reads('td[data-cell="B3"] .mark', /^Ada$/)
    await ada.field('C4').hover()
    await grace.reads('.pointer span', /^Ada$/)
    await waitFor(() => grace.page.evaluate(`{
      const { x, y } = document.querySelector('.pointer').getBoundingClientRect()
      const cell = document.querySelector('#sheet td[data-cell="C4"]').getBoundingClientRect()
      x > cell.left && x < cell.right && y > cell.top && y < cell.bottom
    }`), { message: 'the pointer to be in the cell that she points at' })

    const late = await open(t, { document, name: 'Edsger' })
    await late.reads('td[data-cell="B3"] .mark', /^Ada$/)
    await ada.page.fill('#name', 'Countess')
    await ada.page.press('#name', 'Tab')
    await late.reads('#people', /C/)
    await ada.page.close()
    await waitFor(async () => (await late.page.locator('#people button').count()) === 1, {
      timeout: 30_000,
      message: 'Ada to leave'
    })
    assert.equal(await late.page.locator('.mark').count(), 0)
  })

  test('members follow the presenter, also members who join later', async (t) => {
    const document = 'slides'
    const [ada, grace] = await Promise.all([open(t, { document, name: 'Ada' }), open(t, { document, name: 'Grace' })])
    await ada.page.click('#present')
    await ada.page.click('#next')
    await grace.reads('#presenting-text', /^Ada is presenting\.$/)
    await grace.page.click('#follow')
    await grace.reads('#slide', /Hours by task/)
    await ada.page.keyboard.press('ArrowRight')
    await grace.reads('#slide', /What people say/)
    await ada.page.mouse.move(600, 400)
    await grace.page.locator('#laser').waitFor({ state: 'visible' })
    await grace.screenshot('following')
    await passesAxe(grace.page)

    const late = await open(t, { document, name: 'Edsger' })
    await late.page.click('#follow')
    await late.reads('#slide', /What people say/)
    await late.page.keyboard.press('Escape')
    assert.equal(await late.page.locator('#stage').isVisible(), false)
    await ada.page.click('#stop')
    await grace.page.locator('#stage').waitFor({ state: 'hidden' })
    await late.page.locator('#presenting').waitFor({ state: 'hidden' })
  })

  test('records published over HTTP appear at once', async (t) => {
    const ada = await open(t, { document: 'outside' })
    assert.match(
      await ada.text('#curl'),
      new RegExp(`curl -X POST http://localhost:${new URL(inkcast.apiUrl).port}/v1/documents/outside/broadcast`)
    )
    assert.equal((await inkcast.post('/v1/documents/outside/broadcast', { text: 'Hello from curl' })).status, 202)
    await ada.reads('#comments', /Hello from curl/)
  })

  test('a page that was disconnected catches up on everything it missed', async (t) => {
    const document = 'cut'
    const [ada, grace] = await Promise.all([open(t, { document }), open(t, { document })])
    await ada.page.click('#drop')
    await ada.reads('#state-text', /reconnecting/)
    await ada.insert('B8', 'typed while away')
    await grace.insert('A8', 'written meanwhile')
    const story = await ada.reads('#drop-story', /caught up/)
    const [, caught] = /^Back: (\d+) records? caught up \(\d+ to \d+\), 0 missed\.$/.exec(story) ?? assert.fail(story)
    assert.ok(Number(caught) > 0)
    await ada.reads('#joined', /resumed/)
    await ada.shows('A8', 'written meanwhile')
    await grace.shows('B8', 'typed while away')
  })

  test('nonsense that a client sends into the document does not harm pages', async (t) => {
    const document = 'nonsense'
    const ada = await open(t, { document })
    const mallory = await connectClient(t, inkcast.url)
    await mallory.ask('doc:join', {
      guid: document,
      state: { id: 5, name: { toString: 1 }, color: 'url(x)', presenting: 'yes' }
    })
    for (const data of [null, 5, 'x', {}, [], { x: 'NaN', y: {} }, { cell: 'Z99' }, { cell: { a: 1 } }]) {
      for (const event of ['pointer', 'select', 'laser']) mallory.emit('doc:signal', { guid: document, event, data })
    }
    for (const value of [null, 5, 'text', {}, { text: 5 }, { text: '<img src=x onerror=alert(1)>' }])
      await inkcast.post(`/v1/documents/${document}/broadcast`, value)
    await ada.reads('#comments', /<img src=x/)
    await ada.insert('A7', 'still here')
    await ada.reads('#version', /^[1-9]/)
  })

  test('it fits on a phone', async (t) => {
    const ada = await open(t, { document: 'phone', context: { ...PHONE } })
    assert.equal(
      await ada.page.evaluate('document.documentElement.scrollWidth <= innerWidth'),
      true,
      'the page does not scroll sideways'
    )
    await ada.page.tap('#sheet td[data-cell="A7"]')
    await ada.page.keyboard.type('by thumb')
    await ada.reads('#version', /^[1-9]/)
    await ada.screenshot('phone')
  })
})
