import assert from 'node:assert/strict'
import { newTab } from './browser.js'
import { waitFor } from './wait.js'

export const PHONE = { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true }
const LAPTOP = { viewport: { width: 1360, height: 860 } }

/**
 * Opens the status page in a tab of its own. Unexpected messages on its console fail the test.
 *
 * @param {{ after: (stop: () => unknown) => void }} t
 * @param {import('playwright-core').Browser} browser
 * @param {string} url
 * @param {object} [options]
 * @param {RegExp} [options.mayComplain]
 * @param {boolean} [options.ready] wait for the first figures; default true
 * @param {import('./browser.js').TabOptions} [options.context]
 */
export async function openStatus (t, browser, url, { mayComplain, ready = true, context: options = LAPTOP } = {}) {
  const page = await newTab(t, browser, { reducedMotion: 'reduce', ...options })
  /** @type {string[]} */
  const complaints = []
  t.after(() =>
    assert.deepEqual(complaints.filter((text) => !mayComplain?.test(text)), [], 'no errors on the console'))
  page.setDefaultTimeout(20_000)
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text())
  })
  page.on('pageerror', (error) => complaints.push(String(error)))
  await page.goto(url)
  if (ready) await page.waitForSelector('body[data-ready]')
  return {
    page,
    /** @param {string} selector @param {RegExp} pattern @returns {Promise<string>} the text, when it matches */
    async reads (selector, pattern) {
      let last = ''
      await waitFor(async () => pattern.test(last = await page.locator(selector).first().innerText()), {
        timeout: 30_000,
        message: () => `${selector} to match ${pattern}; it is ${last}; ${complaints}`
      })
      return last
    }
  }
}
