import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { COLORS, passesAxe } from '../helpers/axe.js'
import { noBrowser } from '../helpers/browser.js'
import { connectClient } from '../helpers/clients.js'
import { startCluster } from '../helpers/cluster.js'
import { fileScope } from '../helpers/file-scope.js'
import { sharedBrowser } from '../helpers/shared-browser.js'
import { openStatus, PHONE } from '../helpers/status-page.js'

const READ = 'reading-0123456789'
const CONTROL = 'control-0123456789'

describe('the status page', { skip: noBrowser, timeout: 240_000 }, () => {
  const scope = fileScope()
  /** @type {Awaited<ReturnType<typeof startCluster>>} */
  let inkcast
  /** @type {Awaited<ReturnType<typeof startCluster>>} */
  let guarded
  /** @type {import('playwright-core').Browser} */
  let browser
  before(async () => {
    [inkcast, guarded, browser] = await Promise.all([
      startCluster(scope, {}),
      startCluster(scope, { ADMIN_READ_TOKEN: READ, ADMIN_TOKEN: CONTROL }),
      sharedBrowser()
    ])
    const clients = await Promise.all(Array.from({ length: 3 }, () => connectClient(scope, inkcast.url)))
    await Promise.all(clients.map((client) => client.ask('doc:join', { guid: 'watched' })))
    const publishing = setInterval(() => {
      inkcast.post('/v1/documents/watched/broadcast', { a: 1 }).catch(() => {})
    }, 50)
    scope.after(() => clearInterval(publishing))
  })

  test('it shows what happens now, and draws the last hour', async (t) => {
    const { page, reads } = await openStatus(t, browser, inkcast.adminUrl)
    await reads('#state-text', /^ready/)
    await reads('#tiles', /Workers ready\s+1 of 1/)
    await reads('#tiles', /Connections\s+3\s+1 documents/)
    await reads('#tiles', /Deliveries\/s\s+[1-9]/)
    await reads('#tiles', /Latency p99\s+[\d.,]+ ms/)
    await reads('#stages', /producer → connections\s+[\d.,]+\s+[\d.,]+/)
    await reads('#processes', /embedded-0\s+ready\s+3/)
    assert.equal(await page.locator('#plots canvas:visible').count(), 7)
    await reads('#plots figure:nth-child(1) .u-legend', /open\s*3/)
    assert.match(
      await page.getAttribute('#plots figure:nth-child(1) [role=img]', 'aria-label') ?? '', /^Connections, last hour. Now: open 3/
    )
    const inked = await page.evaluate(`{
      const canvas = document.querySelector('#plots figure:nth-child(2) canvas')
      const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height)
      data.some((value) => value > 0)
    }`)
    assert.equal(inked, true)
    assert.equal(await page.isVisible('#partitions-card'), false, 'without Kafka there are no partitions')
    assert.equal(await page.isVisible('#plots figure:has-text("Kafka")'), false, 'nor a plot of their lag')
    await page.route('**/status?*', async (route) => {
      const status = await (await route.fetch()).json()
      await route.fulfill({ json: { ...status, partitions: [{ partition: '0', lag: 0, age: null, canaryAge: null, lostEnds: 0 }] } })
    })
    await page.locator('#plots figure:has-text("Kafka")').waitFor()
  })

  test('a click on a heading sorts a table, a second one reverses it', async (t) => {
    const { page } = await openStatus(t, browser, inkcast.adminUrl)
    const names = () => page.locator('#events tbody th').allInnerTexts()
    await page.click('#events thead th:nth-child(1) button')
    const ascending = await names()
    assert.deepEqual(ascending, [...ascending].sort((a, b) => a.localeCompare(b, 'en')))
    assert.equal(await page.getAttribute('#events thead th:nth-child(1)', 'aria-sort'), 'ascending')
    await page.click('#events thead th:nth-child(1) button')
    assert.deepEqual(await names(), ascending.reverse())
  })

  test('each event links to what to do about it', async (t) => {
    const { page } = await openStatus(t, browser, inkcast.adminUrl)
    const links = await page.locator('#events a').all()
    const hrefs = await Promise.all(links.map(async (link) => await link.getAttribute('href') ?? ''))
    assert.equal(hrefs.length, 11)
    for (const href of new Set(hrefs)) {
      await page.goto(inkcast.adminUrl + href)
      assert.equal(await page.locator(':target').count(), 1, href)
    }
    await passesAxe(page)
    await page.emulateMedia({ colorScheme: 'dark' })
    await passesAxe(page, COLORS)
  })

  test('it is accessible in light and dark, on a laptop and a phone, and fits on the phone', async (t) => {
    for (const context of [undefined, PHONE]) {
      const { page } = await openStatus(t, browser, inkcast.adminUrl, { context })
      await passesAxe(page)
      assert.equal(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), true)
      if (context !== undefined) continue // its dark colors are those of the laptop
      await page.emulateMedia({ colorScheme: 'dark' })
      await passesAxe(page, COLORS)
    }
  })

  test('the inspector shows the way of each record, its clients, and why a connection closed', async (t) => {
    const { page, reads } = await openStatus(t, browser, `${inkcast.adminUrl}/#inspector`)
    assert.equal(await page.isVisible('#status'), false)
    const guid = 'inspected'
    await page.fill('#watch-id', guid)
    await page.press('#watch-id', 'Enter')
    await reads('#watch-state', /^Watching\. 1 process: \S+ embedded-0/)
    const client = await connectClient(t, inkcast.url, { auth: { client: 'tab-7' } })
    await client.ask('doc:join', { guid })
    await inkcast.post(`/v1/documents/${guid}/broadcast`, { a: 1 }, { 'x-event': 'cell', 'x-trace-id': 'trace-one' })
    await reads('#records tbody', /cell\s+1\s+[\d.,]+\s+[\d.,]+\s+[\d.,]+\s+[\d.,]+\s+1\s+0\s+trace-one/)
    await page.click('#records tbody tr:first-child button')
    await reads('#record-title', /Record cell · trace-one/)
    const hops = await page.locator('#hops > li > strong').allInnerTexts()
    // one that waits for the socket hears of it as well
    assert.deepEqual(hops.filter((hop) => hop !== 'queued'), ['produced', 'ingested', 'logged', 'received', 'written'])
    await page.click('#hops summary')
    await reads('#hops details', /tab-7 · [\d.,]+ ms/)
    await fetch(`${inkcast.apiUrl}/v1/sockets/${client.id}`, { method: 'DELETE' })
    await reads('#happenings tbody', /closed\s+kicked/)
    await page.click('#happenings thead th:nth-child(2) button')
    await page.click('#watch-stop')
    await reads('#watch-state', /^Not watching/)
    await page.click('#watch-clear')
    assert.equal(await page.locator('#records tbody tr').count(), 0)
    await page.click('#to-status')
    // the page follows the address, which changes after the click
    await page.waitForSelector('#inspector', { state: 'hidden' })
    assert.equal(await page.isVisible('#status'), true)
  })

  test('the inspector is accessible in light and dark, on a laptop and a phone', async (t) => {
    for (const context of [undefined, PHONE]) {
      const { page, reads } = await openStatus(t, browser, `${inkcast.adminUrl}/#inspector`, { context })
      await page.fill('#watch-id', 'watched')
      await page.click('#watch-start')
      await reads('#records tbody', /\d/)
      await page.click('#records tbody tr:first-child button')
      await reads('#hops', /produced/)
      await page.click('#watch-stop')
      assert.equal(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), true)
      await passesAxe(page)
      if (context !== undefined) continue
      await page.emulateMedia({ colorScheme: 'dark' })
      await passesAxe(page, COLORS)
    }
  })

  test('with a token it asks for one, and shows the reason when it is wrong', async (t) => {
    const { page, reads } = await openStatus(t, browser, guarded.adminUrl, { ready: false, mayComplain: /401/ })
    await reads('#state-text', /needs a token/)
    const asked = await page.evaluate('performance.getEntriesByType("resource").map(({ name, responseStatus }) => [name, responseStatus])')
    assert.deepEqual(
      /** @type {[string, number][]} */ (asked).filter(([, status]) => status >= 400), [], 'a request that fails is an error in the console'
    )
    assert.ok(/** @type {[string, number][]} */ (asked).some(([name]) => name.endsWith('/access')))
    await passesAxe(page)
    await page.emulateMedia({ colorScheme: 'dark' })
    await passesAxe(page, COLORS)
    assert.equal(await page.isVisible('#status'), false)
    await page.fill('#token', 'unknown-0123456789')
    await page.press('#token', 'Enter')
    await reads('#login-reason', /the token is not ADMIN_TOKEN/)
    await page.fill('#token', READ)
    await page.press('#token', 'Enter')
    await reads('#state-text', /^ready/)
    await page.reload()
    await reads('#tiles', /Workers ready\s+1 of 1/)
  })

  test('it says since when there is no answer', async (t) => {
    const { page, reads } = await openStatus(t, browser, inkcast.adminUrl, { mayComplain: /Failed to load/ })
    await page.route('**/status?*', (route) => route.abort())
    await reads('#state-text', /^no answer since \d\d:\d\d:\d\d/)
    assert.equal(await page.getAttribute('#state', 'data-state'), 'unreachable')
  })
})
