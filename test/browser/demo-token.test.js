import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { COLORS, passesAxe } from '../helpers/axe.js'
import { newTab, noBrowser, openDemo } from '../helpers/browser.js'
import { startEmbedded } from '../helpers/embedded.js'
import { fileScope } from '../helpers/file-scope.js'
import { sharedBrowser } from '../helpers/shared-browser.js'
import { SECRET, signToken } from '../helpers/tokens.js'

const LAPTOP = { viewport: { width: 1280, height: 800 } }

describe('the demo of a gateway that needs tokens', { skip: noBrowser, timeout: 240_000 }, () => {
  const scope = fileScope()
  /** @type {Awaited<ReturnType<typeof startEmbedded>>} */
  let inkcast
  /** @type {import('playwright-core').Browser} */
  let browser
  before(async () => {
    [inkcast, browser] = await Promise.all([startEmbedded(scope, { AUTH_JWT_SECRET: SECRET }), sharedBrowser()])
  })

  /** The page as a proxy, or another machine, would get it: the gateway signs nothing for it. */
  async function fromElsewhere (/** @type {import('node:test').TestContext} */ t) {
    const page = await newTab(t, browser, LAPTOP)
    await page.setExtraHTTPHeaders({ 'x-forwarded-for': '192.168.1.2' })
    return page
  }

  test('at localhost it gets its tokens by itself, for both views and the guests', async (t) => {
    const demo = await openDemo(t, browser, inkcast.url, { document: 'signed', second: true, context: LAPTOP })
    await demo.page.waitForSelector('#second-state[data-state="connected"]')
    await demo.insert('A7', 'Paint the sign')
    await demo.shows('A7', 'Paint the sign')
    await demo.page.click('#guests')
    await demo.reads('#people-count', /^5 here$/)
    assert.equal(await demo.page.isVisible('#login'), false)
  })

  test('elsewhere it asks for a token, keeps it in the tab, and asks again when it is refused', async (t) => {
    /** @type {string[]} */
    const seen = []
    const page = await fromElsewhere(t)
    page.on('console', (message) => seen.push(message.text()))
    page.on('pageerror', (error) => seen.push(String(error)))
    page.on('request', (request) => { if (!request.url().includes('/socket.io/')) seen.push(request.url()) })
    page.on('framenavigated', (frame) => seen.push(frame.url()))
    const enter = async (/** @type {string} */ token) => {
      await page.locator('#login').waitFor()
      await page.fill('#token', token)
      await page.press('#token', 'Enter')
    }
    await page.goto(`${inkcast.url}/?document=pasted&views=1`)
    await page.locator('#login').waitFor()
    assert.match(await page.innerText('#login'), /npx inkcast token/)
    assert.equal(await page.isVisible('#sheet'), false)
    await passesAxe(page)
    await page.emulateMedia({ colorScheme: 'dark' })
    await passesAxe(page, COLORS)

    const wrong = await signToken({ sub: 'ada' }, { key: 'another secret, which is long enough for HS256' })
    await enter(wrong)
    await page.locator('#login-reason:text("refuses this token")').waitFor()
    const right = await signToken({ sub: 'ada' })
    await enter(right)
    await page.waitForSelector('body[data-ready]')
    assert.equal(await page.isVisible('#login'), false)
    await page.reload()
    await page.waitForSelector('body[data-ready]')
    assert.ok((await page.evaluate('Object.values(sessionStorage).join()'))?.includes(right))
    assert.equal(await page.evaluate('localStorage.length'), 0)
    assert.deepEqual(seen.filter((text) => text.includes(wrong) || text.includes(right)), [])
    assert.deepEqual(seen.filter((text) => /error/i.test(text)), [])
  })

  test('a pasted token that does not open the document is refused with the reason', async (t) => {
    const page = await fromElsewhere(t)
    await page.goto(`${inkcast.url}/?document=mine&views=1`)
    await page.fill('#token', await signToken({ sub: 'ada', documents: [{ guid: 'another', access: 'read' }] }))
    await page.press('#token', 'Enter')
    await page.locator('#login-reason:text("refuses this token")').waitFor()
  })
})
