import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { COLORS, passesAxe } from '../helpers/axe.js'
import { noBrowser } from '../helpers/browser.js'
import { faultCluster, press } from '../helpers/fault-buttons.js'
import { waitFor } from '../helpers/wait.js'

const PHONE = { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true }

describe('the section with the faults, the crowd and the hops', { skip: noBrowser, timeout: 900_000 }, () => {
  const cluster = faultCluster()
  const sendCrowdAway = () => fetch(`${cluster.url}/control/crowd`, {
    method: 'DELETE', headers: { 'content-type': 'application/json' }, body: '{}'
  })

  test('a worker is killed in front of a crowd: all guests are back, and none lost a record', async (t) => {
    const ada = await cluster.open(t, 'crowded')
    t.after(sendCrowdAway)
    await ada.page.click('#crowd')
    await ada.reads('#crowd-figures', /^1,000 of 1,000 guests · [1-9][\d,]* deliveries\/s · 0 reconnects · 0 lost · \d+ s left$/)
    const { story, count } = await press(ada, 'kill')
    assert.match(story, /^gateway-[01] \(process \d+\) was killed with \d+ clients\. All 1,001 clients were connected again after [\d.]+ s, .* 0 records lost\.$/)
    assert.match(count, /· lost 0$/)
    await ada.reads('#crowd-figures', /^1,000 of 1,000 guests · [\d,]+ deliveries\/s · [1-9]\d* reconnects · 0 lost · /)
    await ada.screenshot('faults-crowd')
    await ada.page.click('#crowd-leave')
    await ada.reads('#crowd-figures', /^The crowd has left: [\d,]+ deliveries, [1-9]\d* reconnects, 0 lost\.$/)
    t.diagnostic(`${story} ${count}`)
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
    const { story, count } = await press(ada, 'freeze')
    assert.match(story, /answered again after [\d.]+ s\. 1 record lost\.$/)
    assert.match(count, /· lost 1$/)
    assert.match(await ada.text('#faults-more'), /· 1 gap · /)
    assert.equal(await ada.page.getAttribute('#faults-story', 'data-result'), 'missed')
  })

  test('a cut connection and a fault at the same time: the page has missed nothing', async (t) => {
    const ada = await cluster.open(t, 'both')
    const fault = press(ada, 'freeze')
    await ada.reads('#faults-count', /^published [1-9]/)
    await ada.page.click('#drop')
    assert.match((await fault).count, /· lost 0$/)
    assert.match(await ada.reads('#drop-story', /caught up/), /, 0 missed\.$/)
  })

  test('the hops of records are shown while the strip is open, and requested only then', async (t) => {
    const ada = await cluster.open(t, 'hops')
    /** @type {string[]} */
    const requests = []
    ada.page.on('request', (request) => requests.push(new URL(request.url()).pathname))
    await press(ada, 'freeze')
    assert.equal(requests.includes('/control/hops'), false)
    await ada.page.click('#hops-show')
    await waitFor(async () => {
      await cluster.post('/v1/documents/hops/broadcast', { text: 'x' })
      return /publisher|api-0.*log in Redis.*→ gateway-[01].*to the socket.*→ this page/.test(await ada.text('#hops-list'))
    }, { timeout: 20_000, message: async () => ada.text('#hops') })
    await press(ada, 'freeze')
    await ada.reads('#hops-list', /publisher → api \d+ ms/)
    assert.ok(await ada.page.locator('#hops-list > li').count() <= 6)
    await ada.page.click('#hops-show')
    assert.equal(await ada.page.locator('#hops-list > li').count(), 0)
  })

  test('the new parts are accessible, in light and dark, on a laptop and a phone', async (t) => {
    const ada = await cluster.open(t, 'axe', { context: { reducedMotion: 'reduce' } })
    await ada.page.click('#hops-show')
    await press(ada, 'freeze')
    await ada.reads('#hops-list', /this page/)
    for (const summary of await ada.page.locator(':is(#faults, #hops) summary').all()) await summary.click()
    assert.equal(await ada.page.locator(':is(#faults, #hops) details[open]').count(), 3)
    const parts = { include: [['#faults'], ['#hops']] }
    for (const [colorScheme, rules] of /** @type {const} */ ([['light', undefined], ['dark', COLORS]])) {
      await ada.page.emulateMedia({ colorScheme })
      await passesAxe(ada.page, rules, parts)
      await ada.page.locator('#faults').scrollIntoViewIfNeeded()
      await ada.screenshot(`faults-${colorScheme}`)
    }
    const phone = await cluster.open(t, 'axe-phone', { context: { ...PHONE, reducedMotion: 'reduce' } })
    await phone.page.click('#hops-show')
    await press(phone, 'freeze')
    await phone.reads('#hops-list', /this page/)
    assert.equal(await phone.page.evaluate('document.documentElement.scrollWidth <= innerWidth'), true)
    await passesAxe(phone.page, {}, parts)
    await phone.page.locator('#faults').scrollIntoViewIfNeeded()
    await phone.screenshot('faults-phone')
  })
})
