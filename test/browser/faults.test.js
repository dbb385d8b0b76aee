import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { COLORS, passesAxe } from '../helpers/axe.js'
import { noBrowser } from '../helpers/browser.js'
import { faultCluster, press } from '../helpers/fault-buttons.js'
import { waitFor } from '../helpers/wait.js'

/** @typedef {import('../helpers/browser.js').DemoPage} DemoPage */

/**
 * Presses a button: no record is lost, and the page says so.
 * @param {import('node:test').TestContext} t
 * @param {DemoPage} ada
 * @param {string} kind
 * @param {RegExp} words the page's story
 */
async function losesNothing (t, ada, kind, words) {
  let { story, count } = await press(ada, kind)
  // the machine was too busy to start a process in time: nothing is lost, and the press does not count
  while (/not ready within 30000 ms.* 0 records lost\.$/.test(story)) ({ story, count } = await press(ada, kind))
  assert.match(story, words)
  const [, published, received, lost] = /^published ([\d,]+) · received ([\d,]+) · lost (\d+)$/.exec(count) ?? assert.fail(count)
  assert.deepEqual([received, lost], [published, '0'], count)
  assert.ok(Number(published.replaceAll(',', '')) > 20, `records flow: ${published}`)
  const more = await ada.text('#faults-more')
  assert.match(more, /· 0 gaps · 0 duplicates · 0 out of order$/)
  assert.equal(await ada.text('#faults-problem'), '')
  assert.equal(await ada.page.getAttribute('#faults-story', 'data-result'), 'whole')
  t.diagnostic(`${story} ${count} ${more}`)
}

/** Each button once: what a cluster does under faults is shown by test/simulation and test/fault. */
describe('the fault buttons of the demo', { skip: noBrowser, timeout: 600_000 }, () => {
  const cluster = faultCluster()
  const sendCrowdAway = () => fetch(`${cluster.url}/control/crowd`, {
    method: 'DELETE', headers: { 'content-type': 'application/json' }, body: '{}'
  })

  test('reload: no record is lost, and the page says so', async (t) => {
    const ada = await cluster.open(t, 'faults-reload')
    await losesNothing(t, ada, 'reload', /^Every process was replaced in [\d.]+ s\. 0 records lost\.$/)
  })

  test('kill, in front of a crowd: no record is lost, and all guests are back', async (t) => {
    const ada = await cluster.open(t, 'crowded')
    t.after(sendCrowdAway)
    // a smaller crowd than that of the button
    await ada.page.route('**/control/crowd', (route) => route.continue(route.request().method() === 'POST'
      ? { postData: JSON.stringify({ ...route.request().postDataJSON(), guests: 60 }) }
      : {}))
    await ada.page.click('#crowd')
    await ada.reads('#crowd-figures', /^60 of 60 guests · [1-9][\d,]* deliveries\/s · 0 reconnects · 0 lost · \d+ s left$/)
    await losesNothing(
      t, ada, 'kill',
      /^gateway-[01] \(process \d+\) was killed with \d+ clients\. All 61 clients were connected again after [\d.]+ s, and a new worker was ready after [\d.]+ s\. 0 records lost\.$/
    )
    await ada.reads('#crowd-figures', /^60 of 60 guests · [\d,]+ deliveries\/s · [1-9]\d* reconnects · 0 lost · /)
    await ada.screenshot('faults-crowd')
    await ada.page.click('#crowd-leave')
    await ada.reads('#crowd-figures', /^The crowd has left: [\d,]+ deliveries, [1-9]\d* reconnects, 0 lost\.$/)
  })

  test('freeze, and cut with the hops of records, which are requested only while they are shown', async (t) => {
    const ada = await cluster.open(t, 'hops')
    /** @type {string[]} */
    const requests = []
    ada.page.on('request', (request) => requests.push(new URL(request.url()).pathname))
    await losesNothing(t, ada, 'freeze', /^Redis was frozen and answered again after [\d.]+ s\. 0 records lost\.$/)
    assert.equal(requests.includes('/control/hops'), false)
    await ada.page.click('#hops-show')
    await waitFor(async () => {
      await cluster.post('/v1/documents/hops/broadcast', { text: 'x' })
      return /publisher|api-0.*log in Redis.*→ gateway-[01].*to the socket.*→ this page/.test(await ada.text('#hops-list'))
    }, { timeout: 20_000, message: async () => ada.text('#hops') })
    await losesNothing(t, ada, 'cut', /^The workers lost the connections that bring them records, .* from the log\. 0 records lost\.$/)
    await ada.reads('#hops-list', /publisher → api \d+ ms.*→ this page/)
    assert.ok(await ada.page.locator('#hops-list > li').count() <= 6)

    // accessible, light on a laptop and dark on a phone
    for (const summary of await ada.page.locator(':is(#faults, #hops) summary').all()) await summary.click()
    assert.equal(await ada.page.locator(':is(#faults, #hops) details[open]').count(), 3)
    const parts = { include: [['#faults'], ['#hops']] }
    for (const [device, width, height] of /** @type {const} */ ([['laptop', 1360, 860], ['phone', 390, 844]])) {
      await ada.page.setViewportSize({ width, height })
      assert.equal(await ada.page.evaluate('document.documentElement.scrollWidth <= innerWidth'), true, device)
      const [colorScheme, rules] = device === 'laptop'
        ? /** @type {const} */ (['light', undefined])
        : /** @type {const} */ (['dark', COLORS])
      await ada.page.emulateMedia({ colorScheme })
      await passesAxe(ada.page, rules, parts)
      await ada.page.locator('#faults').scrollIntoViewIfNeeded()
      await ada.screenshot(`faults-${device}-${colorScheme}`)
    }
    await ada.page.click('#hops-show')
    assert.equal(await ada.page.locator('#hops-list > li').count(), 0)
  })

  test('a record that does not reach the page counts as lost, and the page says so', async (t) => {
    let numbered = 0
    const ada = await cluster.open(t, 'withheld', {
      // the tenth record is withheld on its way to the page
      prepare: (page) => page.routeWebSocket(/socket\.io/, (socket) => {
        const server = socket.connectToServer()
        server.onMessage((message) => {
          if (!String(message).startsWith('42["demo:pulse"') || ++numbered !== 10) socket.send(message)
        })
      })
    })
    const { story, count } = await press(ada, 'cut')
    assert.match(story, /^The workers lost the connections .* 1 record lost\.$/)
    assert.match(count, /· lost 1$/)
    assert.match(await ada.text('#faults-more'), /· 1 gap · /)
    assert.equal(await ada.page.getAttribute('#faults-story', 'data-result'), 'missed')
  })
})
