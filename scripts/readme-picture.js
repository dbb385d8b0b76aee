#!/usr/bin/env node
/**
 * Takes the pictures of the README and docs/demo.md: the demo page with guests, on a laptop and on a phone.
 *
 *   node scripts/readme-picture.js
 */
import { mkdirSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { startBrowser } from '../test/helpers/browser.js'
import { startEmbedded } from '../test/helpers/embedded.js'

const OUTPUT = fileURLToPath(new URL('../docs/images/', import.meta.url))
/** The visitor, in place of a random name. */
const VISITOR = JSON.stringify({ id: 'visitor', name: 'Robin', color: '#0e7490' })
/** @type {(() => unknown)[]} */
const stops = []
const t = { after: (/** @type {() => unknown} */ stop) => { stops.unshift(stop) } }

/**
 * @param {import('playwright-core').Browser} browser
 * @param {string} url
 * @param {import('playwright-core').BrowserContextOptions} options
 */
async function open (browser, url, options) {
  const context = await browser.newContext(options)
  await context.addInitScript(`sessionStorage['inkcast demo me'] ??= '${VISITOR}'`)
  const page = await context.newPage()
  await page.goto(url)
  await page.waitForSelector('body[data-ready]')
  return page
}

try {
  const { url } = await startEmbedded(t)
  const browser = await startBrowser(t)
  mkdirSync(OUTPUT, { recursive: true })

  const laptop = await open(browser, url, { viewport: { width: 1280, height: 660 } })
  await laptop.waitForSelector('#second-state[data-state="connected"]')
  await laptop.locator('#sheet td[data-cell="A7"]').click()
  await laptop.keyboard.type('Paint the sign', { delay: 30 })
  await laptop.click('#guests')
  // the guests look around, then type and point
  await delay(8000)
  await laptop.screenshot({ path: `${OUTPUT}demo.png` })

  const phone = await open(browser, `${url}/?document=phone`, {
    viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true
  })
  await phone.tap('#guests')
  await delay(8000)
  await phone.screenshot({ path: `${OUTPUT}demo-phone.png` })
} finally {
  for (const stop of stops) await stop()
}
