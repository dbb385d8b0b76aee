import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { noBrowser } from '../helpers/browser.js'
import { faultCluster, press } from '../helpers/fault-buttons.js'

/** Presses of each button, of about 10 s: `PRESSES=10` for a longer run. */
const TIMES = Number(process.env.PRESSES ?? 2)

describe('the fault buttons of the demo', { skip: noBrowser, timeout: 900_000 }, () => {
  const cluster = faultCluster()

  for (const [kind, words] of /** @type {[string, RegExp][]} */ ([
    ['kill', /^gateway-[01] \(process \d+\) was killed with 1 client\. The only client was connected again after [\d.]+ s, and a new worker was ready after [\d.]+ s\. 0 records lost\.$/],
    ['reload', /^Every process was replaced in [\d.]+ s\. 0 records lost\.$/],
    ['freeze', /^Redis was frozen and answered again after [\d.]+ s\. 0 records lost\.$/],
    ['cut', /^The workers lost the connections that bring them records, .* from the log\. 0 records lost\.$/]
  ])) {
    test(`${kind}: pressed ${TIMES} times, no record is lost, and the page says so`, async (t) => {
      const ada = await cluster.open(t, `faults-${kind}`)
      let before = 0
      for (let time = 1; time <= TIMES; time++) {
        const { story, count } = await press(ada, kind)
        assert.match(story, / 0 records lost\.$/)
        // the machine is too busy to start a process in time: nothing is lost, and the press does not count
        if (/not ready within 30000 ms/.test(story)) {
          time--
          continue
        }
        assert.match(story, words)
        const [, published, received, lost] = /^published ([\d,]+) · received ([\d,]+) · lost (\d+)$/.exec(count) ?? assert.fail(count)
        const number = Number(published.replaceAll(',', ''))
        assert.deepEqual([received, lost], [published, '0'], count)
        assert.ok(number > before + 20, `records flow: ${before}, ${number}`)
        before = number
        assert.match(await ada.text('#faults-more'), /· 0 gaps · 0 duplicates · 0 out of order$/)
        assert.equal(await ada.text('#faults-problem'), '')
        t.diagnostic(`${story} ${count} ${await ada.text('#faults-more')}`)
      }
      assert.equal(await ada.page.getAttribute('#faults-story', 'data-result'), 'whole')
    })
  }
})
